; A function that stays a call and asks for its thread finds it in the block's
; first MnemeHostThread.
; RUN: mneme-pass-opt -passes=mneme-host-loop -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"
declare i32 @mneme.host.tid.x()

; CHECK: define void @mneme.entry.k(
; CHECK: %thread = load ptr
; CHECK: thread.x:
; CHECK: store i32 %tid.x, ptr %thread, align 4{{$}}
; CHECK: store ptr %block, ptr
; CHECK: call void @callee()
; CHECK-NOT: parallel_accesses
define void @k() "mneme-kernel" {
  call void @callee()
  ret void
}
define internal void @callee() {
  %x = call i32 @mneme.host.tid.x()
  call void @callee()
  ret void
}
