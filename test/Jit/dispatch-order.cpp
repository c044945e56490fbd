// The runtime writes a function's table before it publishes the pointer to it: a stub that reads the pointer acquires.
//
// RUN: %jit_cxx -O2 -S -emit-llvm %s -o - | FileCheck %s
// CHECK-LABEL: define {{.*}} @_Z3addii(
// CHECK: load atomic ptr, ptr @mneme.jit._Z3addii acquire, align 8

__attribute__((annotate("jit", 1))) int add(int N, int M) { return N + M; }
