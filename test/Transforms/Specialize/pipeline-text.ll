; Every parameter prints and parses back.
; RUN: mneme-pass-opt -disable-output -print-pipeline-passes %s \
; RUN:   -passes='mneme-specialize<kernel=k;arg0=42;arg3=0xff;value1@8=0aff;pointee2=01;pointee4@8=02;block=256;grid=4x2;range;no-constants;max-threads=512;min-blocks=2>' \
; RUN:   | FileCheck %s --match-full-lines
; RUN: mneme-pass-opt -disable-output -print-pipeline-passes %s -passes=mneme-specialize | FileCheck %s --match-full-lines --check-prefix=NONE
; CHECK: mneme-specialize<kernel=k;arg0=0x2a;arg3=0xff;value1@8=0aff;pointee2=01;pointee4@8=02;block=256x1x1;grid=4x2x1;range;no-constants;max-threads=512;min-blocks=2>{{.*}}
; NONE: mneme-specialize<>{{.*}}

; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-specialize<argx=1>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=argx=1
; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-specialize<arg0=abc>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=arg0=abc
; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-specialize<block=0x2>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=block=0x2
; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-specialize<grid=1x2x3x4>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=grid=1x2x3x4
; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-specialize<kernel=>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=kernel=
; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-specialize<max-threads=-1>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=max-threads=-1
; RUN: not mneme-pass-opt -disable-output %s -passes='mneme-specialize<fast>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=fast
; BAD: invalid mneme-specialize pass parameter '[[PARAM]]'

target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(i32 %x) { ret void }
