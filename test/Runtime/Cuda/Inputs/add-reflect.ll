; libdevice asks the compiler for its settings, which LLVM's NVVMReflect pass answers.
target triple = "nvptx64-nvidia-cuda"

@ftz = private unnamed_addr constant [11 x i8] c"__CUDA_FTZ\00"

declare i32 @__nvvm_reflect(ptr)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

define ptx_kernel void @add(ptr %P, i32 %N) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = shl i32 %block, 5
  %i = add i32 %first, %tid
  %p = getelementptr i32, ptr %P, i32 %i
  %old = load i32, ptr %p
  %new = add i32 %old, %N
  %answer = call i32 @__nvvm_reflect(ptr @ftz)
  %sum = add i32 %new, %answer
  store i32 %sum, ptr %p
  ret void
}
