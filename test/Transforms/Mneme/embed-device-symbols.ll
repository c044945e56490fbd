; With -fgpu-rdc, host symbols stand for device symbols, so that linkers find payloads in
; static libraries. A unit that has anything for the host defines none: it must not get
; into a program for our sake.
; RUN: rm -rf %t && split-file %s %t && mkdir %t/tmp
; DEFINE: %{capture} = env TMPDIR=%t/tmp mneme-pass-opt -passes='mneme-capture<rdc>' -disable-output
; DEFINE: %{embed} = env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-embed -S
; RUN: %{capture} %t/device.ll
; RUN: %{embed} %t/none.ll | FileCheck %s --check-prefixes=NEEDS,DEFINES --implicit-check-not='@__mneme_device_'
; RUN: %{capture} %t/device.ll
; RUN: %{embed} %t/function.ll | FileCheck %s --check-prefix=NEEDS --implicit-check-not='@__mneme_device_'
; RUN: %{capture} %t/device.ll
; RUN: %{embed} %t/constructor.ll | FileCheck %s --check-prefix=NEEDS --implicit-check-not='@__mneme_device_'
; RUN: %{capture} %t/device.ll
; RUN: %{embed} %t/shared.ll | FileCheck %s --check-prefixes=COMMON,DEFINES --implicit-check-not='@__mneme_device_'
; Nor is there any without -fgpu-rdc.
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes='mneme-capture' -disable-output %t/device.ll
; RUN: %{embed} %t/none.ll | FileCheck %s --check-prefix=WHOLE --implicit-check-not=__mneme_device_

; DEFINES-DAG: @__mneme_device_strong = hidden global i8 0
; DEFINES-DAG: @__mneme_device_variable = hidden global i8 0
; DEFINES-DAG: @__mneme_device_template = weak_odr hidden global i8 0
; NEEDS-DAG: module asm ".globl \22__mneme_device_elsewhere\22"
; NEEDS-DAG: module asm ".globl \22__mneme_device_table\22"
; Undefined symbols of a shared library are errors for those who link it.
; COMMON-DAG: @__mneme_device_elsewhere = common hidden global i8 0
; COMMON-DAG: @__mneme_device_table = common hidden global i8 0
; WHOLE: @__mneme_payload_

;--- device.ll
source_filename = "x.cu"
target triple = "nvptx64-nvidia-cuda"
@variable = addrspace(1) externally_initialized global i32 1
@table = external addrspace(1) global [4 x i32]
@dynamic = external addrspace(3) global [0 x i8]
@local = internal addrspace(1) global i32 2
define i32 @strong() "target-cpu"="sm_90" {
  %a = call i32 @elsewhere()
  %b = call i32 @template()
  %c = call i32 @hidden()
  %d = load i32, ptr addrspace(1) @table
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i8 0, ptr addrspace(3) @dynamic
  ret i32 %d
}
define linkonce_odr i32 @template() { ret i32 1 }
define internal i32 @hidden() {
  %a = load i32, ptr addrspace(1) @local
  ret i32 %a
}
declare i32 @elsewhere()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
;--- none.ll
source_filename = "x.cu"
target triple = "x86_64-pc-linux-gnu"
@variable = global i32 undef
@0 = private constant [9 x i8] c"variable\00"
@.offloading.entry.variable = weak constant { i64, i16, i16, i32, ptr, ptr, i64, i64, ptr } { i64 0, i16 1, i16 2, i32 1, ptr @variable, ptr @0, i64 4, i64 0, ptr null }, section "llvm_offload_entries"
@__hip_cuid_1234 = global i8 0
define linkonce_odr i32 @inline() { ret i32 1 }
define internal i32 @unused() { ret i32 1 }
;--- shared.ll
source_filename = "x.cu"
target triple = "x86_64-pc-linux-gnu"
!llvm.module.flags = !{!0}
!0 = !{i32 8, !"PIC Level", i32 2}
;--- function.ll
source_filename = "x.cu"
target triple = "x86_64-pc-linux-gnu"
define i32 @function() { ret i32 1 }
;--- constructor.ll
source_filename = "x.cu"
target triple = "x86_64-pc-linux-gnu"
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @construct, ptr null }]
define internal void @construct() { ret void }
