; RUN: mneme-pass-opt -S %s -passes='mneme-specialize<max-threads=128;min-blocks=4>' | FileCheck %s
target triple = "amdgcn-amd-amdhsa"
; CHECK: attributes #0 = { "amdgpu-flat-work-group-size"="1,128" "amdgpu-waves-per-eu"="4,4" }
define amdgpu_kernel void @k() #0 { ret void }
attributes #0 = { "amdgpu-flat-work-group-size"="1,1024" }
