; All that can be inlined is, also behind a pointer; recursion stays a call.
; RUN: mneme-pass-opt -passes=mneme-host-inline -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"

define linkonce_odr i32 @twice(i32 %x) {
  %y = shl i32 %x, 1
  ret i32 %y
}
define i32 @apply(ptr %f, i32 %x) {
  %slot = alloca ptr
  store ptr %f, ptr %slot
  %g = load ptr, ptr %slot
  %y = call i32 %g(i32 %x)
  ret i32 %y
}

; CHECK-NOT: @twice
; CHECK-NOT: @apply
; CHECK: define internal i32 @factorial(
define i32 @factorial(i32 %n) {
  %last = icmp eq i32 %n, 0
  br i1 %last, label %one, label %more
one:
  ret i32 1
more:
  %m = sub i32 %n, 1
  %f = call i32 @factorial(i32 %m)
  %r = mul i32 %f, %n
  ret i32 %r
}

; CHECK-LABEL: define void @k(
define void @k(ptr %p) "mneme-kernel" {
; CHECK-NOT: call
; CHECK: call i32 @factorial(i32 14)
  %v = call i32 @apply(ptr @twice, i32 7)
  %w = call i32 @factorial(i32 %v)
  store i32 %w, ptr %p
  ret void
}
