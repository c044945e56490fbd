; What was inferred about a function on the GPU is dropped from it and its calls: the
; callee reads the thread's index, which is no memory there. What holds anywhere stays.
; RUN: mneme-pass-opt -passes=mneme-host-normalize -S %s | FileCheck %s
target triple = "nvptx64-nvidia-cuda"

; CHECK: define i32 @pure(ptr noalias readonly %p) #[[PLAIN:[0-9]+]]
define i32 @pure(ptr noalias readonly %p) #0 {
  ret i32 0
}
; CHECK: declare void @die() #[[NORETURN:[0-9]+]]
declare void @die() #1

; CHECK-LABEL: @k(
define ptx_kernel void @k(ptr %p) {
; CHECK: call i32 @pure(ptr %p) #[[CALL:[0-9]+]]
  %v = call i32 @pure(ptr %p) #0
  call void @die() #1
  ret void
}
attributes #0 = { convergent nosync nofree willreturn speculatable memory(none) mustprogress }
attributes #1 = { convergent noreturn }
; CHECK: attributes #[[PLAIN]] = { nounwind "mneme-wave-size"
; CHECK: attributes #[[NORETURN]] = { noreturn nounwind }
; CHECK: attributes #[[CALL]] = { nounwind }
