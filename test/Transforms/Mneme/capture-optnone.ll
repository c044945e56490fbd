; At -O0, clang marks every function optnone and noinline: nothing could be replayed
; under another pipeline. At any other level it was the programmer who did.
; REQUIRES: x86-registered-target
; RUN: rm -rf %t && split-file %s %t && mkdir %t/tmp
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes='mneme-capture<O0>' -disable-output %t/device.ll
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-embed %t/host.ll -o %t/O0.bc
; RUN: llc -filetype=obj %t/O0.bc -o %t/O0.o
; RUN: llvm-mneme-record list-kernels --extract=%t/O0 %t/O0.o | FileCheck %s --check-prefix=LIST0
; RUN: cat %t/O0/*.bc | llvm-dis | FileCheck %s --check-prefix=O0
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes='mneme-capture<O2>' -disable-output %t/device.ll
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-embed %t/host.ll -o %t/O2.bc
; RUN: llc -filetype=obj %t/O2.bc -o %t/O2.o
; RUN: llvm-mneme-record list-kernels --extract=%t/O2 %t/O2.o | FileCheck %s --check-prefix=LIST2
; RUN: cat %t/O2/*.bc | llvm-dis | FileCheck %s --check-prefix=O2

; LIST0: -O0
; LIST2: -O2

; O0:     define ptx_kernel void @k() #[[K:[0-9]+]]
; O0:     define void @apart() #[[APART:[0-9]+]]
; O0:     attributes #[[K]] = { nounwind }
; O0:     attributes #[[APART]] = { noinline }

; O2:     define ptx_kernel void @k() #[[K:[0-9]+]]
; O2:     attributes #[[K]] = { noinline nounwind optnone }

;--- device.ll
source_filename = "x.cu"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k() noinline nounwind optnone {
  call void @apart()
  ret void
}
define void @apart() noinline {
  ret void
}
;--- host.ll
source_filename = "x.cu"
target triple = "x86_64-pc-linux-gnu"
