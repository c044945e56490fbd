; The AMD device libraries' questions.
; RUN: mneme-pass-opt -passes=mneme-host-normalize -S %s | FileCheck %s
target triple = "amdgcn-amd-amdhsa"

; CHECK: @__oclc_ISA_version = internal addrspace(4) constant i32 9010
@__oclc_ISA_version = external addrspace(4) constant i32
; CHECK: @__oclc_wavefrontsize64 = internal addrspace(4) constant i8 1
@__oclc_wavefrontsize64 = external addrspace(4) constant i8
; CHECK: @__oclc_finite_only_opt = internal addrspace(4) constant i8 0
@__oclc_finite_only_opt = external addrspace(4) constant i8

define amdgpu_kernel void @k() "target-cpu"="gfx90a" {
  ret void
}
