; RUN: mneme-pass-opt -passes=mneme-host-normalize -S %s | FileCheck %s
; CHECK: !mneme.error = !{![[E:[0-9]+]]}
; CHECK: ![[E]] = !{!"cannot lower a module for 'riscv64-unknown-linux': not NVPTX or AMDGPU code"}
target triple = "riscv64-unknown-linux"
define void @k() {
  ret void
}
