; RUN: mneme-pass-opt -S -passes=mneme-host-intrinsics %s | FileCheck %s

; Sites count up in program order, through all functions. The last operand but one of a barrier is 1 if it is aligned.

; CHECK-LABEL: define void @barriers(
; CHECK: call i64 @mneme.host.sync(i32 1, i32 0, i64 0, i64 0, i32 0, i32 1, i32 1)
; CHECK: %[[BAR:.*]] = zext i32 %n to i64
; CHECK: call i64 @mneme.host.sync(i32 1, i32 0, i64 %[[BAR]], i64 0, i32 64, i32 0, i32 2)
; CHECK: call i64 @mneme.host.sync(i32 2, i32 0, i64 1, i64 %{{.*}}, i32 0, i32 1, i32 3)
; CHECK: call i64 @mneme.host.sync(i32 2, i32 1,
; CHECK: call i64 @mneme.host.sync(i32 2, i32 2,
; CHECK: call i64 @mneme.host.sync(i32 3, i32 0, i64 4294967295,
; CHECK: ret void
define void @barriers(i32 %n, i1 %p) {
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  call void @llvm.nvvm.barrier.cta.sync.count(i32 %n, i32 64)
  %a = call i1 @llvm.nvvm.barrier.cta.red.and.aligned.all(i32 1, i1 %p)
  %b = call i1 @llvm.nvvm.barrier.cta.red.or.all(i32 1, i1 %p)
  %c = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.count(i32 1, i32 32, i1 %p)
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  ret void
}

; CHECK-LABEL: define i32 @exchange(
; CHECK: call i64 @mneme.host.sync(i32 4, i32 0, i64 %{{.*}}, i64 %{{.*}}, i32 1, i32 31, i32 7)
; CHECK: bitcast float %f to i32
; CHECK: call i64 @mneme.host.sync(i32 4, i32 2,
; CHECK: call i64 @mneme.host.sync(i32 4, i32 3,
; CHECK-NEXT: call i64 @mneme.host.sync2()
; CHECK: call i64 @mneme.host.sync(i32 4, i32 1, i64 -1,
define i32 @exchange(i32 %m, i32 %v, float %f) {
  %a = call i32 @llvm.nvvm.shfl.sync.up.i32(i32 %m, i32 %v, i32 1, i32 31)
  %b = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 %m, float %f, i32 1, i32 31)
  %c = call { i32, i1 } @llvm.nvvm.shfl.sync.idx.i32p(i32 %m, i32 %v, i32 0, i32 31)
  %d = call i32 @llvm.nvvm.shfl.down.i32(i32 %v, i32 1, i32 31)
  %e = extractvalue { i32, i1 } %c, 0
  %r = add i32 %a, %d
  %s = add i32 %r, %e
  ret i32 %s
}

; CHECK-LABEL: define void @collect(
; CHECK: @mneme.host.sync(i32 5, i32 0,
; CHECK: @mneme.host.sync(i32 5, i32 1,
; CHECK: @mneme.host.sync(i32 5, i32 2,
; CHECK: @mneme.host.sync(i32 5, i32 3,
; CHECK: @mneme.host.sync(i32 6, i32 0,
; CHECK: @mneme.host.sync(i32 6, i32 1,
; CHECK-NEXT: @mneme.host.sync2()
; CHECK: @mneme.host.sync(i32 7, i32 0, i64 -1,
; CHECK: @mneme.host.sync(i32 8, i32 0,
; CHECK: @mneme.host.sync(i32 8, i32 4,
; CHECK: call i32 @mneme_redux_encode(float %f, i32 2147483647)
; CHECK: @mneme.host.sync(i32 8, i32 1,
; CHECK: call float @mneme_redux_decode(
; CHECK: @mneme.host.sync(i32 100,
define void @collect(i32 %m, i32 %v, float %f, i1 %p) {
  %a = call i1 @llvm.nvvm.vote.any.sync(i32 %m, i1 %p)
  %b = call i1 @llvm.nvvm.vote.all.sync(i32 %m, i1 %p)
  %c = call i32 @llvm.nvvm.vote.ballot.sync(i32 %m, i1 %p)
  %d = call i1 @llvm.nvvm.vote.uni.sync(i32 %m, i1 %p)
  %e = call i32 @llvm.nvvm.match.any.sync.i32(i32 %m, i32 %v)
  %g = call { i32, i1 } @llvm.nvvm.match.all.sync.i32p(i32 %m, i32 %v)
  %h = call i32 @llvm.nvvm.activemask()
  %i = call i32 @llvm.nvvm.redux.sync.add(i32 %v, i32 %m)
  %j = call i32 @llvm.nvvm.redux.sync.umax(i32 %v, i32 %m)
  %k = call float @llvm.nvvm.redux.sync.fmin(float %f, i32 %m)
  call void @llvm.nvvm.exit()
  ret void
}
