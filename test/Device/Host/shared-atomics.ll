; A block runs on one host thread: its atomics on shared memory are plain, and marked
; so that they are not vectorized across threads. Others stay.
; RUN: mneme-pass-opt -passes=mneme-host-shared -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"
@s = internal addrspace(3) global i32 undef

; CHECK-LABEL: @k(
define void @k(ptr %global) "mneme-kernel" {
; CHECK: %[[OLD:.*]] = load i32, ptr addrspace(3) %{{.*}}, align 4, !mneme.shared
; CHECK: %[[NEW:.*]] = add i32 %[[OLD]], 5
; CHECK: store i32 %[[NEW]], ptr addrspace(3) %{{.*}}, align 4, !mneme.shared
  %a = atomicrmw add ptr addrspace(3) @s, i32 5 seq_cst
; CHECK: %[[WAS:.*]] = load i32, ptr %{{.*}}, align 4, !mneme.shared
; CHECK: %[[EQ:.*]] = icmp eq i32 %[[WAS]], %[[OLD]]
; CHECK: %[[PUT:.*]] = select i1 %[[EQ]], i32 9, i32 %[[WAS]]
; CHECK: store i32 %[[PUT]], {{.*}} !mneme.shared
  %b = cmpxchg ptr addrspacecast (ptr addrspace(3) @s to ptr), i32 %a, i32 9 seq_cst seq_cst
; CHECK: atomicrmw add ptr %global
  %c = atomicrmw add ptr %global, i32 1 seq_cst
  ret void
}
