; Kernels that the region strategy leaves alone, each with the reason.
; RUN: mneme-pass-opt -passes='mneme-host-region,verify' -S %s | FileCheck %s --implicit-check-not=mneme.entry

target triple = "x86_64-unknown-linux-gnu"

; CHECK: define void @spins() #[[SPINS:[0-9]+]]
; CHECK: define void @named() #[[NAMED:[0-9]+]]
; CHECK: define void @two() #[[TWO:[0-9]+]]
; CHECK: define void @dynamic(i32 %n) #[[DYNAMIC:[0-9]+]]
; CHECK: define void @calls() #[[CALLS:[0-9]+]]
; CHECK-DAG: attributes #[[SPINS]] = {{.*}}"mneme-reason"="no region: threads wait in a loop for others"
; CHECK-DAG: attributes #[[NAMED]] = {{.*}}"mneme-reason"="no region: barrier of some of the threads"
; CHECK-DAG: attributes #[[TWO]] = {{.*}}"mneme-reason"="no region: several barriers"
; CHECK-DAG: attributes #[[DYNAMIC]] = {{.*}}"mneme-reason"="no region: local variable of variable size"
; CHECK-DAG: attributes #[[CALLS]] = {{.*}}"mneme-reason"="no region: synchronization in function 'waits', which is not inlined"

define void @spins() "mneme-kernel" {
  br label %loop
loop:
  %1 = call i64 @mneme.host.sync(i32 0, i32 0, i64 -1, i64 0, i32 0, i32 0, i32 1)
  br label %loop
}
define void @named() "mneme-kernel" {
  %1 = call i64 @mneme.host.sync(i32 1, i32 0, i64 1, i64 0, i32 64, i32 0, i32 1)
  ret void
}
define void @two() "mneme-kernel" {
  %1 = call i64 @mneme.host.sync(i32 1, i32 0, i64 1, i64 0, i32 0, i32 0, i32 1)
  %2 = call i64 @mneme.host.sync(i32 1, i32 0, i64 2, i64 0, i32 0, i32 0, i32 2)
  ret void
}
define void @dynamic(i32 %n) "mneme-kernel" {
  %a = alloca i32, i32 %n
  store volatile i32 %n, ptr %a
  %1 = call i64 @mneme.host.sync(i32 1, i32 0, i64 0, i64 0, i32 0, i32 0, i32 1)
  ret void
}
define void @calls() "mneme-kernel" {
  call void @waits()
  ret void
}
define internal void @waits() noinline {
  %1 = call i64 @mneme.host.sync(i32 1, i32 0, i64 0, i64 0, i32 0, i32 0, i32 3)
  ret void
}

declare i64 @mneme.host.sync(i32, i32, i64, i64, i32, i32, i32) noduplicate convergent nounwind
