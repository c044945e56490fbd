; Placeholders in functions that are not inlined read the current thread.
; RUN: mneme-pass-opt -passes='mneme-host-calls,verify' -S %s | FileCheck %s

target triple = "x86_64-unknown-linux-gnu"

; CHECK: define internal i32 @index()
; CHECK-NEXT: %thread = call ptr @__mneme_host_current()
; CHECK: %block = load ptr, ptr %{{.*}}, !invariant.load
; CHECK: %ctaid.x = load i32
; CHECK: %[[TID:tid.x]] = load i32, ptr %{{[0-9]+}}, align 4{{$}}
; CHECK: add i32 %[[TID]], %ctaid.x
; CHECK: declare ptr @__mneme_host_current() #[[CURRENT:[0-9]+]]
; CHECK: attributes #[[CURRENT]] = { nounwind willreturn memory(none) }
define internal i32 @index() noinline {
  %tid = call i32 @mneme.host.tid.x()
  %cta = call i32 @mneme.host.ctaid.x()
  %sum = add i32 %tid, %cta
  ret i32 %sum
}

define void @mneme.entry.kernel(ptr %block, ptr %args) "mneme-entry"="loop" {
  %i = call i32 @index()
  ret void
}

declare i32 @mneme.host.tid.x() nounwind memory(none)
declare i32 @mneme.host.ctaid.x() nounwind memory(none)
