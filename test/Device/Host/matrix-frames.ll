; RUN: mneme-pass-opt -S -passes=mneme-host-asm,mneme-host-intrinsics %s > %t.ll
; RUN: FileCheck %s < %t.ll
; RUN: FileCheck %s --check-prefix=NAMES < %t.ll

; Matrix instructions pass their registers in a frame, one for each function.

target triple = "nvptx64-nvidia-cuda"

; CHECK-LABEL: define { i32, i32 } @two(
; CHECK: %frame = alloca [144 x i8], align 16
; CHECK-NOT: alloca
; CHECK: %[[FRAME:.*]] = ptrtoint ptr %frame to i64
; CHECK: call i64 @mneme.host.sync(i32 9, i32 0, i64 -1, i64 %[[FRAME]], i32 0, i32 0, i32 1)
; CHECK: %[[FRAME:.*]] = ptrtoint ptr %frame to i64
; CHECK: call i64 @mneme.host.sync(i32 9, i32 0, i64 -1, i64 %[[FRAME]], i32 0, i32 0, i32 2)
; CHECK-NOT: mneme.host.frame
define { i32, i32 } @two(i32 %a, i32 %b) {
  %r = call { i32, i32 } @llvm.nvvm.mma.m8n8k16.row.col.s8(i32 %a, i32 %b, i32 0, i32 0)
  %x = extractvalue { i32, i32 } %r, 0
  %y = extractvalue { i32, i32 } %r, 1
  %s = call { i32, i32 } asm sideeffect "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {$0, $1}, {$2}, {$3}, {$4, $5};", "=r,=r,r,r,r,r"(i32 %a, i32 %b, i32 %x, i32 %y)
  ret { i32, i32 } %s
}

; Other shapes, types and register counts are refused by name.
; NAMES: @mneme.unsupported{{[0-9]*}} = {{.*}}c"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32
; NAMES: @mneme.unsupported{{[0-9]*}} = {{.*}}c"mma.sync.aligned.m8n8k16.col.col
; NAMES: @mneme.unsupported{{[0-9]*}} = {{.*}}c"mma.sync.aligned.m8n8k16.row.col.f32.s8
; NAMES: @mneme.unsupported{{[0-9]*}} = {{.*}}c"ldmatrix.sync.aligned.m8n16
; NAMES: @mneme.unsupported{{[0-9]*}} = {{.*}}c"cp.async.bulk.tensor
; CHECK-LABEL: define void @refused(
; CHECK-COUNT-5: call void @__mneme_host_unsupported(
define void @refused(i32 %a, ptr %p) {
  call { i32, i32 } asm sideeffect "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {$0, $1}, {$2}, {$2}, {$2, $2};", "=r,=r,r"(i32 %a)
  call { i32, i32 } asm sideeffect "mma.sync.aligned.m8n8k16.col.col.s32.s8.s8.s32 {$0, $1}, {$2}, {$2}, {$2, $2};", "=r,=r,r"(i32 %a)
  call { i32, i32 } asm sideeffect "mma.sync.aligned.m8n8k16.row.col.f32.s8.s8.f32 {$0, $1}, {$2}, {$2}, {$2, $2};", "=r,=r,r"(i32 %a)
  call i32 asm sideeffect "ldmatrix.sync.aligned.m8n16.x1.b8x16.b4x16_p64 {$0}, [$1];", "=r,l"(ptr %p)
  call void asm sideeffect "cp.async.bulk.tensor.1d.shared::cluster.global.tile [$0], [$0, {$1}], [$0];", "l,r"(ptr %p, i32 %a)
  ret void
}
