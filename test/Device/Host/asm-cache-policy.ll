; RUN: mneme-pass-opt -S -passes=mneme-host-asm %s | FileCheck %s

; The operand of a cache hint is a policy, and neither the bytes to read nor a mask.

target triple = "nvptx64-nvidia-cuda"

; CHECK-LABEL: @copy(
; CHECK: call void @__mneme_host_async_copy(i32 %{{.*}}, i32 0, ptr %{{.*}}, ptr %{{.*}}, i32 16, i32 16)
; CHECK-NOT: call {{.*}} asm
define void @copy(i32 %to, ptr %from) {
  call void asm sideeffect "{ .reg .b64 p; createpolicy.fractional.L2::evict_last.b64 p, 1.0; cp.async.cg.shared.global.L2::cache_hint [$0], [$1], 16, p; }", "r,l"(i32 %to, ptr %from)
  ret void
}

; A multicast has a mask of blocks.
; CHECK-LABEL: @multicast(
; CHECK: [[MASK:%.*]] = zext i16 %mask to i32
; CHECK: call void @__mneme_host_async_multicast(ptr %{{.*}}, ptr %from, i32 16, ptr %{{.*}}, i32 [[MASK]])
define void @multicast(i32 %to, ptr %from, i16 %mask) {
  call void asm sideeffect "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [$0], [$1], 16, [$0], $2;", "r,l,h"(i32 %to, ptr %from, i16 %mask)
  ret void
}
