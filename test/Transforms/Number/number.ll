; Line tables number the instructions of all functions, whatever debug
; information there was, and the code stays as it is.
; RUN: mneme-pass-opt -S %s -passes=mneme-number | FileCheck %s
; RUN: mneme-pass-opt %s -passes=mneme-number -o %t.bc
; RUN: llc -mcpu=sm_90 %t.bc -o - | FileCheck %s --check-prefix=PTX
; The instructions, with and without line tables:
; RUN: sed -e 's/,* !dbg ![0-9]*//' -e /llvm.dbg.cu/d %s | llc -mcpu=sm_90 | grep -E '^.(ld|st|add|call|ret)' > %t.before
; RUN: llc -mcpu=sm_90 %t.bc -o - | grep -E '^.(ld|st|add|call|ret)' > %t.after
; RUN: diff %t.before %t.after
; RUN: grep add.rn.f32 %t.after
target triple = "nvptx64-nvidia-cuda"

; CHECK: %x = load float, ptr addrspace(1) %p, align 4, !dbg ![[ONE:[0-9]+]]
; CHECK: %y = fadd float %x, 1.000000e+00, !dbg ![[TWO:[0-9]+]]
; CHECK: ret float %y, !dbg
; CHECK-NOT: a.cu
; CHECK: emissionKind: DebugDirectivesOnly
; CHECK: ![[ONE]] = !DILocation(line: 1, scope
; CHECK: ![[TWO]] = !DILocation(line: 2, scope
; CHECK: !DILocation(line: 5, scope
define internal float @get(ptr addrspace(1) %p) noinline !dbg !3 {
  %x = load float, ptr addrspace(1) %p, align 4, !dbg !5
  %y = fadd float %x, 1.0, !dbg !5
  ret float %y, !dbg !5
}

; PTX: .target sm_90
; PTX-NOT: debug
; PTX: .loc 1 1 0
; PTX: .loc 1 4 0
define ptx_kernel void @kernel(ptr addrspace(1) %p) {
  %v = call float @get(ptr addrspace(1) %p)
  store float %v, ptr addrspace(1) %p, align 4
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "a.cu", directory: ".")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "get", scope: !1, file: !1, line: 7, type: !4, unit: !0)
!4 = !DISubroutineType(types: !6)
!5 = !DILocation(line: 8, column: 3, scope: !3)
!6 = !{}
