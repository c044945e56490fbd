; RUN: mneme-pass-opt -S -passes=mneme-host-intrinsics,verify %s | FileCheck %s

target triple = "amdgcn-amd-amdhsa"

; CHECK-NOT: llvm.amdgcn

; CHECK-LABEL: define i32 @registers(
; CHECK: call i32 @mneme.host.tid.y()
; CHECK: call i32 @mneme.host.ctaid.x()
; CHECK: call ptr @mneme.host.implicitarg()
; CHECK: store i16 %{{.*}}, ptr
define i32 @registers() #0 {
  %a = call i32 @llvm.amdgcn.workitem.id.y()
  %b = call i32 @llvm.amdgcn.workgroup.id.x()
  %p = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %c = load i32, ptr addrspace(4) %p
  %q = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %d = load i32, ptr addrspace(4) %q
  %w = call i32 @llvm.amdgcn.wavefrontsize()
  %e = add i32 %a, %b
  %f = add i32 %c, %d
  %g = add i32 %e, %f
  %h = add i32 %g, %w
  ret i32 %h
}

; CHECK-LABEL: define i64 @wave(
; CHECK: call i64 @mneme.host.sync(i32 1, i32 0, i64 0,
; CHECK: call i64 @mneme.host.sync(i32 20,
; CHECK: icmp ult i32 %v, 7
; CHECK: call i64 @mneme.host.sync(i32 20,
; CHECK: call i64 @mneme.host.sync(i32 21, i32 0, i64 -1, i64 %{{.*}}, i32 %v,
; CHECK: call i64 @mneme.host.sync(i32 22,
; CHECK: call i64 @mneme.host.sync(i32 23, i32 0, i64 -1, i64 %{{.*}}, i32 5,
; The library's function is here already: its sync point is this call's own.
; CHECK: call i64 @mneme.host.sync(i32 21,
; CHECK-NOT: call {{.*}}@mneme_amdgcn_update_dpp
define i64 @wave(i32 %v, i1 %p, double %d) #0 {
  call void @llvm.amdgcn.s.barrier()
  %a = call i64 @llvm.amdgcn.ballot.i64(i1 %p)
  %b = call i64 @llvm.amdgcn.icmp.i64.i32(i32 %v, i32 7, i32 36)
  %c = call i32 @llvm.amdgcn.ds.bpermute(i32 %v, i32 %v)
  %e = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %v)
  %f = call double @llvm.amdgcn.readlane.f64(double %d, i32 5)
  %g = call i32 @llvm.amdgcn.update.dpp.i32(i32 0, i32 %v, i32 273, i32 15, i32 15, i1 true)
  %h = call i32 @llvm.amdgcn.ds.swizzle(i32 %g, i32 32784)
  %i = call i32 @llvm.amdgcn.ds.permute(i32 %h, i32 %v)
  %j = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 %i)
  %k = call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %j)
  %r = zext i32 %k to i64
  ret i64 %r
}

; CHECK-LABEL: define double @arithmetic(
; CHECK: call double @mneme_amdgcn_div_scale_f64_0(
; CHECK: call {{.*}}i1 @mneme_amdgcn_div_scale_f64_1(
; CHECK: call double @mneme_amdgcn_div_fmas_f64(
; CHECK: call double @mneme_amdgcn_div_fixup_f64(
; CHECK: call float @mneme_amdgcn_rcp_f32(
; CHECK: call {{.*}}i32 @mneme_amdgcn_frexp_exp_i32_f64(
; CHECK: call i32 @mneme_amdgcn_cvt_pkrtz(
define double @arithmetic(double %a, double %b, float %f) #0 {
  %s = call { double, i1 } @llvm.amdgcn.div.scale.f64(double %a, double %b, i1 true)
  %v = extractvalue { double, i1 } %s, 0
  %c = extractvalue { double, i1 } %s, 1
  %m = call double @llvm.amdgcn.div.fmas.f64(double %v, double %b, double %a, i1 %c)
  %x = call double @llvm.amdgcn.div.fixup.f64(double %m, double %b, double %a)
  %r = call float @llvm.amdgcn.rcp.f32(float %f)
  %e = call i32 @llvm.amdgcn.frexp.exp.i32.f64(double %x)
  %h = call <2 x half> @llvm.amdgcn.cvt.pkrtz(float %r, float %f)
  %i = bitcast <2 x half> %h to i32
  %j = add i32 %i, %e
  %k = sitofp i32 %j to double
  ret double %k
}

; The mask of active lanes has no other name in old device libraries.
; CHECK-LABEL: define i64 @active(
; CHECK: call i64 @mneme.host.sync(i32 20, i32 0, i64 -1, i64 1,
; CHECK: call i64 @mneme.host.sync(i32 20,
; CHECK: trunc i64 %{{.*}} to i32
; CHECK: %[[H:.*]] = call i64 @mneme.host.sync(i32 20,
; CHECK: lshr i64 %[[H]], 32
; CHECK: call void @__mneme_host_unsupported(
define i64 @active() #0 {
  %a = call i64 @llvm.read_register.i64(metadata !0)
  %b = call i32 @llvm.read_register.i32(metadata !1)
  %c = call i32 @llvm.read_register.i32(metadata !2)
  %d = call i32 @llvm.read_register.i32(metadata !3)
  %e = add i32 %b, %c
  %f = add i32 %e, %d
  %g = zext i32 %f to i64
  %h = add i64 %a, %g
  ret i64 %h
}

attributes #0 = { "mneme-wave-size"="64" }

!0 = !{!"exec"}
!1 = !{!"exec_lo"}
!2 = !{!"exec_hi"}
!3 = !{!"m0"}
