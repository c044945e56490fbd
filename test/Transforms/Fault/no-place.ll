; A kernel that has no place for a fault stays as it is.
; RUN: mneme-pass-opt -S %s > %t.ll
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<drop-first-write>' | diff %t.ll -
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<drop-last-write>' | diff %t.ll -
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<constant-output>' | diff %t.ll -
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<shifted-write>' | diff %t.ll -
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<shorter-bound>' | diff %t.ll -
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<first-thread>' | diff %t.ll -
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<half-precision>' | diff %t.ll -
; RUN: mneme-pass-opt -S %s -passes='mneme-fault<swapped-operands>' | diff %t.ll -

target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [16 x float] undef, align 4

define ptx_kernel void @kernel(i32 %i) {
  %at = getelementptr [16 x float], ptr addrspace(3) @tile, i32 0, i32 %i
  store float 1.0, ptr addrspace(3) %at
  ret void
}
