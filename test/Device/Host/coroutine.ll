; A kernel whose sync points are its own becomes a coroutine: one frame, allocated
; by the executor, and a suspend at each sync point.
; RUN: mneme-pass-opt -passes='mneme-host-coroutine,verify' -S %s | FileCheck %s --implicit-check-not='@reverse('
; RUN: mneme-pass-opt -passes='mneme-host-coroutine,coro-early,cgscc(coro-split),coro-cleanup,verify' -S %s | FileCheck %s --check-prefix=SPLIT

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; A kernel that waits in a function that was not inlined stays, with the reason.
; CHECK: define void @calls() #[[CALLS:[0-9]+]]
define void @calls() "mneme-kernel" {
  call void @waits()
  ret void
}
define internal void @waits() noinline {
  %1 = call i64 @mneme.host.sync(i32 1, i32 0, i64 0, i64 0, i32 0, i32 0, i32 3)
  ret void
}

; CHECK: define ptr @mneme.entry.reverse(ptr %thread, ptr %args) #[[ATTRS:[0-9]+]]
; CHECK: %[[ID:.*]] = call token @llvm.coro.id(i32 64, ptr null, ptr null, ptr null)
; CHECK: %[[SIZE:.*]] = call i64 @llvm.coro.size.i64()
; CHECK: %[[MEM:.*]] = call ptr @__mneme_host_frame(ptr %thread, i64 %[[SIZE]])
; CHECK: call ptr @llvm.coro.begin(token %[[ID]], ptr %[[MEM]])
; The barrier: its operation (1), number and thread count, then the suspend.
; CHECK: %[[OP:.*]] = getelementptr inbounds i8, ptr %thread, i32 40
; CHECK: store i32 1, ptr %[[OP]]
; CHECK: %[[STATE:.*]] = call i8 @llvm.coro.suspend(token none, i1 false)
; CHECK-NEXT: switch i8 %[[STATE]], label %suspend [
; CHECK-NEXT: i8 0, label %[[NEXT:.*]]
; CHECK-NEXT: i8 1, label %cleanup
; The shuffle: its result is read from the thread.
; CHECK: [[NEXT]]:
; CHECK: store i64 7, ptr
; CHECK: call i8 @llvm.coro.suspend(token none, i1 false)
; CHECK: %[[RES:.*]] = getelementptr inbounds i8, ptr %thread, i32 32
; CHECK: load i64, ptr %[[RES]]
; CHECK: %[[RES2:.*]] = getelementptr inbounds i8, ptr %thread, i32 72
; CHECK: load i64, ptr %[[RES2]]
; The end: MNEME_OP_EXIT.
; CHECK: store i32 100, ptr
; CHECK: call i8 @llvm.coro.suspend(token none, i1 true)
; CHECK: attributes #[[CALLS]] = {{.*}}"mneme-reason"="no coroutine: synchronization in function 'waits', which is not inlined"
; CHECK: attributes #[[ATTRS]] = {{.*}}"mneme-entry"="coroutine"{{.*}}"mneme-wave-size"="32"

; SPLIT: define ptr @mneme.entry.reverse(
; SPLIT: define internal {{.*}}void @mneme.entry.reverse.resume(

define void @reverse(ptr %out) "mneme-kernel" "mneme-wave-size"="32" {
  %tid = call i32 @mneme.host.tid.x()
  call i64 @mneme.host.sync(i32 1, i32 0, i64 0, i64 0, i32 0, i32 0, i32 1)
  %v = call i64 @mneme.host.sync(i32 4, i32 3, i64 4294967295, i64 7, i32 0, i32 31, i32 2)
  %p = call i64 @mneme.host.sync2()
  %s = add i64 %v, %p
  %addr = getelementptr i64, ptr %out, i32 %tid
  store i64 %s, ptr %addr
  ret void
}

declare i32 @mneme.host.tid.x() nounwind memory(none)
declare i64 @mneme.host.sync(i32, i32, i64, i64, i32, i32, i32) noduplicate convergent nounwind
declare i64 @mneme.host.sync2() nounwind memory(read)
