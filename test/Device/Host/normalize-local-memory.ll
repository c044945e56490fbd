; AMD's local variables have an address space of their own, the host's do not.
; RUN: mneme-pass-opt -passes=mneme-host-normalize -S %s | FileCheck %s
target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-p5:32:32-A5"

declare void @use(ptr)
; CHECK-LABEL: @k(
define amdgpu_kernel void @k() {
; CHECK-NEXT: %a = alloca [4 x i32], align 8
; CHECK-NEXT: %[[CAST:.*]] = addrspacecast ptr %a to ptr addrspace(5)
; CHECK-NEXT: store i32 1, ptr addrspace(5) %[[CAST]]
; CHECK-NEXT: call void @use(ptr %a)
; CHECK-NEXT: ret void
  %a = alloca [4 x i32], align 8, addrspace(5)
  call void @llvm.lifetime.start.p5(ptr addrspace(5) %a)
  store i32 1, ptr addrspace(5) %a
  %g = addrspacecast ptr addrspace(5) %a to ptr
  call void @use(ptr %g)
  ret void
}
