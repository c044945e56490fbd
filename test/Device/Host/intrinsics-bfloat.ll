; RUN: mneme-pass-opt -S -passes=mneme-host-intrinsics,verify %s | FileCheck %s

; x86 would call the compiler's run-time library for these.

; CHECK-LABEL: define bfloat @add(
; CHECK: fpext bfloat %x to float
; CHECK: fadd float
; CHECK-NEXT: call {{.*}}i16 @mneme_nvvm_f2bf16_rn(float
define bfloat @add(bfloat %x, bfloat %y) {
  %r = fadd bfloat %x, %y
  ret bfloat %r
}

; CHECK-LABEL: define half @narrow(
; CHECK-NEXT: call {{.*}}i16 @mneme_ptx_f16_f64_rn(double %x)
define half @narrow(double %x) {
  %r = fptrunc double %x to half
  ret half %r
}
