; The device compile hands its module to the host compile of the same source, which
; embeds it with an index of host pointers. No other compile sees it.
; REQUIRES: x86-registered-target
; RUN: rm -rf %t && split-file %s %t && mkdir %t/tmp
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes='mneme-capture<O3>' -S %t/device.ll -o %t/after.ll
; RUN: mneme-pass-opt -passes=verify -S %t/device.ll -o %t/before.ll
; RUN: diff %t/before.ll %t/after.ll
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-embed -S < %t/other.ll | FileCheck %s --check-prefix=OTHER
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-embed -S %t/host.ll -o %t/embedded.ll
; RUN: FileCheck %s < %t/embedded.ll
; RUN: ls -A %t/tmp/mneme-* | count 0
; RUN: llc -filetype=obj -relocation-model=pic %t/embedded.ll -o %t/host.o
; RUN: llvm-mneme-record list-kernels --extract=%t/out %t/host.o | FileCheck %s --check-prefix=LIST
; RUN: cat %t/out/*.bc | llvm-dis | FileCheck %s --check-prefix=IR

; OTHER-NOT: mneme

; CHECK:     $__mneme_payload_[[HASH:[0-9a-f]+]] = comdat any
; CHECK:     @__mneme_payload_[[HASH]] = linkonce_odr hidden constant [{{[0-9]+}} x i8] c"MNEMEPL1{{.*}}", section "mneme_payload", comdat, align 8
; CHECK:     @.mneme.name = private unnamed_addr constant [6 x i8] c"scale\00"
; CHECK:     @.mneme.index = private global { ptr, ptr, ptr, i64, i32, i32 } { ptr @stub_scale, ptr @__mneme_payload_[[HASH]], ptr @.mneme.name, i64 0, i32 0, i32 0 }, section "mneme_index", align 8
; CHECK:     { ptr @factor, ptr @__mneme_payload_[[HASH]], ptr @.mneme.name.1, i64 4, i32 1, i32 1 }
; CHECK:     { ptr @total, ptr @__mneme_payload_[[HASH]], ptr @.mneme.name.3, i64 8, i32 1, i32 0 }
; A kernel that the payload does not have gets no entry.
; CHECK-NOT: @stub_gone, ptr @__mneme
; CHECK:     @llvm.used = appending global [4 x ptr] [ptr @__mneme_payload_[[HASH]],
; CHECK:     @llvm.global_ctors = {{.*}} { i32 0, ptr @mneme.attach, ptr null }
; CHECK:     declare extern_weak void @__mneme_attach(ptr, ptr, ptr, ptr) #[[ATTACH:[0-9]+]]
; CHECK:     define internal void @mneme.attach()
; CHECK:       icmp ne ptr @__mneme_attach, null
; CHECK:       call void @__mneme_attach(ptr @__start_mneme_hooks, ptr @__stop_mneme_hooks, ptr @__start_mneme_index, ptr @__stop_mneme_index)
; CHECK:     attributes #[[ATTACH]] = { nonlazybind }

; LIST:      1 kernel
; LIST:      symbol: scale
; LIST-NEXT: arguments: 8 (pointer), 4, 1, 24, 16
; LIST-NEXT: target: sm_90 (nvptx64-nvidia-cuda)
; LIST-NEXT: source: x.cu, -O3

; IR-NOT: source_filename
; IR:     @factor = addrspace(4) externally_initialized
; IR:     define ptx_kernel void @scale(
; IR:     define internal float @helper(

;--- device.ll
source_filename = "dir/x.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
%struct.Big = type { i32, double, [5 x i8] }
@factor = addrspace(4) externally_initialized constant float 0.0, align 4
define ptx_kernel void @scale(ptr %p, i32 %n, i1 zeroext %b, ptr byval(%struct.Big) align 8 %s, ptr byval([4 x float]) align 16 %v) #0 {
  %f = load float, ptr addrspace(4) @factor
  %g = call float @helper(float %f)
  store float %g, ptr %p
  ret void
}
define internal float @helper(float %x) #0 {
  ret float %x
}
attributes #0 = { "target-cpu"="sm_90" }

;--- other.ll
source_filename = "other/x.cu"
target triple = "x86_64-pc-linux-gnu"
define void @f() {
  ret void
}

;--- host.ll
source_filename = "dir/x.cu"
target triple = "x86_64-pc-linux-gnu"
@0 = private constant [6 x i8] c"scale\00"
@1 = private constant [5 x i8] c"gone\00"
@2 = private constant [7 x i8] c"factor\00"
@3 = private constant [6 x i8] c"total\00"
@factor = internal global float undef
@total = internal global double undef
define void @stub_scale() {
  ret void
}
define void @stub_gone() {
  ret void
}
define internal void @__cuda_register_globals(ptr %h) {
  %1 = call i32 @__cudaRegisterFunction(ptr %h, ptr @stub_scale, ptr @0, ptr @0, i32 -1, ptr null, ptr null, ptr null, ptr null, ptr null)
  %2 = call i32 @__cudaRegisterFunction(ptr %h, ptr @stub_gone, ptr @1, ptr @1, i32 -1, ptr null, ptr null, ptr null, ptr null, ptr null)
  call void @__cudaRegisterVar(ptr %h, ptr @factor, ptr @2, ptr @2, i32 0, i64 4, i32 1, i32 0)
  call void @__cudaRegisterVar(ptr %h, ptr @total, ptr @3, ptr @3, i32 0, i64 8, i32 0, i32 0)
  ret void
}
declare i32 @__cudaRegisterFunction(ptr, ptr, ptr, ptr, i32, ptr, ptr, ptr, ptr, ptr)
declare void @__cudaRegisterVar(ptr, ptr, ptr, ptr, i32, i64, i32, i32)
