; A kernel counts its work by kind: once per execution of a basic block, in a set of counters of its block.
; RUN: mneme-pass-opt -S %s -passes='mneme-count<counters=0x9000>' | FileCheck %s
; RUN: mneme-pass-opt %s -passes='default<O2>,mneme-count<counters=0x9000>' | llc -mcpu=sm_90 -o /dev/null
; RUN: mneme-pass-opt -disable-output -print-pipeline-passes %s -passes='mneme-count<counters=36864>' | FileCheck %s --check-prefix=TEXT
; TEXT: mneme-count<counters=0x9000>
; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-count<control=1>' 2>&1 | FileCheck %s --check-prefix=BAD
; BAD: invalid mneme-count pass parameter 'control=1'

target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [16 x float] undef, align 4

; The kinds are FP16, FP32, FP64, Integer, Special, Tensor and Shared, in this order.
; CHECK-LABEL: define ptx_kernel void @work(
; CHECK: call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
; CHECK: call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
; CHECK: call i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
; CHECK: %[[BLOCK:.*]] = and i32 %{{.*}}, 255
; CHECK: %[[OFFSET:.*]] = mul i32 %[[BLOCK]], 64
; CHECK: %[[AT:.*]] = zext i32 %[[OFFSET]] to i64
; CHECK: %[[SET:.*]] = add i64 %[[AT]], 36864
; A fused operation is two; a vector has two elements; 64 bits are two operations of 32 bits.
; CHECK: add i64 %[[SET]], 0
; CHECK: atomicrmw add ptr addrspace(1) %{{.*}}, i64 4 monotonic
; CHECK: add i64 %[[SET]], 8
; CHECK: atomicrmw add ptr addrspace(1) %{{.*}}, i64 3 monotonic
; CHECK: add i64 %[[SET]], 16
; CHECK: atomicrmw add ptr addrspace(1) %{{.*}}, i64 1 monotonic
; CHECK: add i64 %[[SET]], 24
; CHECK: atomicrmw add ptr addrspace(1) %{{.*}}, i64 3 monotonic
; CHECK: add i64 %[[SET]], 32
; CHECK: atomicrmw add ptr addrspace(1) %{{.*}}, i64 2 monotonic
; CHECK: add i64 %[[SET]], 48
; CHECK: atomicrmw add ptr addrspace(1) %{{.*}}, i64 4 monotonic
; CHECK-NEXT: br i1
; CHECK-LABEL: then:
; CHECK: atomicrmw add ptr addrspace(1) %{{.*}}, i64 128 monotonic
; CHECK-NOT: atomicrmw
; CHECK: ret void
define ptx_kernel void @work(ptr addrspace(1) %p, float %x, double %d, <2 x half> %h, i64 %n,
                             <2 x half> %a, float %c) {
  %h2 = call <2 x half> @llvm.fma.v2f16(<2 x half> %h, <2 x half> %h, <2 x half> %h)
  %x2 = call float @llvm.fmuladd.f32(float %x, float %x, float %x)
  %x3 = fadd float %x2, %x
  %d2 = fdiv double %d, %d
  %q = fdiv float %x3, %x
  %r = call float @llvm.sqrt.f32(float %q)
  %n2 = add i64 %n, 1
  %n3 = trunc i64 %n2 to i32
  %on = icmp eq i32 %n3, 0
  %s = load float, ptr addrspace(3) @tile
  br i1 %on, label %then, label %exit
then:
  %m = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %a, <2 x half> %a, <2 x half> %a, <2 x half> %a, <2 x half> %a, <2 x half> %a, float %c, float %c, float %c, float %c)
  br label %exit
exit:
  ret void
}

declare <2 x half> @llvm.fma.v2f16(<2 x half>, <2 x half>, <2 x half>)
declare float @llvm.fmuladd.f32(float, float, float)
declare float @llvm.sqrt.f32(float)
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, float, float, float, float)
