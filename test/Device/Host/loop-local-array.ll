; One local array serves all threads in turn, so the threads are not independent.
; RUN: mneme-pass-opt -passes=mneme-host-loop -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"
declare i32 @mneme.host.tid.x()

; CHECK: define void @mneme.entry.k(
; CHECK-NOT: access.group
; CHECK-NOT: parallel_accesses
define void @k(ptr %p, i32 %n) "mneme-kernel" {
  %a = alloca [16 x i32]
  %x = call i32 @mneme.host.tid.x()
  %s = getelementptr i32, ptr %a, i32 %x
  store i32 %x, ptr %s
  %t = getelementptr i32, ptr %a, i32 %n
  %v = load i32, ptr %t
  store i32 %v, ptr %p
  ret void
}
