; Threads that return before a barrier, and a shuffle that only one warp comes to:
; each thread has a state, and the executor says which region is next.
; RUN: mneme-pass-opt -passes='mneme-host-region,verify' -S %s | FileCheck %s

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; What both sync points are: a barrier; a shuffle (4) down (1) of 4-byte values whose
; operands, 16 and 31, are in the instruction (flag 1).
; CHECK: @mneme.sites.tail = private constant {{.*}} zeroinitializer, {{.*}} { i8 1, i8 0, i8 4, i8 1, i16 0, i16 0 }, {{.*}} { i8 4, i8 1, i8 4, i8 1, i16 16, i16 31 }]

; CHECK: define void @mneme.entry.tail(
; CHECK: dispatch:
; CHECK-NEXT: %[[EXCHANGE:.*]] = getelementptr inbounds i8, ptr %context, i64
; CHECK-NEXT: %[[REGION:.*]] = call i32 @__mneme_host_advance(ptr %[[EXCHANGE]], i32 %threads, ptr @mneme.sites.tail, i32 32)
; CHECK-NEXT: switch i32 %[[REGION]], label %done [
; CHECK-NEXT: i32 1, label %region.1
; CHECK-NEXT: i32 2, label %region.2
; CHECK-NEXT: ]

; Region 0 runs all threads. Who returns is in state 255, who is at the barrier in
; state 128 + 1.
; CHECK: threads.done:
; CHECK-NEXT: br label %dispatch
; CHECK: store i8 -127, ptr
; CHECK: store i8 -1, ptr

; Region 1 runs who is in state 1; at the shuffle, the state is 64 + 2.
; CHECK: %[[STATE:state.*]] = load i8, ptr
; CHECK-NEXT: %[[MINE:.*]] = icmp eq i8 %[[STATE]], 1
; CHECK-NEXT: br i1 %[[MINE]], label %run
; CHECK: store i8 66, ptr
; CHECK: icmp eq i8 %{{.*}}, 2

define void @tail(ptr %in, ptr %out, i32 %n) "mneme-kernel" "mneme-wave-size"="32" {
  %tid = call i32 @mneme.host.tid.x()
  %in.range = icmp slt i32 %tid, %n
  br i1 %in.range, label %then, label %exit
then:
  %p = getelementptr i32, ptr %in, i32 %tid
  %v = load i32, ptr %p
  %b = call i64 @mneme.host.sync(i32 1, i32 0, i64 0, i64 0, i32 0, i32 0, i32 1)
  %warp0 = icmp slt i32 %tid, 32
  br i1 %warp0, label %shuffle, label %exit
shuffle:
  %bits = zext i32 %v to i64
  %r = call i64 @mneme.host.sync(i32 4, i32 1, i64 4294967295, i64 %bits, i32 16, i32 31, i32 2)
  %r32 = trunc i64 %r to i32
  %o = getelementptr i32, ptr %out, i32 %tid
  store i32 %r32, ptr %o
  br label %exit
exit:
  ret void
}

declare i32 @mneme.host.tid.x() nounwind memory(none) willreturn
declare i64 @mneme.host.sync(i32, i32, i64, i64, i32, i32, i32) noduplicate convergent nounwind
