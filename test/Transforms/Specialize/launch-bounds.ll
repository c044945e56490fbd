; RUN: mneme-pass-opt -S %s -passes='mneme-specialize<max-threads=128;min-blocks=4>' | FileCheck %s
; The attributes are those that the code generators read.
; RUN: mneme-pass-opt %s -passes='mneme-specialize<kernel=nv;max-threads=128;min-blocks=4>' | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_90 \
; RUN:   | FileCheck %s --check-prefix=PTX

; CHECK: define ptx_kernel void @nv() #[[NV:[0-9]+]]
; PTX-LABEL: .entry nv()
; PTX-DAG: .maxntid 128
; PTX-DAG: .minnctapersm 4
define ptx_kernel void @nv() { ret void }
; An exact block size from the source gives way.
; CHECK: define ptx_kernel void @exact() #[[NV]]
define ptx_kernel void @exact() "nvvm.reqntid"="256" { ret void }
; CHECK: define void @function() {
define void @function() { ret void }
; CHECK: attributes #[[NV]] = { "nvvm.maxntid"="128" "nvvm.minctasm"="4" }
