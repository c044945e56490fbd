; Addresses of code differ between images, so a pointer to a function is a number made
; of its name, and a call through one a choice.
; RUN: mneme-pass-opt -passes=mneme-host-inline -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"

; CHECK-NOT: @one
; CHECK: define internal i32 @again(
define i32 @one(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}
define i32 @again(i32 %x) {
  %y = call i32 @again(i32 %x)
  ret i32 %y
}
define float @other(float %x) "mneme-indirect" {
  ret float %x
}

; CHECK-LABEL: define void @k(
define void @k(ptr %p, ptr %slot) "mneme-kernel" {
; CHECK: store ptr inttoptr (i64 [[AGAIN:[0-9]+]] to ptr), ptr %slot
; CHECK: store ptr inttoptr (i64 [[ONE:[0-9]+]] to ptr), ptr %p
  store ptr @again, ptr %slot
  store ptr @one, ptr %p
  %f = load ptr, ptr %p
; CHECK: switch i64 %{{.*}}, label %unknown.function [
; CHECK-DAG: i64 [[ONE]], label %call.one
; CHECK-DAG: i64 [[AGAIN]], label %call.again
; CHECK-NOT: call.other
; CHECK: unknown.function:
; CHECK: call void @__mneme_host_unsupported
; CHECK: call.again:
; CHECK: %[[V:.*]] = call i32 @again(i32 5)
; CHECK: phi i32 [ 6, %call.one ], [ %[[V]], %call.again ]
  %g = load ptr, ptr %f
  %v = call i32 %g(i32 5)
  store i32 %v, ptr %p
  ret void
}
