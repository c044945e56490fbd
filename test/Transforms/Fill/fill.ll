; What is not written gets a value before it can be read.
; RUN: mneme-pass-opt -S %s -passes='mneme-fill<byte=0x3f;dynamic-shared=64>' | FileCheck %s
; RUN: mneme-pass-opt -S %s -passes=mneme-fill | FileCheck %s --check-prefix=ZERO
; RUN: mneme-pass-opt %s -passes='mneme-fill<byte=0x3f>,default<O2>' | llc -mcpu=sm_90 -o /dev/null

; Any byte is right for what is undefined; for what is not, nothing changes.
; RUN: mneme-pass-opt -S %s -passes='mneme-fill<byte=0x3f>,default<O2>' | FileCheck %s --check-prefix=OPT

; RUN: mneme-pass-opt -disable-output -print-pipeline-passes %s -passes='mneme-fill<byte=63;dynamic-shared=0x10>' | FileCheck %s --check-prefix=TEXT
; RUN: mneme-pass-opt -disable-output -print-pipeline-passes %s -passes=mneme-fill | FileCheck %s --check-prefix=TEXT0
; TEXT: mneme-fill<byte=0x3f;dynamic-shared=16>
; TEXT0: mneme-fill<byte=0x00>
; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-fill<byte=256>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=byte=256
; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-fill<shared>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=shared
; BAD: invalid mneme-fill pass parameter '[[PARAM]]'

target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [16 x float] undef, align 4
@dynamic = external addrspace(3) global [0 x i32], align 16
@unused = internal addrspace(3) global [16 x float] undef, align 4

; The first thread fills a block's memory, at the entry of kernels alone.
; CHECK-LABEL: define ptx_kernel void @shared(
; CHECK-NEXT: %[[X:.*]] = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
; CHECK: %[[Y:.*]] = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
; CHECK: %[[Z:.*]] = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
; CHECK: %[[FIRST:.*]] = icmp eq i32 %{{.*}}, 0
; CHECK-NEXT: br i1 %[[FIRST]], label %[[THEN:.*]], label %[[ALL:.*]]
; CHECK: [[THEN]]:
; CHECK-NEXT: call void @llvm.memset.p3.i64(ptr addrspace(3) align 4 @tile, i8 63, i64 64, i1 false)
; CHECK-NEXT: call void @llvm.memset.p3.i64(ptr addrspace(3) align 16 @dynamic, i8 63, i64 64, i1 false)
; CHECK-NEXT: br label %[[ALL]]
; CHECK: [[ALL]]:
; CHECK-NEXT: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK-NEXT: load
; Without a size, dynamic shared memory is as it comes.
; ZERO-LABEL: define ptx_kernel void @shared(
; ZERO: @llvm.memset.p3.i64(ptr addrspace(3) align 4 @tile, i8 0, i64 64, i1 false)
; ZERO-NEXT: br label
define ptx_kernel void @shared(ptr %out) {
  %v = load i32, ptr addrspace(3) @tile
  %w = load i32, ptr addrspace(3) @dynamic
  %s = add i32 %v, %w
  store i32 %s, ptr %out
  ret void
}

; Local variables, from the start of their lifetime where that is known, and of any
; size.
; CHECK-LABEL: define void @locals(
; CHECK-NEXT: %a = alloca i32
; CHECK-NEXT: %b = alloca [3 x double]
; CHECK-NEXT: call void @llvm.memset.p0.i64(ptr align 4 %a, i8 63, i64 4, i1 false)
; CHECK-NOT: memset
; CHECK: loop:
; CHECK: call void @llvm.lifetime.start.p0(ptr %b)
; CHECK-NEXT: call void @llvm.memset.p0.i64(ptr align 8 %b, i8 63, i64 24, i1 false)
; CHECK: call void @llvm.lifetime.end.p0(ptr %b)
; CHECK: exit:
; CHECK-NEXT: %c = alloca i16, i32 %n
; CHECK-NEXT: %[[N:.*]] = zext i32 %n to i64
; CHECK-NEXT: %[[SIZE:.*]] = mul i64 2, %[[N]]
; CHECK-NEXT: call void @llvm.memset.p0.i64(ptr align 2 %c, i8 63, i64 %[[SIZE]], i1 false)
define void @locals(i32 %n, i1 %again) {
  %a = alloca i32
  %b = alloca [3 x double]
  br label %loop
loop:
  call void @llvm.lifetime.start.p0(ptr %b)
  call void @use(ptr %a, ptr %b)
  call void @llvm.lifetime.end.p0(ptr %b)
  br i1 %again, label %loop, label %exit
exit:
  %c = alloca i16, i32 %n
  call void @use(ptr %c, ptr %a)
  ret void
}

; CHECK-LABEL: define float @undefined(
; CHECK: phi float [ 0x3FE7E7E7E0000000, %0 ], [ %x, %then ]
; CHECK: call void @bits(i1 true, i8 63, ptr inttoptr (i64 4557430888798830399 to ptr), <2 x i16> splat (i16 16191))
; A structure that is built up from nothing stays.
; CHECK: insertvalue { i32, i32 } poison, i32 16191, 0
; ZERO-LABEL: define float @undefined(
; ZERO: phi float [ 0.000000e+00, %0 ], [ %x, %then ]
; ZERO: call void @bits(i1 false, i8 0, ptr null, <2 x i16> zeroinitializer)
; OPT-LABEL: define float @undefined(
; OPT: select i1 %c, float %x, float 0x3FE7E7E7E0000000
define float @undefined(i1 %c, float %x) {
  br i1 %c, label %then, label %exit
then:
  br label %exit
exit:
  %p = phi float [ undef, %0 ], [ %x, %then ]
  call void @bits(i1 undef, i8 poison, ptr undef, <2 x i16> undef)
  %s = insertvalue { i32, i32 } poison, i32 16191, 0
  %e = extractvalue { i32, i32 } %s, 0
  call void @bits(i1 true, i8 7, ptr null, <2 x i16> zeroinitializer)
  call void @integer(i32 %e)
  ret float %p
}

declare void @use(ptr, ptr)
declare void @integer(i32)
declare void @bits(i1, i8, ptr, <2 x i16>)
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
