; RUN: mneme-pass-opt -passes=mneme-host-shared -S %s | FileCheck %s
; CHECK: !"kernel 'k' has 300000 bytes of shared memory; there are 232448"
target triple = "x86_64-unknown-linux-gnu"
@s = internal addrspace(3) global [300000 x i8] undef
define void @k() "mneme-kernel" {
  store i8 1, ptr addrspace(3) @s
  ret void
}
