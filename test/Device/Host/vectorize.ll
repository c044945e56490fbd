; A loop over threads that do not depend on each other is vectorized across them, and
; not where one shared location serves them all.
; RUN: mneme-pass-opt -passes='mneme-host-normalize,mneme-host-intrinsics,mneme-host-shared,mneme-host-inline,mneme-host-loop' -S %s \
; RUN:   | mneme-pass-opt -passes='default<O3>' -S | FileCheck %s
; REQUIRES: x86-registered-target
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
@bins = internal addrspace(3) global [4 x i32] undef

; CHECK-LABEL: define {{.*}}@mneme.entry.saxpy(
; CHECK: vector.body:
; CHECK: fmul <[[N:[0-9]+]] x float>
; CHECK: fadd <[[N]] x float>
define ptx_kernel void @saxpy(i32 %n, float %a, ptr %x, ptr %y) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %o = mul i32 %b, %d
  %i = add i32 %o, %t
  %in = icmp slt i32 %i, %n
  br i1 %in, label %then, label %exit
then:
  %i64 = sext i32 %i to i64
  %px = getelementptr float, ptr %x, i64 %i64
  %py = getelementptr float, ptr %y, i64 %i64
  %vx = load float, ptr %px
  %vy = load float, ptr %py
  %m = fmul contract float %a, %vx
  %r = fadd contract float %m, %vy
  store float %r, ptr %py
  br label %exit
exit:
  ret void
}

; CHECK-LABEL: define {{.*}}@mneme.entry.count(
; CHECK-NOT: vector.body
define ptx_kernel void @count(ptr %p) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = getelementptr i32, ptr %p, i32 %t
  %v = load i32, ptr %a
  %k = and i32 %v, 3
  %bin = getelementptr [4 x i32], ptr addrspace(3) @bins, i32 0, i32 %k
  %old = atomicrmw add ptr addrspace(3) %bin, i32 1 monotonic
  store i32 %old, ptr %a
  ret void
}
