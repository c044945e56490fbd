; What nobody but the module knows and nothing in it writes is a constant, whatever
; it is called: libdevice's tables are such variables, and no recorder could read
; them. What the compiler makes of the module itself must not change.
; REQUIRES: x86-registered-target
; RUN: rm -rf %t && split-file %s %t && mkdir %t/tmp
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-capture -S %t/device.ll \
; RUN:   | FileCheck %s --check-prefix=SELF
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-embed %t/host.ll -o %t/host.bc
; RUN: llc -filetype=obj %t/host.bc -o %t/host.o
; RUN: llvm-mneme-record list-kernels --extract=%t/out %t/host.o
; RUN: cat %t/out/*.bc | llvm-dis | FileCheck %s

; CHECK-DAG: @read = internal addrspace(1) constant [2 x i32]
; CHECK-DAG: @written = internal addrspace(1) global i32 1
; CHECK-DAG: @given_away = internal addrspace(1) global i32 2
; CHECK-DAG: @seen = addrspace(1) externally_initialized global i32 3
; CHECK-DAG: @shared = internal addrspace(3) global i32 undef
; SELF: @read = internal addrspace(1) global [2 x i32]

;--- device.ll
source_filename = "x.cu"
target triple = "nvptx64-nvidia-cuda"
@read = internal addrspace(1) global [2 x i32] [i32 7, i32 8]
@written = internal addrspace(1) global i32 1
@given_away = internal addrspace(1) global i32 2
@seen = addrspace(1) externally_initialized global i32 3
@shared = internal addrspace(3) global i32 undef
declare void @take(ptr)
define ptx_kernel void @k(ptr %p, i64 %i) {
  %a = getelementptr [2 x i32], ptr addrspace(1) @read, i64 0, i64 %i
  %v = load i32, ptr addrspace(1) %a
  %s = load i32, ptr addrspace(1) @seen
  %sum = add i32 %v, %s
  store i32 %sum, ptr addrspace(1) @written
  call void @take(ptr addrspacecast (ptr addrspace(1) @given_away to ptr))
  %t = load i32, ptr addrspace(3) @shared
  store i32 %t, ptr %p
  ret void
}
;--- host.ll
source_filename = "x.cu"
target triple = "x86_64-pc-linux-gnu"
