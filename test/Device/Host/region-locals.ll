; Local variables that live across a barrier: each thread has its element of an array in the context, and no two arrays overlap.
; RUN: mneme-pass-opt -passes='mneme-host-region,verify' -S %s | FileCheck %s

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; CHECK: %[[A:.*]] = getelementptr inbounds i8, ptr %context, i64 0
; CHECK-NEXT: getelementptr inbounds [16 x i8], ptr %[[A]], i64 %[[THREAD:.*]]
; 1024 elements of 16 bytes.
; CHECK-NEXT: %[[B:.*]] = getelementptr inbounds i8, ptr %context, i64 16384
; CHECK-NEXT: getelementptr inbounds [32 x i8], ptr %[[B]], i64 %[[THREAD]]
; 1024 elements of 32 bytes, and what the threads exchange.
; CHECK: "mneme-context-size"="{{49[2-9]|[5-9][0-9]}}{{[0-9]+}}"

define void @k(ptr %out, i32 %i) "mneme-kernel" "mneme-wave-size"="32" {
  %a = alloca [3 x i32], align 4
  %b = alloca [4 x i64], align 32
  %p = getelementptr i32, ptr %a, i32 %i
  %q = getelementptr i64, ptr %b, i32 %i
  store volatile i32 1, ptr %p
  store volatile i64 2, ptr %q
  %b0 = call i64 @mneme.host.sync(i32 1, i32 0, i64 0, i64 0, i32 0, i32 0, i32 1)
  %v = load volatile i32, ptr %p
  %w = load volatile i64, ptr %q
  store volatile i32 %v, ptr %out
  store volatile i64 %w, ptr %out
  ret void
}

declare i64 @mneme.host.sync(i32, i32, i64, i64, i32, i32, i32) noduplicate convergent nounwind
