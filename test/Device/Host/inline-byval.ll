; A by-value argument that is only read is read where it lies; one that is written is
; the thread's own copy.
; RUN: mneme-pass-opt -passes=mneme-host-inline -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"

; CHECK: @k(ptr byref([8 x i32]) align 4 %read, ptr byval([8 x i32]) align 4 %written,
define void @k(ptr byval([8 x i32]) align 4 %read, ptr byval([8 x i32]) align 4 %written, i64 %i, ptr %out) "mneme-kernel" {
  %a = getelementptr i32, ptr %read, i64 %i
; CHECK: load i32, ptr %a, align 4, !invariant.load
  %v = load i32, ptr %a
  %b = getelementptr i32, ptr %written, i64 %i
  store i32 %v, ptr %b
; CHECK: %w = load i32, ptr %written, align 4{{$}}
  %w = load i32, ptr %written
  store i32 %w, ptr %out
  ret void
}
