; Conversions saturate as on a GPU. Fast-math flags may not change results any more, or they would
; depend on which operations a pipeline leaves adjacent.
; RUN: mneme-pass-opt -passes=mneme-host-normalize -S %s | FileCheck %s
target triple = "nvptx64-nvidia-cuda"

; CHECK-LABEL: @f(
define i32 @f(float %x, double %y) {
; CHECK: call i32 @llvm.fptosi.sat.i32.f32(float %x)
  %a = fptosi float %x to i32
; CHECK: call i64 @llvm.fptoui.sat.i64.f64(double %y)
  %b = fptoui double %y to i64
; CHECK: fmul float %x, %x
; CHECK: fadd nnan ninf float
; CHECK: fdiv float
  %c = fmul contract float %x, %x
  %d = fadd fast float %c, %x
  %r = fdiv arcp afn float %d, %x
  %e = bitcast float %r to i32
  %g = trunc i64 %b to i32
  %h = add i32 %a, %g
  %i = add i32 %h, %e
  ret i32 %i
}

; The GPU has no conversion to 8 bits: it saturates at 16 and stores the lower half.
; CHECK-LABEL: @narrow(
define i8 @narrow(float %x) {
; CHECK: %[[W:.*]] = call i16 @llvm.fptoui.sat.i16.f32(float %x)
; CHECK: trunc i16 %[[W]] to i8
  %a = fptoui float %x to i8
  ret i8 %a
}
