; Questions to NVIDIA's compiler are answered, and what depends on them goes.
; RUN: mneme-pass-opt -passes=mneme-host-normalize -S %s | FileCheck %s
target triple = "nvptx64-nvidia-cuda"

@arch = private constant [12 x i8] c"__CUDA_ARCH\00"
@ftz = private constant [11 x i8] c"__CUDA_FTZ\00"
@unknown = private constant [9 x i8] c"__OTHER_\00"
declare i32 @__nvvm_reflect(ptr)
declare void @flushing()

; CHECK-LABEL: @k(
define ptx_kernel void @k(ptr %p) "target-cpu"="sm_86" {
; CHECK-NOT: reflect
; CHECK: store i32 860, ptr %p
  %a = call i32 @__nvvm_reflect(ptr @arch)
  store i32 %a, ptr %p
; CHECK: store i32 0, ptr %p
  %u = call i32 @__nvvm_reflect(ptr @unknown)
  store i32 %u, ptr %p
  %f = call i32 @__nvvm_reflect(ptr @ftz)
  %c = icmp ne i32 %f, 0
; CHECK-NOT: br i1
; CHECK: call void @flushing()
  br i1 %c, label %flush, label %keep
flush:
  call void @flushing()
  ret void
; CHECK-NOT: store i32 7
keep:
  store i32 7, ptr %p
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 4, !"nvvm-reflect-ftz", i32 1}
