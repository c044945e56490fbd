; Sync points that all threads pass together: a loop over threads before each, a
; direct branch to what follows. The loop counter %k, on which all threads agree, is
; one scalar of the context; the address of the thread's element is recomputed.
; RUN: mneme-pass-opt -passes='mneme-host-region,verify' -S %s | FileCheck %s --implicit-check-not='call i64 @mneme.host.sync' \
; RUN:   --implicit-check-not=__mneme_host_advance

target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

; CHECK: define void @mneme.entry.sum(ptr noalias %block, ptr noalias %args) #[[ATTRS:[0-9]+]]
; CHECK: %context = load ptr, ptr %{{.*}}, !invariant.load

; CHECK: region.1:
; CHECK-NEXT: %[[K:.*]] = getelementptr inbounds i8, ptr %context, i64 0
; CHECK-NEXT: load i32, ptr %[[K]]

; The first region ends at the first barrier only: no test where to go.
; CHECK: threads.done:
; CHECK-NEXT: br label %region.1
; CHECK: entry.r0:
; CHECK: store float %{{.*}}, ptr %{{.*}}, !llvm.access.group ![[GROUP:[0-9]+]]

; CHECK: loop.i.r1:
; CHECK: then.i.r1:
; CHECK: getelementptr float, ptr %shared, i32 %tid.x{{[0-9]+}}

; The last region goes round, or ends.
; CHECK: %[[NEXT:.*]] = load i32, ptr %next
; CHECK-NEXT: %[[AGAIN:.*]] = icmp eq i32 %[[NEXT]], 2
; CHECK-NEXT: br i1 %[[AGAIN]], label %to.2, label %done
; CHECK: to.2:
; CHECK-NEXT: br label %region.2

; CHECK: attributes #[[ATTRS]] = {{.*}}"mneme-context-size"="{{[1-9][0-9]*}}" "mneme-entry"="region"
; CHECK: !{!"llvm.loop.parallel_accesses", ![[GROUP]]}

define void @sum(ptr %in, ptr %out) "mneme-kernel" "mneme-wave-size"="32" {
entry:
  %sh = call ptr @mneme.host.shared()
  %tid = call i32 @mneme.host.tid.x()
  %p = getelementptr float, ptr %in, i32 %tid
  %v = load float, ptr %p
  %sp = getelementptr float, ptr %sh, i32 %tid
  store float %v, ptr %sp
  %b0 = call i64 @mneme.host.sync(i32 1, i32 0, i64 0, i64 0, i32 0, i32 0, i32 1)
  br label %loop
loop:
  %k = phi i32 [ 128, %entry ], [ %half, %latch ]
  %active = icmp ult i32 %tid, %k
  br i1 %active, label %then, label %latch
then:
  %j = add i32 %tid, %k
  %q = getelementptr float, ptr %sh, i32 %j
  %x = load float, ptr %q
  %y = load float, ptr %sp
  %z = fadd float %x, %y
  store float %z, ptr %sp
  br label %latch
latch:
  %b1 = call i64 @mneme.host.sync(i32 1, i32 0, i64 0, i64 0, i32 0, i32 0, i32 2)
  %half = lshr i32 %k, 1
  %last = icmp eq i32 %half, 0
  br i1 %last, label %done, label %loop
done:
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %write, label %exit
write:
  %r = load float, ptr %sh
  store float %r, ptr %out
  br label %exit
exit:
  ret void
}

declare i32 @mneme.host.tid.x() nounwind memory(none) willreturn
declare ptr @mneme.host.shared() nounwind memory(none) willreturn
declare i64 @mneme.host.sync(i32, i32, i64, i64, i32, i32, i32) noduplicate convergent nounwind
