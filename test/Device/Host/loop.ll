; RUN: mneme-pass-opt -passes=mneme-host-loop -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"
declare i32 @mneme.host.tid.x()
declare i32 @mneme.host.tid.z()
declare i32 @mneme.host.ctaid.y()

; CHECK-NOT: define {{.*}}@k(
; CHECK: define void @mneme.entry.k(ptr noalias %block, ptr noalias %args) #[[E:[0-9]+]] {
; CHECK-DAG: load i32, ptr %block, align 4, !range ![[RANGE:[0-9]+]], !invariant.load
; CHECK-DAG: %[[Y:.*]] = getelementptr inbounds i8, ptr %block, i32 16
; CHECK-DAG: %ctaid.y = load i32, ptr %[[Y]]
; CHECK: thread.z:
; CHECK-NEXT: %tid.z = phi i32
; CHECK: thread.x:
; CHECK-NEXT: %tid.x = phi i32
; CHECK: store i32 %tid.x, ptr %{{.*}}, !llvm.access.group ![[GROUP:[0-9]+]]
; CHECK: store i32 %tid.z, ptr %{{.*}}, !llvm.access.group ![[GROUP]]
; CHECK: store i32 %ctaid.y, ptr %{{.*}}, !mneme.shared
; CHECK-NOT: access.group
; CHECK: br i1 %{{.*}}, label %thread.x, label %next.y, !llvm.loop ![[LOOP:[0-9]+]]
define void @k(ptr %p) "mneme-kernel" "mneme-static-shared"="128" {
  %x = call i32 @mneme.host.tid.x()
  store i32 %x, ptr %p
  %z = call i32 @mneme.host.tid.z()
  %q = getelementptr i32, ptr %p, i32 1
  store i32 %z, ptr %q
  %b = call i32 @mneme.host.ctaid.y()
  %r = getelementptr i32, ptr %p, i32 2
  store i32 %b, ptr %r, !mneme.shared !0
  ret void
}
!0 = !{}
; CHECK: attributes #[[E]] = { "mneme-entry"="loop" "mneme-static-shared"="128"
; CHECK-DAG: ![[RANGE]] = !{i32 1, i32 1025}
; CHECK-DAG: ![[LOOP]] = distinct !{![[LOOP]], ![[PARALLEL:[0-9]+]]}
; CHECK-DAG: ![[PARALLEL]] = !{!"llvm.loop.parallel_accesses", ![[GROUP]]}
