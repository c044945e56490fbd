; Kernels that another file defines are not kept alive in device code: clang 22 declares them as functions, which nvlink refuses where
; they are kernels. Everything else that clang lists stays.
; RUN: rm -rf %t && split-file %s %t && mkdir %t/tmp
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes='mneme-instrument<O2;rdc>' -S %t/some.ll | FileCheck %s
; CHECK: @__clang_gpu_used_external = internal global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @variable to ptr)]
; CHECK-NEXT: @llvm.compiler.used = appending global [1 x ptr] [ptr @__clang_gpu_used_external], section "llvm.metadata"
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes='mneme-instrument<O2;rdc>' -S %t/all.ll | FileCheck %s --check-prefix=ALL
; ALL-NOT: used

;--- some.ll
source_filename = "some.cu"
target triple = "nvptx64-nvidia-cuda"
@variable = external addrspace(1) global i32
@__clang_gpu_used_external = internal global [2 x ptr] [ptr @kernel, ptr addrspacecast (ptr addrspace(1) @variable to ptr)]
@llvm.compiler.used = appending global [1 x ptr] [ptr @__clang_gpu_used_external], section "llvm.metadata"
declare void @kernel(ptr)

;--- all.ll
source_filename = "all.cu"
target triple = "nvptx64-nvidia-cuda"
@__clang_gpu_used_external = internal global [1 x ptr] [ptr @kernel]
@llvm.compiler.used = appending global [1 x ptr] [ptr @__clang_gpu_used_external], section "llvm.metadata"
declare void @kernel(ptr)
