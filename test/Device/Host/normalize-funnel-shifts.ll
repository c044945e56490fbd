; Rotations of a width that is no power of two are expanded: instcombine miscompiles comparisons of them.
; RUN: mneme-pass-opt -passes=mneme-host-normalize -S %s | FileCheck %s
target triple = "nvptx64-nvidia-cuda"

; CHECK-LABEL: @rotate(
; CHECK: %[[BY:.*]] = urem i24 %n, 24
; CHECK: %[[REST:.*]] = sub i24 24, %[[BY]]
; CHECK: %[[HIGH:.*]] = shl i24 %x, %[[BY]]
; CHECK: %[[LOW:.*]] = lshr i24 %x, %[[REST]]
; CHECK: %[[ALL:.*]] = or i24 %[[HIGH]], %[[LOW]]
; CHECK: %[[ZERO:.*]] = icmp eq i24 %[[BY]], 0
; CHECK: select i1 %[[ZERO]], i24 %x, i24 %[[ALL]]
define i24 @rotate(i24 %x, i24 %n) {
  %r = call i24 @llvm.fshl.i24(i24 %x, i24 %x, i24 %n)
  ret i24 %r
}

; CHECK-LABEL: @right(
; CHECK: urem <2 x i24> %n, splat (i24 24)
; CHECK-NOT: fshr
; CHECK: select <2 x i1> %{{.*}}, <2 x i24> %y, <2 x i24>
define <2 x i24> @right(<2 x i24> %x, <2 x i24> %y, <2 x i24> %n) {
  %r = call <2 x i24> @llvm.fshr.v2i24(<2 x i24> %x, <2 x i24> %y, <2 x i24> %n)
  ret <2 x i24> %r
}

; CHECK-LABEL: @power(
; CHECK: call i32 @llvm.fshl.i32
define i32 @power(i32 %x, i32 %n) {
  %r = call i32 @llvm.fshl.i32(i32 %x, i32 %x, i32 %n)
  ret i32 %r
}
