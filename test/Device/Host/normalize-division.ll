; x86 raises a signal where no GPU does.
; RUN: mneme-pass-opt -passes=mneme-host-normalize -S %s | FileCheck %s
target triple = "nvptx64-nvidia-cuda"

; CHECK-LABEL: @unsigned(
define i32 @unsigned(i32 %x, i32 %y) {
; CHECK: %[[ZERO:.*]] = icmp eq i32 %y, 0
; CHECK: %[[SAFE:.*]] = select i1 %[[ZERO]], i32 1, i32 %y
; CHECK: %[[Q:.*]] = udiv i32 %x, %[[SAFE]]
; CHECK: select i1 %[[ZERO]], i32 -1, i32 %[[Q]]
  %q = udiv i32 %x, %y
  ret i32 %q
}

; CHECK-LABEL: @signed(
define i64 @signed(i64 %x, i64 %y) {
; CHECK: icmp eq i64 %y, 0
; CHECK: icmp eq i64 %x, -9223372036854775808
; CHECK: icmp eq i64 %y, -1
; CHECK: srem i64 %x, %{{.*}}
  %q = srem i64 %x, %y
  ret i64 %q
}

; CHECK-LABEL: @known(
define i32 @known(i32 %x, i32 %y) {
; CHECK-NOT: select
; CHECK: sdiv i32 %x, 7
; CHECK-NOT: select
; CHECK: udiv i32 %x, %odd
  %a = sdiv i32 %x, 7
  %odd = or i32 %y, 1
  %b = udiv i32 %x, %odd
  %c = add i32 %a, %b
  ret i32 %c
}
