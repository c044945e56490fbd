; Intrinsics and inline PTX that access textures and surfaces call the executor.
;
; RUN: mneme-pass-opt -S -passes=mneme-host-asm %s | FileCheck %s

target triple = "nvptx64-nvidia-cuda"

; CHECK-LABEL: @intrinsics
define ptx_kernel void @intrinsics(i64 %t, ptr %p) {
; CHECK: call { i64, i64 } @__mneme_host_texture(i64 %t, i32 2, i32 1065353216, i32 1073741824, i32 0, i32 0,
  %a = call { float, float, float, float } @llvm.nvvm.tex.unified.2d.v4f32.f32(i64 %t, float 1.0, float 2.0)
; CHECK: call { i64, i64 } @__mneme_host_texture(i64 %t, i32 42, i32 1065353216, i32 1073741824, i32 0, i32 3, i32 1056964608,
  %b = call { i32, i32, i32, i32 } @llvm.nvvm.tex.unified.2d.array.level.v4s32.f32(i64 %t, i32 3, float 1.0, float 2.0, float 0.5)
; CHECK: call { i64, i64 } @__mneme_host_texture(i64 %t, i32 17, i32 1, i32 0, i32 0, i32 0,
  %c = call { float, float, float, float } @llvm.nvvm.tex.unified.1d.v4f32.s32(i64 %t, i32 1)
; CHECK: call { i64, i64 } @__mneme_host_texture(i64 %t, i32 386, i32 1065353216, i32 1073741824,
  %d = call { float, float, float, float } @llvm.nvvm.tld4.unified.g.2d.v4f32.f32(i64 %t, float 1.0, float 2.0)
; CHECK: call { i64, i64 } @__mneme_host_texture(i64 %t, i32 642, i32 1065353216, i32 1073741824,
  %h = call { float, float, float, float } @llvm.nvvm.tld4.unified.b.2d.v4f32.f32(i64 %t, float 1.0, float 2.0)
; CHECK: call { i64, i64 } @__mneme_host_surface_read(i64 %t, i32 34834, i32 1, i32 2, i32 0, i32 0)
  %e = call { i16, i16 } @llvm.nvvm.suld.2d.v2i8.clamp(i64 %t, i32 1, i32 2)
; CHECK: call { i64, i64 } @__mneme_host_texture(i64 %t, i32 67, i32 1065353216, i32 1073741824, i32 1077936128, i32 0, i32 1065353216, i32 1073741824, i32 1077936128, i32 0, i32 0, i32 1082130432)
  %g = call { float, float, float, float } @llvm.nvvm.tex.unified.3d.grad.v4f32.f32(i64 %t, float 1.0, float 2.0, float 3.0, float 1.0, float 2.0, float 3.0, float 0.0, float 0.0, float 4.0)
; CHECK: call void @__mneme_host_surface_write(i64 %t, i32 16401, i32 1, i32 0, i32 0, i32 0, i64 12884901890, i64 21474836484)
  call void @llvm.nvvm.sust.b.1d.v4i32.trap(i64 %t, i32 1, i32 2, i32 3, i32 4, i32 5)
  %x = extractvalue { float, float, float, float } %a, 0
  store float %x, ptr %p
  ret void
}

; CHECK-LABEL: @assembly
define ptx_kernel void @assembly(i64 %t, ptr %p) {
; CHECK: call { i64, i64 } @__mneme_host_texture(i64 %t, i32 4, i32 1065353216,
  %a = call { float, float, float, float } asm "tex.cube.v4.f32.f32 {$0, $1, $2, $3}, [$4, {$5, $6, $7, $7}];", "=f,=f,=f,=f,l,f,f,f"(i64 %t, float 1.0, float 2.0, float 3.0)
; CHECK: call i32 @__mneme_host_texture_query(i64 %t, i32 1)
  %b = call i32 asm "txq.height.b32 $0, [$1];", "=r,l"(i64 %t)
; Offsets are not supported.
; CHECK-COUNT-3: call void @__mneme_host_unsupported
  %c = call { float, float, float, float } asm "tex.level.2d.v4.f32.f32 {$0, $1, $2, $3}, [$4, {$5, $5}], $5, {$6, $6};", "=f,=f,=f,=f,l,f,r"(i64 %t, float 1.0, i32 1)
  %d = call { float, float, float, float } asm "tex.grad.1d.v4.f32.f32 {$0, $1, $2, $3}, [$4, {$5}], {$5}, {$5}, {$6};", "=f,=f,=f,=f,l,f,r"(i64 %t, float 1.0, i32 1)
  %e = call { float, float, float, float } asm "tex.grad.1d.v4.f32.f32 {$0, $1, $2, $3}, [$4, {$5}], {$5};", "=f,=f,=f,=f,l,f"(i64 %t, float 1.0)
; Formatted stores convert.
; CHECK: call void @__mneme_host_unsupported
  call void asm sideeffect "sust.p.1d.b32.trap [$0, {$1}], {$2};", "l,r,r"(i64 %t, i32 1, i32 2)
  %x = extractvalue { float, float, float, float } %a, 0
  store float %x, ptr %p
  store i32 %b, ptr %p
  ret void
}
