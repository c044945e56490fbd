"""LLVM IR as other front ends write it, Triton among them: module flags that differ from clang's, and debug info."""
import sys

import llvm_mneme as mneme

IR = """
@name = private unnamed_addr constant [11 x i8] c"__CUDA_FTZ\\00"
declare i32 @__nvvm_reflect(ptr)
define ptx_kernel void @scale(ptr addrspace(1) %x, float %a) !dbg !4 {
  %v = load float, ptr addrspace(1) %x, !dbg !6
  %p = fmul float %v, %a, !dbg !6
  %r = call i32 @__nvvm_reflect(ptr @name), !dbg !6
  %f = sitofp i32 %r to float
  %w = fadd float %p, %f
  store float %w, ptr addrspace(1) %x, !dbg !6
  ret void, !dbg !6
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !7}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, producer: "other", isOptimized: true, runtimeVersion: 0, emissionKind: KIND)
!1 = !DIFile(filename: "scale.py", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 4, !"nvvm-reflect-ftz", i32 FLAG}
!4 = distinct !DISubprogram(name: "scale", linkageName: "scale", scope: !1, file: !1, line: 5, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !8)
!6 = !DILocation(line: 6, column: 9, scope: !4)
!7 = !{i32 1, !"wchar_size", i32 2}
!8 = !{null}
"""


def compile(kind, ftz, text=IR):
    return mneme.compile(text.replace("KIND", kind).replace("FLAG", ftz), "llvm_ir", target="cuda")


for kind, ftz in (("LineTablesOnly", "1"), ("FullDebug", "0"), ("NoDebug", "1")):
    kernel = compile(kind, ftz).kernel("scale", "void(float *, float)")
    x = memoryview(bytearray(4)).cast("f")
    x[0] = 3
    kernel.launch(1, 1, x, 2)
    print(kind, ftz, x[0])
# What cannot be linked is an error with the name of the problem.
more = IR.replace('!7 = !{i32 1, !"wchar_size"', '!7 = !{i32 7, !"wchar_size"')
try:
    compile("NoDebug", "0", more)
except mneme.CompileError as error:
    print(error)
