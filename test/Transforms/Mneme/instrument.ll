; What the plugin runs, on either side; one constructor serves index and hooks.
; RUN: rm -rf %t && split-file %s %t && mkdir %t/tmp
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes='mneme-instrument<O2>' -disable-output %t/device.ll
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-instrument -S %t/host.ll | FileCheck %s
; RUN: mneme-pass-opt -passes='mneme-instrument<Oz;rdc>,mneme-capture<O0>,mneme-embed,mneme-hooks' -print-pipeline-passes -disable-output %t/plain.ll \
; RUN:   | FileCheck %s --check-prefix=PRINT
; RUN: not mneme-pass-opt -passes='mneme-instrument<O9>' -disable-output %t/plain.ll 2>&1 | FileCheck %s --check-prefix=BAD

; PRINT: mneme-instrument<Oz;rdc>,mneme-capture<O0>,mneme-embed,mneme-hooks
; BAD:   invalid mneme-capture parameter 'O9'

; The registration call is read before it is redirected.
; CHECK: { ptr @stub, ptr @__mneme_payload_{{.*}}, section "mneme_index"
; CHECK: @llvm.global_ctors = appending global [1 x { i32, ptr, ptr }]
; CHECK: load ptr, ptr @mneme.hook.__cudaRegisterFunction
; CHECK: define internal void @mneme.attach()

;--- device.ll
source_filename = "x.cu"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k() {
  ret void
}
;--- host.ll
source_filename = "x.cu"
target triple = "x86_64-pc-linux-gnu"
@0 = private constant [2 x i8] c"k\00"
define void @stub() {
  ret void
}
define void @register(ptr %h) {
  %1 = call i32 @__cudaRegisterFunction(ptr %h, ptr @stub, ptr @0, ptr @0, i32 -1, ptr null, ptr null, ptr null, ptr null, ptr null)
  ret void
}
declare i32 @__cudaRegisterFunction(ptr, ptr, ptr, ptr, i32, ptr, ptr, ptr, ptr, ptr)
;--- plain.ll
