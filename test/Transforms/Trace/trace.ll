; A kernel notes what it reads and writes of the memory that is traced.
; RUN: mneme-pass-opt -S %s -passes='mneme-trace<range=0x1000:0x1100:0x9000;range=0x2000:0x2010:0x9100;read-first=0x110;control=0x8ff0>' | FileCheck %s
; RUN: mneme-pass-opt %s -passes='default<O2>,mneme-trace<range=0x1000:0x1100:0x9000;control=0x8ff0>' | llc -mcpu=sm_90 -o /dev/null

; Without a range there is nothing to do.
; RUN: mneme-pass-opt -S %s -passes='mneme-trace<control=1>' | FileCheck %s --check-prefix=NONE
; NONE-NOT: mneme_trace

; RUN: mneme-pass-opt -disable-output -print-pipeline-passes %s -passes='mneme-trace<range=4096:0x1100:0x9000;read-first=16;control=9;limit=5>' \
; RUN:   | FileCheck %s --check-prefix=TEXT
; TEXT: mneme-trace<range=0x1000:0x1100:0x9000;read-first=0x10;control=0x9;limit=5>

; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-trace<range=1:2>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=range=1:2
; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-trace<range=2:2:3>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=range=2:2:3
; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-trace<range=4:8:0;range=7:9:0>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=range=7:9:0
; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-trace<where=1>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=where=1
; BAD: invalid mneme-trace pass parameter '[[PARAM]]'

target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; CHECK: @mneme_trace_ranges = internal unnamed_addr addrspace(1) constant [2 x { i64, i64, i64 }] [{ i64, i64, i64 } { i64 4096, i64 4352, i64 36864 }, { i64, i64, i64 } { i64 8192, i64 8208, i64 37120 }]

@tile = internal addrspace(3) global [16 x float] undef, align 4

; CHECK-LABEL: define ptx_kernel void @accesses(
; CHECK: %[[P:.*]] = ptrtoint ptr %p to i64
; CHECK-NEXT: call void @mneme_trace_read(i64 %[[P]], i64 4)
; CHECK-NEXT: load float, ptr %p
; CHECK-NEXT: %[[Q:.*]] = ptrtoint ptr addrspace(1) %q to i64
; CHECK-NEXT: call void @mneme_trace_write(i64 %[[Q]], i64 16)
; CHECK-NEXT: store <4 x float>
; CHECK-NEXT: ptrtoint
; CHECK-NEXT: call void @mneme_trace_read(i64 %{{.*}}, i64 4)
; CHECK-NEXT: call void @mneme_trace_write(i64 %{{.*}}, i64 4)
; CHECK-NEXT: atomicrmw add
; CHECK-NEXT: ptrtoint
; CHECK-NEXT: call void @mneme_trace_read(i64 %{{.*}}, i64 8)
; CHECK-NEXT: call void @mneme_trace_write(i64 %{{.*}}, i64 8)
; CHECK-NEXT: cmpxchg
; CHECK-NEXT: ptrtoint
; CHECK-NEXT: call void @mneme_trace_read(i64 %{{.*}}, i64 %n)
; CHECK-NEXT: ptrtoint
; CHECK-NEXT: call void @mneme_trace_write(i64 %{{.*}}, i64 %n)
; CHECK-NEXT: call void @llvm.memcpy
; CHECK-NEXT: ptrtoint
; CHECK-NEXT: call void @mneme_trace_write(i64 %{{.*}}, i64 9)
; CHECK-NEXT: call void @llvm.memset
; CHECK-NEXT: ptrtoint
; CHECK-NEXT: call void @mneme_trace_read(i64 %{{.*}}, i64 4)
; CHECK-NEXT: call i32 @llvm.nvvm.ldu.global
; CHECK-NEXT: ret void
define ptx_kernel void @accesses(ptr %p, ptr addrspace(1) %q, i64 %n) {
  %v = load float, ptr %p
  store <4 x float> zeroinitializer, ptr addrspace(1) %q
  %a = atomicrmw add ptr %p, i32 1 monotonic
  %b = cmpxchg ptr %p, i64 1, i64 2 monotonic monotonic
  call void @llvm.memcpy.p1.p0.i64(ptr addrspace(1) %q, ptr %p, i64 %n, i1 false)
  call void @llvm.memset.p0.i32(ptr %p, i8 0, i32 9, i1 false)
  %c = call i32 @llvm.nvvm.ldu.global.i.i32.p1(ptr addrspace(1) %q, i32 4)
  ret void
}

; What belongs to a thread or a block is not in any range.
; CHECK-LABEL: define ptx_kernel void @own(
; CHECK-NOT: mneme_trace
; CHECK: ret void
define ptx_kernel void @own(ptr byval(i32) %n) {
  %local = alloca [4 x i32]
  %v = load i32, ptr %n
  store i32 %v, ptr %local
  %at = getelementptr [16 x float], ptr addrspace(3) @tile, i32 0, i32 %v
  store float 1.0, ptr addrspace(3) %at
  ret void
}

; CHECK-DAG: define internal void @mneme_trace_read(i64 %address, i64 %size)
; CHECK-DAG: define internal void @mneme_trace_write(i64 %address, i64 %size)
