; What is worth keeping: kernels, variables that the host can name, and with
; -fgpu-rdc whatever another module may call.
; RUN: rm -rf %t && split-file %s %t && mkdir %t/tmp
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-capture -disable-output %t/functions.ll
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-capture -disable-output %t/openmp.ll
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-capture -disable-output %t/host.ll
; RUN: not ls %t/tmp/mneme-*
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes='mneme-capture<rdc>' -disable-output %t/functions.ll
; RUN: ls %t/tmp/mneme-* | count 1
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-capture -disable-output %t/variable.ll
; RUN: ls %t/tmp/mneme-* | count 2
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-instrument -disable-output %t/amdgpu.ll
; RUN: ls %t/tmp/mneme-* | count 3

;--- functions.ll
source_filename = "functions.cu"
target triple = "nvptx64-nvidia-cuda"
@.str = private addrspace(1) constant [1 x i8] zeroinitializer
define void @f() {
  ret void
}
;--- openmp.ll
source_filename = "openmp.cpp"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @__omp_offloading_k() {
  ret void
}
!llvm.module.flags = !{!0}
!0 = !{i32 7, !"openmp-device", i32 51}
;--- host.ll
source_filename = "host.cu"
target triple = "x86_64-pc-linux-gnu"
define ptx_kernel void @f() {
  ret void
}
;--- variable.ll
source_filename = "variable.cu"
target triple = "nvptx64-nvidia-cuda"
@v = addrspace(1) externally_initialized global i32 0
;--- amdgpu.ll
source_filename = "amdgpu.hip"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k() {
  ret void
}
