; RUN: mneme-pass-opt -S %s -passes='mneme-specialize<block=64x2x3;grid=10x20x30>' | FileCheck %s --check-prefixes=CHECK,DIMS
; RUN: mneme-pass-opt -S %s -passes='mneme-specialize<block=64x2x3;grid=10x20x30;range>' | FileCheck %s --check-prefixes=CHECK,DIMS,RANGE
; RUN: mneme-pass-opt -S %s -passes='mneme-specialize<block=64x2x3;grid=10x20x30;range;no-constants>' | FileCheck %s --check-prefixes=CHECK,KEEP,RANGE
; RUN: mneme-pass-opt -S %s -passes='mneme-specialize<block=64>' | FileCheck %s --check-prefix=BLOCK

target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()

; Also in what the one kernel calls.
; CHECK-LABEL: define void @callee(
; DIMS: store volatile i32 64,
; KEEP: call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
; BLOCK-LABEL: define void @callee(
; BLOCK: store volatile i32 64,
define void @callee() {
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  store volatile i32 %n, ptr null
  ret void
}

; CHECK-LABEL: define ptx_kernel void @k(
; DIMS: store volatile i32 2,
; DIMS: store volatile i32 3,
; DIMS: store volatile i32 10,
; DIMS: store volatile i32 20,
; DIMS: store volatile i32 30,
; KEEP: call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
; RANGE: call range(i32 0, 64) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
; RANGE: call range(i32 0, 3) i32 @llvm.nvvm.read.ptx.sreg.tid.z()
; RANGE: call range(i32 0, 20) i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
; Only the block is known: the grid is still read, indices have no range.
; BLOCK-LABEL: define ptx_kernel void @k(
; BLOCK: store volatile i32 1,
; BLOCK: call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
; BLOCK: call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k() {
  %ny = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  store volatile i32 %ny, ptr null
  %nz = call i32 @llvm.nvvm.read.ptx.sreg.ntid.z()
  store volatile i32 %nz, ptr null
  %gx = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  store volatile i32 %gx, ptr null
  %gy = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.y()
  store volatile i32 %gy, ptr null
  %gz = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.z()
  store volatile i32 %gz, ptr null
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store volatile i32 %tx, ptr null
  %tz = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  store volatile i32 %tz, ptr null
  %cy = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  store volatile i32 %cy, ptr null
  call void @callee()
  ret void
}
