; NVIDIA hardware clamps the amount of a shift, x86 and AMD mask it.
; RUN: split-file %s %t
; RUN: mneme-pass-opt -passes=mneme-host-normalize -S %t/nvptx.ll | FileCheck %s
; RUN: mneme-pass-opt -passes=mneme-host-normalize -S %t/amdgcn.ll | FileCheck %s --check-prefix=AMD

;--- nvptx.ll
target triple = "nvptx64-nvidia-cuda"
; CHECK-LABEL: @shifts(
define i32 @shifts(i32 %x, i32 %n) {
; CHECK: %[[IN:.*]] = icmp ult i32 %n, 32
; CHECK: %[[S:.*]] = shl i32 %x, %n
; CHECK: select i1 %[[IN]], i32 %[[S]], i32 0
  %a = shl i32 %x, %n
; CHECK: %[[C:.*]] = select i1 %{{.*}}, i32 %n, i32 31
; CHECK: ashr i32 %a, %[[C]]
  %b = ashr i32 %a, %n
; CHECK: %m = and i32 %n, 31
; CHECK-NEXT: lshr i32 %b, %m
; CHECK-NEXT: ret
  %m = and i32 %n, 31
  %c = lshr i32 %b, %m
  ret i32 %c
}
;--- amdgcn.ll
target triple = "amdgcn-amd-amdhsa"
; AMD-LABEL: @shift(
; AMD-NEXT: shl i32 %x, %n
define i32 @shift(i32 %x, i32 %n) {
  %a = shl i32 %x, %n
  ret i32 %a
}
