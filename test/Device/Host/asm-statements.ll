; RUN: mneme-pass-opt -S -passes=mneme-host-asm %s | FileCheck %s

target triple = "nvptx64-nvidia-cuda"

; Carry chains.
; CHECK-LABEL: @carry(
; CHECK-DAG: %[[A:.*]] = zext i32 %a to i33
; CHECK-DAG: %[[B:.*]] = zext i32 %c to i33
; CHECK: %[[LOW:.*]] = add i33 %[[A]], %[[B]]
; CHECK: %[[OUT:.*]] = lshr i33 %[[LOW]], 32
; CHECK: %[[FLAG:.*]] = trunc i33 %[[OUT]] to i1
; CHECK: %[[IN:.*]] = zext i1 %[[FLAG]] to i33
; CHECK: add i33 %{{.*}}, %[[IN]]
; CHECK-NOT: call {{.*}} asm
define { i32, i32 } @carry(i32 %a, i32 %b, i32 %c, i32 %d) {
  %r = call { i32, i32 } asm "add.cc.u32 $0, $2, $4; addc.u32 $1, $3, $5;", "=r,=r,r,r,r,r"(i32 %a, i32 %b, i32 %c, i32 %d)
  ret { i32, i32 } %r
}

; A predicated instruction is a branch; what is not written keeps its value.
; CHECK-LABEL: @predicated(
; CHECK: %[[P:.*]] = icmp slt i32 %a, 10
; CHECK: br i1 %[[P]]
; CHECK: store volatile i32 %a, ptr
; CHECK: phi i32 {{.*}}[ 7,
; CHECK-NOT: call {{.*}} asm
define i32 @predicated(i32 %a, ptr %p) {
  %r = call i32 asm sideeffect "{ .reg .pred p; setp.lt.s32 p, $1, 10; mov.u32 $0, 7; @p st.volatile.global.u32 [$2+4], $1; @p add.s32 $0, $1, 1; }", "=r,r,l,~{memory}"(i32 %a, ptr %p)
  ret i32 %r
}

; Loops, declarations of many registers, comments, immediates of every form.
; CHECK-LABEL: @loop(
; CHECK: call float @mneme_nvvm_mul_rn_f(float %{{.*}}, float 1.500000e+00)
; CHECK: br i1
; CHECK-NOT: call {{.*}} asm
define float @loop(float %x, i32 %n) {
  %r = call float asm "{\0A .reg .u32 r<3>; // counters\0A .reg .pred %p1;\0A .reg .f32 f; mov.f32 f, $1;\0A mov.u32 r1, $2;\0A/* here */ again:\0A mul.f32 f, f, 0f3FC00000;\0A sub.u32 r1, r1, 0x1U;\0A setp.ne.u32 %p1, r1, 0;\0A @%p1 bra again;\0A mov.f32 $0, f;\0A}", "=f,f,r"(float %x, i32 %n)
  ret float %r
}

; An operand that is read and written; an empty asm passes its value.
; CHECK-LABEL: @tied(
; CHECK: %[[WIDE:.*]] = add i33 %{{.*}}, 5
; CHECK: %[[A:.*]] = trunc i33 %[[WIDE]] to i32
; CHECK: ret i32 %[[A]]
define i32 @tied(i32 %x) {
  %a = call i32 asm "add.s32 $0, $0, 5;", "=r,0"(i32 %x)
  %b = call i32 asm "", "=r,0"(i32 %a)
  %c = call i32 asm "; a comment of another assembler", "=r,0"(i32 %b)
  ret i32 %c
}

; Special registers and synchronization become intrinsics for the next pass.
; CHECK-LABEL: @special(
; CHECK: call i32 @llvm.nvvm.read.ptx.sreg.laneid()
; CHECK: call { i32, i1 } @llvm.nvvm.shfl.sync.idx.i32p(i32 -1, i32 %{{.*}}, i32 3, i32 31)
; CHECK: call void @llvm.nvvm.barrier.cta.sync.all(i32 0)
; CHECK-NOT: call {{.*}} asm
define i32 @special() {
  %lane = call i32 asm "mov.u32 $0, %laneid;", "=r"()
  %r = call i32 asm sideeffect "{ .reg .pred p; shfl.sync.idx.b32 $0|p, $1, 3, 31, -1; }", "=r,r"(i32 %lane)
  call void asm sideeffect "bar.sync 0;", "~{memory}"()
  ret i32 %r
}

; Packing, vectors of memory.
; CHECK-LABEL: @vectors(
; CHECK: load i32, ptr %p, align 4
; CHECK: getelementptr i8, ptr %p, i32 4
; CHECK: shl i64 %{{.*}}, 32
; CHECK-NOT: call {{.*}} asm
define i64 @vectors(ptr %p) {
  %r = call { i32, i32 } asm "ld.global.v2.u32 {$0, $1}, [$2];", "=r,=r,l"(ptr %p)
  %a = extractvalue { i32, i32 } %r, 0
  %b = extractvalue { i32, i32 } %r, 1
  %q = call i64 asm "mov.b64 $0, {$1, $2};", "=l,r,r"(i32 %a, i32 %b)
  ret i64 %q
}

; What is not known is named, and raised when it is reached; nothing else is emitted.
; CHECK-LABEL: @unknown(
; CHECK-NEXT: call void @__mneme_host_unsupported(ptr @[[TEXT:.*]])
; CHECK-NEXT: ret i32 0
define i32 @unknown(i32 %x) {
  %r = call i32 asm "add.s32 $0, $1, 1; frobnicate.b32 $0, $1;", "=r,r"(i32 %x)
  ret i32 %r
}
; CHECK-LABEL: @malformed(
; CHECK-COUNT-5: call void @__mneme_host_unsupported(
define void @malformed(i32 %x) {
  call void asm sideeffect "add.s32 r, , ;", "r"(i32 %x)
  call void asm sideeffect "{ bar.sync 0;", ""()
  call void asm sideeffect "st.u32 [$0, 1;", "r"(i32 %x)
  call void asm sideeffect "{ .reg .u32 t; ld.u32 t, [!$0]; }", "r"(i32 %x)
  call void asm sideeffect "add.s32 undeclared, $0, 0q;", "r"(i32 %x)
  ret void
}
