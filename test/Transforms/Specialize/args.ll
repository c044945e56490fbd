; Scalar arguments become constants of their own type; the signature stays.
; RUN: mneme-pass-opt -S %s \
; RUN:   -passes='mneme-specialize<arg0=0x1;arg1=0xff;arg2=0x8000;arg3=42;arg4=0xffffffffffffffff;arg5=0x40490fdb;arg6=0x3ff8000000000000;arg7=0x3c00;arg8=0x3f80;arg9=0x7e0000000100>' \
; RUN:   | FileCheck %s

target triple = "nvptx64-nvidia-cuda"

; CHECK-LABEL: define ptx_kernel void @scalars(
; CHECK-SAME: i1 %b, i8 %c, i16 %s, i32 %i, i64 %l, float %f, double %d, half %h, bfloat %bf, ptr %p)
; CHECK-NEXT: store volatile i1 true,
; CHECK-NEXT: store volatile i8 -1,
; CHECK-NEXT: store volatile i16 -32768,
; CHECK-NEXT: store volatile i32 42,
; CHECK-NEXT: store volatile i64 -1,
; CHECK-NEXT: store volatile float 0x400921FB60000000,
; CHECK-NEXT: store volatile double 1.500000e+00,
; CHECK-NEXT: store volatile half 0xH3C00,
; CHECK-NEXT: store volatile bfloat 0xR3F80,
; CHECK-NEXT: store volatile i32 0, ptr inttoptr (i64 138538465100032 to ptr)
define ptx_kernel void @scalars(i1 %b, i8 %c, i16 %s, i32 %i, i64 %l, float %f, double %d, half %h, bfloat %bf, ptr %p) {
  store volatile i1 %b, ptr null
  store volatile i8 %c, ptr null
  store volatile i16 %s, ptr null
  store volatile i32 %i, ptr null
  store volatile i64 %l, ptr null
  store volatile float %f, ptr null
  store volatile double %d, ptr null
  store volatile half %h, ptr null
  store volatile bfloat %bf, ptr null
  store volatile i32 0, ptr %p
  ret void
}

; A struct passed by value is the address of the launch's copy (byref is AMDGPU's form), a
; vector no scalar; none has a value that could be put in. A function is no kernel.
; CHECK-LABEL: define ptx_kernel void @others(
; CHECK-NEXT: load i32, ptr %s
; CHECK-NEXT: load i32, ptr %r
; CHECK-NEXT: store volatile <2 x float> %v
define ptx_kernel void @others(ptr byval(i32) %s, ptr byref(i32) %r, <2 x float> %v) {
  %x = load i32, ptr %s
  %y = load i32, ptr %r
  store volatile <2 x float> %v, ptr null
  ret void
}
; CHECK-LABEL: define void @function(
; CHECK-NEXT: store volatile i1 %b
define void @function(i1 %b) {
  store volatile i1 %b, ptr null
  ret void
}
