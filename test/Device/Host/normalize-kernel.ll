; Kernels are marked whichever way the compiler said so, and lose their convention.
; RUN: mneme-pass-opt -passes=mneme-host-normalize -S %s | FileCheck %s
target triple = "nvptx64-nvidia-cuda"

; CHECK: target triple = "x86_64
; CHECK-NOT: @llvm.
@llvm.used = appending global [1 x ptr] [ptr @by_convention], section "llvm.metadata"
@llvm.compiler.used1 = appending global [1 x ptr] [ptr @by_convention], section "llvm.metadata"

$by_convention = comdat any
; CHECK: define void @by_convention() #[[KERNEL:[0-9]+]] {
define ptx_kernel void @by_convention() #0 comdat {
  ret void
}

; CHECK: define void @by_annotation() #[[KERNEL]] {
define void @by_annotation() #0 {
  ret void
}

; CHECK: define void @device() #[[DEVICE:[0-9]+]] {
define void @device() #0 {
  ret void
}

attributes #0 = { convergent noinline optnone memory(none) norecurse "target-cpu"="sm_90" }
; CHECK: attributes #[[KERNEL]] = { nounwind "mneme-kernel" "mneme-wave-size"="32"
; CHECK-NOT: sm_90
; CHECK: attributes #[[DEVICE]] = { nounwind "mneme-wave-size"="32"
; CHECK-NOT: nvvm.annotations
!nvvm.annotations = !{!0}
!0 = !{ptr @by_annotation, !"kernel", i32 1}
