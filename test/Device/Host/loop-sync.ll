; Threads that wait for each other are not for this strategy, which says so.
; RUN: mneme-pass-opt -passes=mneme-host-loop -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"
declare i64 @mneme.host.sync(i32, i32, i64, i64, i32, i32, i32)

; CHECK-NOT: mneme.entry
; CHECK: define void @k() #[[K:[0-9]+]]
define void @k() "mneme-kernel" {
  %x = call i64 @mneme.host.sync(i32 1, i32 0, i64 0, i64 0, i32 0, i32 0, i32 1)
  ret void
}
; CHECK: define void @deep() #[[K]]
define void @deep() "mneme-kernel" {
  call void @callee()
  ret void
}
define internal void @callee() {
  %x = call i64 @mneme.host.sync(i32 1, i32 0, i64 0, i64 0, i32 0, i32 0, i32 2)
  call void @callee()
  ret void
}
; CHECK: attributes #[[K]] = { "mneme-kernel" "mneme-reason"="its threads synchronize" }
