; The forms in which HIP code reads its launch dimensions: implicit arguments (code
; object 5 and later) and the dispatch packet.
; RUN: mneme-pass-opt -S %s -passes='mneme-specialize<block=64x2x3;grid=10x20x30;range>' | FileCheck %s
; RUN: sed 's/i32 600/i32 400/' %s | mneme-pass-opt -S -passes='mneme-specialize<block=64x2x3;grid=10x20x30>' | FileCheck %s --check-prefix=V4

target triple = "amdgcn-amd-amdhsa"
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workgroup.id.x()

; CHECK-LABEL: define amdgpu_kernel void @implicit(
; CHECK: store volatile i16 64,
; CHECK: store volatile i16 3,
; CHECK: store volatile i32 10,
; CHECK: store volatile i32 30,
; CHECK: store volatile i16 0,
; An implicit argument that says nothing of dimensions.
; CHECK: store volatile i64 %heap
; CHECK: call range(i32 0, 2) i32 @llvm.amdgcn.workitem.id.y()
; CHECK: call range(i32 0, 10) i32 @llvm.amdgcn.workgroup.id.x()
; Before version 5 the implicit arguments are others.
; V4-LABEL: define amdgpu_kernel void @implicit(
; V4: store volatile i16 %bx
; V4: store volatile i32 %gx
define amdgpu_kernel void @implicit(ptr addrspace(1) %out) {
  %p = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %pbx = getelementptr i8, ptr addrspace(4) %p, i64 12
  %bx = load i16, ptr addrspace(4) %pbx
  store volatile i16 %bx, ptr addrspace(1) %out
  %pbz = getelementptr i8, ptr addrspace(4) %p, i64 16
  %bz = load i16, ptr addrspace(4) %pbz
  store volatile i16 %bz, ptr addrspace(1) %out
  %gx = load i32, ptr addrspace(4) %p
  store volatile i32 %gx, ptr addrspace(1) %out
  %pgz = getelementptr i32, ptr addrspace(4) %p, i64 2
  %gz = load i32, ptr addrspace(4) %pgz
  store volatile i32 %gz, ptr addrspace(1) %out
  %prx = getelementptr i8, ptr addrspace(4) %p, i64 18
  %rx = load i16, ptr addrspace(4) %prx
  store volatile i16 %rx, ptr addrspace(1) %out
  %pheap = getelementptr i8, ptr addrspace(4) %p, i64 96
  %heap = load i64, ptr addrspace(4) %pheap
  store volatile i64 %heap, ptr addrspace(1) %out
  %ty = call i32 @llvm.amdgcn.workitem.id.y()
  store volatile i32 %ty, ptr addrspace(1) %out
  %cx = call i32 @llvm.amdgcn.workgroup.id.x()
  store volatile i32 %cx, ptr addrspace(1) %out
  ret void
}

; CHECK-LABEL: define amdgpu_kernel void @dispatch(
; CHECK: store volatile i16 2,
; CHECK: store volatile i32 640,
define amdgpu_kernel void @dispatch(ptr addrspace(1) %out) {
  %p = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %pby = getelementptr i8, ptr addrspace(4) %p, i64 6
  %by = load i16, ptr addrspace(4) %pby
  store volatile i16 %by, ptr addrspace(1) %out
  %pgx = getelementptr i8, ptr addrspace(4) %p, i64 12
  %gx = load i32, ptr addrspace(4) %pgx
  store volatile i32 %gx, ptr addrspace(1) %out
  ret void
}

!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 600}
