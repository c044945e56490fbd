; Volatile shared accesses are how lanes of a warp spoke before __syncwarp: the lanes
; come together before each. Volatile accesses elsewhere are just that.
; RUN: mneme-pass-opt -passes=mneme-host-shared -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"
@s = internal addrspace(3) global [64 x i32] undef

; CHECK-LABEL: @k(
define void @k(ptr %global) "mneme-kernel" {
; CHECK: call i64 @mneme.host.sync(i32 7, i32 0, i64 -1, i64 0, i32 0, i32 0, i32 1)
; CHECK-NOT: sync
; CHECK: load volatile i32, ptr addrspace(3)
  %v = load volatile i32, ptr addrspace(3) @s
; CHECK-NEXT: store volatile i32 %v, ptr %global
  store volatile i32 %v, ptr %global
  ret void
}

; A device function cannot know where its argument points to.
; CHECK-LABEL: @device(
define void @device(ptr %p) {
; CHECK: call i64 @mneme.host.sync(i32 7, i32 0, i64 -1, i64 0, i32 0, i32 0, i32 2)
; CHECK-NEXT: store volatile i32 1, ptr %p
  store volatile i32 1, ptr %p
  ret void
}
