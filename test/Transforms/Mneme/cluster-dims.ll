; mneme/nvcc.h passes the sizes of clusters as an annotation, which becomes the attribute that the code generator knows. Other
; annotations stay.
; RUN: rm -rf %t && split-file %s %t && mkdir %t/tmp
; DEFINE: %{pass} = env TMPDIR=%t/tmp mneme-pass-opt -passes='mneme-instrument<O2>' -S
; RUN: %{pass} %t/sizes.ll | FileCheck %s
; CHECK: @llvm.global.annotations = appending global [1 x { ptr, ptr, ptr, i32, ptr }] [{{.*}}@other
; CHECK: define {{.*}} @one() #[[ONE:[0-9]+]]
; CHECK: define {{.*}} @three() #[[THREE:[0-9]+]]
; CHECK: define {{.*}} @launch() #[[LAUNCH:[0-9]+]]
; CHECK-DAG: attributes #[[ONE]] = { "nvvm.cluster_dim"="4,1,1" }
; CHECK-DAG: attributes #[[THREE]] = { "nvvm.cluster_dim"="2,3,1" }
; CHECK-DAG: attributes #[[LAUNCH]] = { "nvvm.cluster_dim"="0,0,0" }

; The launch stub has it, too.
; RUN: sed 's/nvptx64-nvidia-cuda/x86_64-unknown-linux-gnu/; s/ptx_kernel//' %t/sizes.ll > %t/stub.ll
; RUN: %{pass} %t/stub.ll | FileCheck %s --check-prefix=STUB
; STUB: @llvm.global.annotations = appending global [1 x
; STUB-NOT: nvvm

; RUN: not %{pass} %t/zero.ll 2>&1 | FileCheck %s --check-prefix=ZERO
; ZERO: error: mneme: a.cu:7: __cluster_dims__ of 'zero': expected at most three positive integers

;--- sizes.ll
source_filename = "sizes.cu"
target triple = "nvptx64-nvidia-cuda"
@name = private constant [19 x i8] c"mneme.cluster_dims\00", section "llvm.metadata"
@other = private constant [6 x i8] c"other\00", section "llvm.metadata"
@file = private constant [5 x i8] c"a.cu\00", section "llvm.metadata"
@args1 = private constant { i32 } { i32 4 }, section "llvm.metadata"
@args3 = private constant { i32, i32, i32 } { i32 2, i32 3, i32 1 }, section "llvm.metadata"
@llvm.global.annotations = appending global [4 x { ptr, ptr, ptr, i32, ptr }] [
  { ptr, ptr, ptr, i32, ptr } { ptr @one, ptr @name, ptr @file, i32 1, ptr @args1 },
  { ptr, ptr, ptr, i32, ptr } { ptr @three, ptr @name, ptr @file, i32 2, ptr @args3 },
  { ptr, ptr, ptr, i32, ptr } { ptr @one, ptr @other, ptr @file, i32 3, ptr null },
  { ptr, ptr, ptr, i32, ptr } { ptr @launch, ptr @name, ptr @file, i32 4, ptr null }], section "llvm.metadata"
define ptx_kernel void @one() {
  ret void
}
define ptx_kernel void @three() {
  ret void
}
define ptx_kernel void @launch() {
  ret void
}

;--- zero.ll
source_filename = "zero.cu"
target triple = "nvptx64-nvidia-cuda"
@name = private constant [19 x i8] c"mneme.cluster_dims\00", section "llvm.metadata"
@file = private constant [5 x i8] c"a.cu\00", section "llvm.metadata"
@args = private constant { i32, i32 } { i32 4, i32 0 }, section "llvm.metadata"
@llvm.global.annotations = appending global [1 x { ptr, ptr, ptr, i32, ptr }] [
  { ptr, ptr, ptr, i32, ptr } { ptr @zero, ptr @name, ptr @file, i32 7, ptr @args }], section "llvm.metadata"
define ptx_kernel void @zero() {
  ret void
}
