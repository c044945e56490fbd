; PTX passes integers of at most 32 bits alike. OpenMP's device runtime relies on that: it
; calls the functions of parallel regions, void(i16, i32), as void(i32, i32).
; RUN: mneme-pass-opt -passes=mneme-host-inline -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"

define void @narrow(i16 zeroext %a, ptr %p) "mneme-indirect" {
  store i16 %a, ptr %p
  ret void
}
define void @wide(i64 %a, ptr %p) "mneme-indirect" {
  store i64 %a, ptr %p
  ret void
}

; CHECK-LABEL: define void @k(
define void @k(ptr %p, i32 %v) "mneme-kernel" {
; CHECK-NOT: call.wide
; CHECK: call.narrow:
; CHECK-NEXT: %[[V:.*]] = trunc i32 %v to i16
; CHECK-NEXT: store i16 %[[V]], ptr %p
  %f = load ptr, ptr %p
  call void %f(i32 range(i32 0, 70000) %v, ptr %p)
  ret void
}
