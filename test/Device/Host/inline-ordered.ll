; Blocks run one after another where it matters which thread comes first, or no replay
; could be compared with its recording.
; RUN: mneme-pass-opt -passes=mneme-host-inline -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"

; CHECK: define void @commutes(ptr %p) #[[FREE:[0-9]+]]
define void @commutes(ptr %p) "mneme-kernel" {
  %a = atomicrmw add ptr %p, i32 1 monotonic
  %b = atomicrmw umax ptr %p, i32 7 monotonic
  ret void
}
; CHECK: define void @rounds(ptr %p) #[[ORDERED:[0-9]+]]
define void @rounds(ptr %p) "mneme-kernel" {
  %a = atomicrmw fadd ptr %p, float 1.0 monotonic
  ret void
}
; CHECK: define void @claims(ptr %p) #[[ORDERED]]
define void @claims(ptr %p) "mneme-kernel" {
  %a = atomicrmw add ptr %p, i32 1 monotonic
  %b = getelementptr i32, ptr %p, i32 %a
  store i32 1, ptr %b
  ret void
}
; CHECK: attributes #[[FREE]] = { "mneme-kernel" }
; CHECK: attributes #[[ORDERED]] = { "mneme-kernel" "mneme-ordered"="1" }
