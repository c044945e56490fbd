; Where a kernel is marked already, no other becomes one.
; RUN: mneme-pass-opt -passes=mneme-host-normalize -S %s | FileCheck %s
target triple = "nvptx64-nvidia-cuda"

; CHECK: define void @asked() #[[ASKED:[0-9]+]]
define ptx_kernel void @asked() "mneme-kernel" {
  ret void
}
; CHECK: define void @other() #[[OTHER:[0-9]+]]
define ptx_kernel void @other() {
  ret void
}
; CHECK: attributes #[[ASKED]] = { {{.*}}"mneme-kernel"
; CHECK: attributes #[[OTHER]] =
; CHECK-NOT: "mneme-kernel"
