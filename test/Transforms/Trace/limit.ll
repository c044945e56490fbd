; With a limit, few accesses ask the global timer, and a launch is late only if it says so twice.
; RUN: mneme-pass-opt -S %s -passes='mneme-trace<range=0x1000:0x2000:0x9000;read-first=0x1000;control=0x8ff0;limit=2000000000>' | FileCheck %s
; RUN: mneme-pass-opt %s -passes='mneme-trace<range=0x1000:0x2000:0x9000;read-first=0x1000;control=0x8ff0;limit=2000000000>' | llc -mcpu=sm_90 | FileCheck %s --check-prefix=PTX
; Without one, none does:
; RUN: mneme-pass-opt -S %s -passes='mneme-trace<range=0x1000:0x2000:0x9000;read-first=0x1000;control=0x8ff0>' | FileCheck %s --check-prefix=NONE
target triple = "nvptx64-nvidia-cuda"

; CHECK-LABEL: define internal void @mneme_trace_read(
; CHECK: %clock = call i32 @llvm.nvvm.read.ptx.sreg.clock()
; CHECK: %phase = and i32 %clock, 255
; CHECK: br i1 %asks, label %ask, label %in.time
; CHECK: ask:
; CHECK: call i64 @llvm.nvvm.read.ptx.sreg.globaltimer()
; CHECK: br i1 %is.late, label %again, label %in.time
; CHECK: again:
; CHECK: call i64 @llvm.nvvm.read.ptx.sreg.globaltimer()
; CHECK: br i1 %is.late.again, label %late, label %in.time
; PTX-COUNT-2: %globaltimer
; NONE-NOT: globaltimer
define ptx_kernel void @kernel(ptr addrspace(1) %p) {
  %v = load float, ptr addrspace(1) %p
  %w = fadd float %v, 1.0
  store float %w, ptr addrspace(1) %p
  ret void
}
