; A fiber waits by a call, also inside functions, which find their thread through
; __mneme_host_current.
; RUN: mneme-pass-opt -passes='mneme-host-fiber,mneme-host-calls,verify' -S %s | FileCheck %s

target triple = "x86_64-unknown-linux-gnu"

; CHECK: define internal void @waits(ptr %out)
; CHECK: %thread = call ptr @__mneme_host_current()
; CHECK: %[[TID:.*]] = load i32, ptr %{{.*}}
; CHECK: %[[V:.*]] = call i64 @__mneme_host_sync(i32 5, i32 2, i64 -1, i64 1, i32 0, i32 0, i32 2)
; CHECK: store i64 %[[V]], ptr %out
define internal void @waits(ptr %out) noinline {
  %tid = call i32 @mneme.host.tid.x()
  %1 = call i64 @mneme.host.sync(i32 5, i32 2, i64 -1, i64 1, i32 0, i32 0, i32 2)
  store i64 %1, ptr %out
  ret void
}

; CHECK: define void @mneme.entry.kernel(ptr %thread, ptr %args)
; CHECK: call i64 @__mneme_host_sync(i32 1, i32 0, i64 0, i64 0, i32 0, i32 0, i32 1)
; CHECK: call void @waits(
; CHECK: ret void
; CHECK-NOT: call {{.*}}@mneme.host.
define void @kernel(ptr %out) "mneme-kernel" "mneme-wave-size"="32" {
  %1 = call i64 @mneme.host.sync(i32 1, i32 0, i64 0, i64 0, i32 0, i32 0, i32 1)
  call void @waits(ptr %out)
  ret void
}

declare i32 @mneme.host.tid.x() nounwind memory(none)
declare i64 @mneme.host.sync(i32, i32, i64, i64, i32, i32, i32) noduplicate convergent nounwind
