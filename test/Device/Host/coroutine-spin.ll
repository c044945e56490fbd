; Loops that wait for another thread give way at their back edge (operation 0). Work
; counters, compare-and-swap loops that build other atomics, and plain loops do not.
; RUN: mneme-pass-opt -passes='mneme-host-inline,verify' -S %s | FileCheck %s

target triple = "x86_64-unknown-linux-gnu"

; CHECK-LABEL: define void @flag(
; CHECK: %v = load volatile i32, ptr %p
; CHECK: %[[C:.*]] = icmp eq i32 %v, 0
; CHECK-NEXT: call i64 @mneme.host.sync(i32 0,
; CHECK-NEXT: br i1 %[[C]]
define void @flag(ptr %p) "mneme-kernel" {
  br label %loop
loop:
  %v = load volatile i32, ptr %p
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %done
done:
  ret void
}

; CHECK-LABEL: define void @lock(
; CHECK: call i64 @mneme.host.sync(i32 0,
; CHECK: ret void
define void @lock(ptr %p) "mneme-kernel" {
  br label %loop
loop:
  %pair = cmpxchg ptr %p, i32 0, i32 1 seq_cst seq_cst
  %ok = extractvalue { i32, i1 } %pair, 1
  br i1 %ok, label %done, label %loop
done:
  ret void
}

; CHECK-LABEL: define void @read(
; CHECK: call i64 @mneme.host.sync(i32 0,
; CHECK: ret void
define void @read(ptr %p) "mneme-kernel" {
  br label %loop
loop:
  %v = atomicrmw add ptr %p, i32 0 seq_cst
  %c = icmp eq i32 %v, 0
  br i1 %c, label %loop, label %done
done:
  ret void
}

; CHECK-LABEL: define void @work(
; CHECK-NOT: mneme.host.sync
; CHECK: ret void
define void @work(ptr %p, i32 %n) "mneme-kernel" {
  br label %loop
loop:
  %v = atomicrmw add ptr %p, i32 1 seq_cst
  %c = icmp slt i32 %v, %n
  br i1 %c, label %loop, label %done
done:
  ret void
}

; CHECK-LABEL: define void @maximum(
; CHECK-NOT: mneme.host.sync
; CHECK: ret void
define void @maximum(ptr %p, i32 %x) "mneme-kernel" {
  %first = load i32, ptr %p
  br label %loop
loop:
  %old = phi i32 [ %first, %0 ], [ %seen, %loop ]
  %new = call i32 @llvm.smax.i32(i32 %old, i32 %x)
  %pair = cmpxchg ptr %p, i32 %old, i32 %new seq_cst seq_cst
  %seen = extractvalue { i32, i1 } %pair, 0
  %ok = extractvalue { i32, i1 } %pair, 1
  br i1 %ok, label %done, label %loop
done:
  ret void
}
declare i32 @llvm.smax.i32(i32, i32)
