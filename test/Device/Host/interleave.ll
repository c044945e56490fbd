; A random schedule may stop a thread before each access that other threads may see, but
; not within an update of shared memory that was one atomic operation.
; RUN: mneme-pass-opt -passes='mneme-host-interleave,verify' -S %s | FileCheck %s

target triple = "x86_64-unknown-linux-gnu"

@table = internal constant [4 x i32] zeroinitializer
@variable = external global i32

; CHECK-LABEL: define void @kernel(
; CHECK-NEXT:    %own = alloca i32
; CHECK-NEXT:    store i32 1, ptr %own
; CHECK-NEXT:    call void @__mneme_host_preempt(i32 1)
; CHECK-NEXT:    %a = load i32, ptr %p
; CHECK-NEXT:    %b = load i32, ptr @table
; CHECK-NEXT:    %c = load i32, ptr %p, align 4, !invariant.load
; CHECK-NEXT:    %d = load i32, ptr %value
; CHECK-NEXT:    call void @__mneme_host_preempt(i32 8)
; CHECK-NEXT:    store i32 %a, ptr @variable
; CHECK-NEXT:    call void @__mneme_host_preempt(i32 8)
; CHECK-NEXT:    atomicrmw add ptr %p
; CHECK-NEXT:    call void @__mneme_host_preempt(i32 8)
; CHECK-NEXT:    cmpxchg ptr %p
; CHECK-NEXT:    call void @__mneme_host_preempt(i32 8)
; CHECK-NEXT:    call void @llvm.memcpy
; CHECK-NEXT:    call void @llvm.memset
; CHECK-NEXT:    call void @__mneme_host_preempt(i32 1)
; CHECK-NEXT:    %old = load i32, ptr %p, align 4, !mneme.shared
; CHECK-NEXT:    %new = add i32 %old, 1
; CHECK-NEXT:    store i32 %new, ptr %p, align 4, !mneme.shared
; CHECK-NEXT:    ret void
define void @kernel(ptr %p, ptr byval(i32) %value) "mneme-kernel" {
  %own = alloca i32
  store i32 1, ptr %own
  %a = load i32, ptr %p
  %b = load i32, ptr @table
  %c = load i32, ptr %p, align 4, !invariant.load !0
  %d = load i32, ptr %value
  store i32 %a, ptr @variable
  %e = atomicrmw add ptr %p, i32 1 monotonic
  %f = cmpxchg ptr %p, i32 1, i32 2 monotonic monotonic
  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %p, i64 4, i1 false)
  call void @llvm.memset.p0.i64(ptr %own, i8 0, i64 4, i1 false)
  %old = load i32, ptr %p, align 4, !mneme.shared !0
  %new = add i32 %old, 1
  store i32 %new, ptr %p, align 4, !mneme.shared !0
  ret void
}

!0 = !{}
