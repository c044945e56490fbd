// Host code without kernels: its calls of the runtime get hooks; code that does not
// call it comes out as it would without us.
// REQUIRES: cuda-toolkit, x86-registered-target
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -O2 -fpass-plugin=%mneme_pass -DCALL -I%cuda_path/include -S -emit-llvm %s -o - | FileCheck %s
// RUN: %clangxx -O2 -g -c %s -o %t/plain.o
// RUN: %clangxx -O2 -g -c -fpass-plugin=%mneme_pass %s -o %t/app.o
// RUN: cmp %t/plain.o %t/app.o

// CHECK-NOT: mneme_payload
// CHECK:     @mneme.hook.cudaFree = {{.*}} section "mneme_hooks"
// CHECK:     load ptr, ptr @mneme.hook.cudaFree

#ifdef CALL
#include <cuda_runtime_api.h>
int call() { return cudaFree(nullptr); }
#endif
int twice(int X) { return 2 * X; }
