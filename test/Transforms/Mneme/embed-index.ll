; Host pointers come from the registration calls of CUDA and HIP, and from offload
; entries with -fgpu-rdc. One index entry for each architecture.
; RUN: rm -rf %t && split-file %s %t && mkdir %t/tmp
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes='mneme-capture<rdc>' -disable-output %t/gfx90a.ll
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes='mneme-capture<rdc>' -disable-output %t/gfx942.ll
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-embed -S %t/calls.ll | FileCheck %s --check-prefix=CALLS
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes='mneme-capture<rdc>' -disable-output %t/gfx90a.ll
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-embed -S %t/entries.ll | FileCheck %s --check-prefix=ENTRIES

; CALLS: @__mneme_payload_[[A:[0-9a-f]+]] = linkonce_odr hidden
; CALLS: { ptr @__mneme_payload_[[A]], ptr @__mneme_payload_[[A]], ptr @{{.*}}, i64 0, i32 2, i32 0 }
; CALLS: { ptr @k, ptr @__mneme_payload_[[A]], ptr @[[K:.mneme.name[.0-9]*]], i64 0, i32 0, i32 0 }
; CALLS: { ptr @m, ptr @__mneme_payload_[[A]], ptr @[[M:.mneme.name[.0-9]*]], i64 12, i32 1, i32 2 }
; CALLS: @__mneme_payload_[[B:[0-9a-f]+]] = linkonce_odr hidden
; CALLS: { ptr @k, ptr @__mneme_payload_[[B]], ptr @[[K]], i64 0, i32 0, i32 0 }
; CALLS: { ptr @m, ptr @__mneme_payload_[[B]], ptr @[[M]], i64 12, i32 1, i32 2 }

; ENTRIES-DAG: { ptr @k, ptr @__mneme_payload_{{[0-9a-f]+}}, {{.*}} i64 0, i32 0, i32 0 }
; ENTRIES-DAG: { ptr @v, ptr @__mneme_payload_{{[0-9a-f]+}}, {{.*}} i64 4, i32 1, i32 0 }
; ENTRIES-DAG: { ptr @c, ptr @__mneme_payload_{{[0-9a-f]+}}, {{.*}} i64 16, i32 1, i32 1 }
; ENTRIES-DAG: { ptr @m, ptr @__mneme_payload_{{[0-9a-f]+}}, {{.*}} i64 8, i32 1, i32 2 }
; ENTRIES-NOT: ptr @omp, ptr @__mneme
; ENTRIES-NOT: ptr @tex, ptr @__mneme

;--- gfx90a.ll
source_filename = "x.hip"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k() "target-cpu"="gfx90a" {
  ret void
}
;--- gfx942.ll
source_filename = "x.hip"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k() "target-cpu"="gfx942" {
  ret void
}
;--- calls.ll
source_filename = "x.hip"
target triple = "x86_64-pc-linux-gnu"
@k = constant ptr @stub
@m = global ptr null
@m.managed = internal global [12 x i8] zeroinitializer
@0 = private constant [2 x i8] c"k\00"
@1 = private constant [2 x i8] c"m\00"
define void @stub() {
  ret void
}
define internal void @__hip_register_globals(ptr %h) {
  %1 = call i32 @__hipRegisterFunction(ptr %h, ptr @k, ptr @0, ptr @0, i32 -1, ptr null, ptr null, ptr null, ptr null, ptr null)
  call void @__hipRegisterManagedVar(ptr %h, ptr @m, ptr @m.managed, ptr @1, i64 12, i32 4)
  ret void
}
declare i32 @__hipRegisterFunction(ptr, ptr, ptr, ptr, i32, ptr, ptr, ptr, ptr, ptr)
declare void @__hipRegisterManagedVar(ptr, ptr, ptr, ptr, i64, i32)
;--- entries.ll
source_filename = "x.hip"
target triple = "x86_64-pc-linux-gnu"
%entry = type { i64, i16, i16, i32, ptr, ptr, i64, i64, ptr }
@n.k = private constant [2 x i8] c"k\00"
@n.v = private constant [2 x i8] c"v\00"
@n.c = private constant [2 x i8] c"c\00"
@n.m = private constant [2 x i8] c"m\00"
@k = constant ptr @stub
@v = global i32 0
@c = global [4 x i32] zeroinitializer
@m = global ptr null
@omp = global i32 0
@tex = global i32 0
@e.k = weak constant %entry { i64 0, i16 1, i16 4, i32 0, ptr @k, ptr @n.k, i64 0, i64 0, ptr null }, section "llvm_offload_entries"
@e.v = weak constant %entry { i64 0, i16 1, i16 4, i32 0, ptr @v, ptr @n.v, i64 4, i64 0, ptr null }, section "llvm_offload_entries"
@e.c = weak constant %entry { i64 0, i16 1, i16 4, i32 16, ptr @c, ptr @n.c, i64 16, i64 0, ptr null }, section "llvm_offload_entries"
@e.m = weak constant %entry { i64 0, i16 1, i16 4, i32 1, ptr @m, ptr @n.m, i64 8, i64 0, ptr null }, section "llvm_offload_entries"
@e.omp = weak constant %entry { i64 0, i16 1, i16 1, i32 0, ptr @omp, ptr @n.v, i64 4, i64 0, ptr null }, section "llvm_offload_entries"
@e.tex = weak constant %entry { i64 0, i16 1, i16 4, i32 3, ptr @tex, ptr @n.v, i64 4, i64 0, ptr null }, section "llvm_offload_entries"
define void @stub() {
  ret void
}
