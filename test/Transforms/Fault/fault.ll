; Each fault changes what it says, and nothing else.
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<empty>' | FileCheck %s --check-prefix=EMPTY
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<drop-first-write>' | FileCheck %s --check-prefix=FIRST
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<drop-last-write>' | FileCheck %s --check-prefix=LAST
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<constant-output>' | FileCheck %s --check-prefix=CONSTANT
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<shifted-write>' | FileCheck %s --check-prefix=SHIFTED
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<shorter-bound>' | FileCheck %s --check-prefix=BOUND
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<first-block>' | FileCheck %s --check-prefix=BLOCK
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<first-thread>' | FileCheck %s --check-prefix=THREAD
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<half-precision>' | FileCheck %s --check-prefix=HALF
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<swapped-operands>' | FileCheck %s --check-prefix=SWAPPED

; Behind a pipeline, as for code.
; RUN: mneme-pass-opt %s -passes='default<O2>,mneme-fault<first-block>' | llc -mcpu=sm_90 -o /dev/null
; RUN: mneme-pass-opt -disable-output -print-pipeline-passes %s -passes='mneme-fault<empty>' | FileCheck %s --check-prefix=TEXT
; TEXT: mneme-fault<empty>
; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-fault<late>' 2>&1 | FileCheck %s --check-prefix=BAD
; BAD: unknown fault 'late': expected one of empty, drop-first-write, {{.*}}, swapped-operands

target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @kernel(ptr %out, ptr %count, i32 %i, i32 %n, float %x) {
entry:
  %local = alloca float
  store float %x, ptr %local
  %in = icmp slt i32 %i, %n
  br i1 %in, label %then, label %exit
then:
  %y = fsub float %x, 1.0
  store float %y, ptr %out
  %old = atomicrmw add ptr %count, i32 1 monotonic
  %end = getelementptr i8, ptr %out, i32 %old
  store float 2.0, ptr %end
  br label %exit
exit:
  ret void
}

; EMPTY: define ptx_kernel void @kernel(ptr %out, ptr %count, i32 %i, i32 %n, float %x) {
; EMPTY-NEXT: ret void
; EMPTY-NEXT: }

; FIRST: store float %x, ptr %local
; FIRST: %y = fsub
; FIRST-NEXT: %old = atomicrmw
; FIRST: store float 2.0

; LAST: store float %y
; LAST-NEXT: atomicrmw
; LAST-NOT: store

; CONSTANT: store float %x, ptr %local
; CONSTANT: store float 0.000000e+00, ptr %out
; CONSTANT-NEXT: atomicrmw add ptr %count, i32 0
; CONSTANT: store float 0.000000e+00, ptr %end

; SHIFTED: store float %y, ptr %out
; SHIFTED: %[[NEXT:.*]] = getelementptr float, ptr %end, i64 1
; SHIFTED-NEXT: store float 2.0{{.*}}, ptr %[[NEXT]]

; BOUND: %[[LESS:.*]] = sub i32 %n, 1
; BOUND-NEXT: icmp slt i32 %i, %[[LESS]]

; BLOCK: %local = alloca
; BLOCK-NEXT: call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
; BLOCK: br i1 %{{.*}}, label %[[RETURN:.*]], label %[[REST:.*]]
; BLOCK: [[RETURN]]:
; BLOCK-NEXT: ret void
; BLOCK: [[REST]]:
; BLOCK-NEXT: store float %x, ptr %local

; The result of the atomic operation is used: it stays.
; THREAD: call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
; THREAD: br i1
; THREAD: store float %y, ptr %out
; THREAD: atomicrmw
; THREAD-NEXT: getelementptr
; THREAD-NEXT: call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
; THREAD: br i1
; THREAD: store float 2.0

; HALF: %[[SHORT:.*]] = fptrunc float %y to half
; HALF-NEXT: %[[LONG:.*]] = fpext half %[[SHORT]] to float
; HALF-NEXT: store float %[[LONG]], ptr %out

; SWAPPED: fsub float 1.0{{.*}}, %x
