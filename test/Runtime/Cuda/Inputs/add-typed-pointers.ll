; As compilers with LLVM 14 write it.
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

define void @add(i32* %P, i32 %N) {
entry:
  %slot = alloca i32*
  store i32* %P, i32** %slot
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %m = mul i32 %b, %d
  %i = add i32 %m, %t
  %p = load i32*, i32** %slot
  %q = getelementptr inbounds i32, i32* %p, i32 %i
  %v = load i32, i32* %q
  %w = add i32 %v, %N
  store i32 %w, i32* %q
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

!nvvm.annotations = !{!0}
!0 = !{void (i32*, i32)* @add, !"kernel", i32 1}
