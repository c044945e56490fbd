; Kernels that cannot be recorded are a warning, once, with the reason: the program
; itself is as good as without us.
; RUN: rm -rf %t && split-file %s %t && mkdir %t/tmp %t/open %t/odd
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-embed -S < %t/host.ll -o %t/out.ll 2>&1 | FileCheck %s --check-prefix=MISSING
; RUN: FileCheck %s --check-prefix=UNTOUCHED < %t/out.ll
; RUN: env TMPDIR=%t/tmp mneme-pass-opt -passes=mneme-embed -S < %t/plain.ll 2>&1 | FileCheck %s --check-prefix=PLAIN

; MISSING:       warning: mneme: found no device code for 2 kernels of 'x.cu', which cannot be recorded; both sides must be compiled by one command, the device first
; MISSING-NOT:   warning
; UNTOUCHED-NOT: mneme
; PLAIN-NOT:     mneme

; A directory that others can write to is not trusted, on either side.
; RUN: mkdir %t/uid && env TMPDIR=%t/uid mneme-pass-opt -passes=mneme-capture -disable-output %t/device.ll
; RUN: chmod 0777 %t/uid/mneme-*
; RUN: env TMPDIR=%t/uid mneme-pass-opt -passes=mneme-capture -disable-output %t/device.ll 2>&1 | FileCheck %s --check-prefix=DEVICE
; RUN: env TMPDIR=%t/uid mneme-pass-opt -passes=mneme-embed -disable-output %t/host.ll 2>&1 | FileCheck %s --check-prefix=HOST

; DEVICE: warning: mneme: the device code of 'x.cu' is not kept: '{{.*}}uid/mneme-{{[0-9]+}}': other users can write to it
; HOST:   warning: mneme: found no device code for 2 kernels of 'x.cu', {{.*}}: '{{.*}}uid/mneme-{{[0-9]+}}': other users can write to it

; Nor is a file where the directory should be, or one that is no payload.
; RUN: env TMPDIR=%t/odd mneme-pass-opt -passes=mneme-capture -disable-output %t/device.ll
; RUN: %python -c "import glob; open(glob.glob(r'%t/odd/mneme-*/*.payload')[0], 'r+b').truncate(40)"
; RUN: env TMPDIR=%t/odd mneme-pass-opt -passes=mneme-embed -disable-output %t/host.ll 2>&1 | FileCheck %s --check-prefix=DAMAGED
; RUN: rmdir %t/odd/mneme-*
; RUN: %python -c "import os; open(r'%t/odd/mneme-%%d' %% os.getuid(), 'w')"
; RUN: env TMPDIR=%t/odd mneme-pass-opt -passes=mneme-capture -disable-output %t/device.ll 2>&1 | FileCheck %s --check-prefix=FILE

; DAMAGED: warning: mneme: ignoring damaged device code of 'x.cu'
; FILE:    warning: mneme: the device code of 'x.cu' is not kept: '{{.*}}odd/mneme-

;--- device.ll
source_filename = "x.cu"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k() {
  ret void
}
;--- host.ll
source_filename = "x.cu"
target triple = "x86_64-pc-linux-gnu"
@0 = private constant [2 x i8] c"k\00"
define void @stub() {
  ret void
}
define void @register(ptr %h) {
  %1 = call i32 @__cudaRegisterFunction(ptr %h, ptr @stub, ptr @0, ptr @0, i32 -1, ptr null, ptr null, ptr null, ptr null, ptr null)
  %2 = call i32 @__cudaRegisterFunction(ptr %h, ptr @register, ptr @0, ptr @0, i32 -1, ptr null, ptr null, ptr null, ptr null, ptr null)
  ret void
}
declare i32 @__cudaRegisterFunction(ptr, ptr, ptr, ptr, i32, ptr, ptr, ptr, ptr, ptr)
;--- plain.ll
source_filename = "plain.cpp"
target triple = "x86_64-pc-linux-gnu"
define void @f() {
  ret void
}
