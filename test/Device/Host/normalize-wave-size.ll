; RUN: mneme-pass-opt -passes=mneme-host-normalize -S %s | FileCheck %s
target triple = "amdgcn-amd-amdhsa"
target datalayout = "A5"

; CHECK: define void @gfx90a() #[[W64:[0-9]+]]
define amdgpu_kernel void @gfx90a() "target-cpu"="gfx90a" { ret void }
; CHECK: define void @gfx1030() #[[W32:[0-9]+]]
define amdgpu_kernel void @gfx1030() "target-cpu"="gfx1030" { ret void }
; CHECK: define void @asked64() #[[W64]]
define amdgpu_kernel void @asked64() "target-cpu"="gfx1030" "target-features"="+wavefrontsize64" { ret void }
; CHECK: define void @asked32() #[[W32]]
define amdgpu_kernel void @asked32() "target-features"="+gfx10-insts,+wavefrontsize32" { ret void }
; CHECK-DAG: attributes #[[W64]] = {{.*}}"mneme-wave-size"="64"
; CHECK-DAG: attributes #[[W32]] = {{.*}}"mneme-wave-size"="32"
