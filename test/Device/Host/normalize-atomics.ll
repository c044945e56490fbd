; Scopes mean nothing here: one within the block needs no fence at all, any other is
; what x86 gives anyway.
; RUN: mneme-pass-opt -passes=mneme-host-normalize -S %s | FileCheck %s
target triple = "amdgcn-amd-amdhsa"

; CHECK-LABEL: @k(
define amdgpu_kernel void @k(ptr %p) {
; CHECK-NEXT: atomicrmw add ptr %p, i32 1 monotonic
  %a = atomicrmw add ptr %p, i32 1 syncscope("agent") monotonic
; CHECK-NEXT: fence acq_rel
; CHECK-NEXT: ret void
  fence syncscope("workgroup") seq_cst
  fence syncscope("wavefront") release
  fence syncscope("agent") seq_cst
  ret void
}
