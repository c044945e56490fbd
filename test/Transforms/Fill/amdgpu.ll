; The same for AMDGPU, whose local variables have an address space of their own.
; REQUIRES: amdgpu-registered-target
; RUN: mneme-pass-opt -S %s -passes='mneme-fill<byte=1>' | FileCheck %s
; RUN: mneme-pass-opt %s -passes='mneme-fill<byte=1>,default<O2>' | llc -mcpu=gfx90a -o /dev/null

target triple = "amdgcn-amd-amdhsa"

@tile = internal addrspace(3) global [16 x float] poison, align 4

; CHECK-LABEL: define amdgpu_kernel void @kernel(
; CHECK-NEXT: %a = alloca i32, align 4, addrspace(5)
; CHECK: call i32 @llvm.amdgcn.workitem.id.z()
; CHECK: br i1 %{{.*}}, label %[[THEN:.*]], label %[[ALL:.*]]
; CHECK: [[THEN]]:
; CHECK-NEXT: call void @llvm.memset.p3.i64(ptr addrspace(3) align 4 @tile, i8 1, i64 64, i1 false)
; CHECK: [[ALL]]:
; CHECK-NEXT: fence syncscope("workgroup") release
; CHECK-NEXT: call void @llvm.amdgcn.s.barrier()
; CHECK-NEXT: fence syncscope("workgroup") acquire
; CHECK: call void @llvm.memset.p5.i64(ptr addrspace(5) align 4 %a, i8 1, i64 4, i1 false)
; CHECK: load i32, ptr addrspace(5) %a
define amdgpu_kernel void @kernel(ptr addrspace(1) %out) {
  %v = load i32, ptr addrspace(3) @tile
  %a = alloca i32, addrspace(5)
  %w = load i32, ptr addrspace(5) %a
  %s = add i32 %v, %w
  store i32 %s, ptr addrspace(1) %out
  ret void
}
