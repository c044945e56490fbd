; For AMD GPUs, the slots are visible as clang's variables are. HIP's objects for special registers, constants, LDS
; and LLVM's own variables stay.
; RUN: mneme-pass-opt --passes=mneme-deployable -S %s | FileCheck %s

target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"

; CHECK-NOT: @counter
; CHECK: @factor = protected addrspace(4) externally_initialized constant i32 0, align 4
; CHECK-NEXT: @_ZN17__HIP_CoordinatesI13ReadThreadIdxE1xE = linkonce_odr protected addrspace(4) externally_initialized constant
; CHECK-NEXT: @__oclc_ABI_version = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i32 600
; CHECK-NEXT: @tile = internal addrspace(3) global
; CHECK-NEXT: @__mneme_variables = protected addrspace(4) externally_initialized global [1 x ptr addrspace(1)] zeroinitializer, align 8
@counter = protected addrspace(1) externally_initialized global i32 7, align 4
@factor = protected addrspace(4) externally_initialized constant i32 3, align 4
@_ZN17__HIP_CoordinatesI13ReadThreadIdxE1xE = linkonce_odr protected addrspace(4) externally_initialized constant i8 0
@__oclc_ABI_version = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i32 600
@tile = internal addrspace(3) global [64 x i32] poison, align 4

; CHECK-LABEL: define amdgpu_kernel void @kernel(
; CHECK: [[SLOT:%.*]] = load ptr addrspace(1), ptr addrspace(4) @__mneme_variables, align 8, !invariant.load
; CHECK: [[COUNTER:%.*]] = addrspacecast ptr addrspace(1) [[SLOT]] to ptr
; CHECK: store i32 %f, ptr [[COUNTER]]
define amdgpu_kernel void @kernel() {
  %f = load i32, ptr addrspace(4) @factor
  store i32 %f, ptr addrspacecast (ptr addrspace(1) @counter to ptr)
  store i32 %f, ptr addrspace(3) @tile
  ret void
}
; CHECK: !mneme.slots = !{![[LIST:[0-9]+]]}
; CHECK: ![[LIST]] = !{!"counter", i64 4}
