; kernel= chooses one. Dimensions then change in its own body only, because a function
; that another kernel also calls does not know whose launch it runs in.
; RUN: mneme-pass-opt -S %s -passes='mneme-specialize<kernel=a;arg0=7;block=32x1x1;max-threads=32>' | FileCheck %s

target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()

; CHECK-LABEL: define i32 @shared()
; CHECK: call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define i32 @shared() {
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  ret i32 %n
}
; CHECK-LABEL: define ptx_kernel void @a(
; CHECK-SAME: #[[A:[0-9]+]]
; CHECK-NOT: ntid
; CHECK: store volatile i32 32
; CHECK: store volatile i32 7
define ptx_kernel void @a(i32 %x) {
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  store volatile i32 %n, ptr null
  store volatile i32 %x, ptr null
  %s = call i32 @shared()
  ret void
}
; CHECK-LABEL: define ptx_kernel void @b(i32 %x) {
; CHECK: call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
; CHECK: store volatile i32 %x
define ptx_kernel void @b(i32 %x) {
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  store volatile i32 %n, ptr null
  store volatile i32 %x, ptr null
  %s = call i32 @shared()
  ret void
}
; CHECK: attributes #[[A]] = { "nvvm.maxntid"="32" }
