; RUN: mneme-pass-opt -S -passes=mneme-host-intrinsics,verify %s | FileCheck %s

; Text of what has no meaning.
; CHECK: c"llvm.nvvm.wgmma.fence.sync.aligned\00"
; CHECK-NOT: @llvm.nvvm

; CHECK-LABEL: define float @arithmetic(
; CHECK: call float @mneme_nvvm_fma_rm_f(float %x, float %y, float %x)
; CHECK: call float @mneme_nvvm_ex2_approx_ftz_f32(
; CHECK: call float @llvm.fabs.f32(
define float @arithmetic(float %x, float %y) {
  %a = call float @llvm.nvvm.fma.rm.f(float %x, float %y, float %x)
  %b = call float @llvm.nvvm.ex2.approx.ftz.f32(float %a)
  %c = call float @llvm.nvvm.fabs.f32(float %b)
  ret float %c
}

; Half precision and packed values travel as integers.
; CHECK-LABEL: define <2 x half> @packed(
; CHECK: bitcast <2 x half> %x to i32
; CHECK: call i32 @mneme_nvvm_fma_rn_f16x2(i32
; CHECK: bitcast i32 %{{.*}} to <2 x half>
define <2 x half> @packed(<2 x half> %x) {
  %a = call <2 x half> @llvm.nvvm.fma.rn.f16x2(<2 x half> %x, <2 x half> %x, <2 x half> %x)
  ret <2 x half> %a
}

; Overloads of a pointer's address space are one function.
; CHECK-LABEL: define i32 @atomic(
; CHECK: call i32 @mneme_nvvm_atomic_add_gen_i_sys_i32(ptr {{.*}}%p, i32 1)
; CHECK: addrspacecast ptr addrspace(1) %q to ptr
; CHECK: call i32 @mneme_nvvm_atomic_add_gen_i_sys_i32(
define i32 @atomic(ptr %p, ptr addrspace(1) %q) {
  %a = call i32 @llvm.nvvm.atomic.add.gen.i.sys.i32.p0(ptr %p, i32 1)
  %b = call i32 @llvm.nvvm.atomic.add.gen.i.sys.i32.p1(ptr addrspace(1) %q, i32 %a)
  ret i32 %b
}

; CHECK-LABEL: define i32 @registers(
; CHECK: call i32 @mneme.host.tid.x()
; CHECK: call i32 @mneme.host.nctaid.z()
; CHECK: call i32 @mneme.host.warpid()
; CHECK: %[[LANE:.*]] = call i32 @mneme.host.laneid()
; CHECK: shl i32 1, %[[LANE]]
; CHECK: add i32 %{{.*}}, 32
define i32 @registers() {
  %a = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.z()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.warpid()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.lt()
  %w = call i32 @llvm.nvvm.read.ptx.sreg.warpsize()
  %e = add i32 %a, %b
  %f = add i32 %c, %d
  %g = add i32 %e, %f
  %h = add i32 %g, %w
  ret i32 %h
}

; CHECK-LABEL: define void @others(
; CHECK-NEXT: fence acq_rel
; CHECK: call void @__mneme_host_async_copy(i32 %{{.*}}, i32 0, ptr %{{.*}}, ptr %{{.*}}, i32 16, i32 16)
; CHECK: call void @__mneme_host_async_commit(
; CHECK: call void @__mneme_host_async_wait(i32 %{{.*}}, i32 0, i32 0)
; CHECK: call void @__mneme_host_unsupported(ptr @mneme.unsupported)
; CHECK-NEXT: call void @__mneme_host_trap()
; CHECK-NEXT: ret void
define void @others(ptr addrspace(3) %s, ptr addrspace(1) %g) {
  call void @llvm.nvvm.membar.cta()
  call void @llvm.nvvm.membar.gl()
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %s, ptr addrspace(1) %g)
  call void @llvm.nvvm.cp.async.wait.all()
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  call void @llvm.trap()
  ret void
}

; Only what is needed is linked, with no body that is the GPU's or a stranger's.
; CHECK: define internal {{.*}}@mneme_nvvm_
; CHECK-NOT: define {{.*}}@mneme_nvvm_add_
