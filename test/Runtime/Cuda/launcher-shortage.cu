// A launcher that runs out of memory says so once, and the application ends as it would:
// the exit code tells.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 -I%mneme_src/include --cuda-device-only -emit-llvm -c %S/../Inputs/shortage.cu -o %t/app.bc
// RUN: %cuda_cc -O2 -I%mneme_src/include %S/../Inputs/shortage.cu -o %t/app
// RUN: %cc -shared -fPIC %S/../Inputs/fail-calls.c -o %t/fail-calls.so -ldl
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc %python %S/../Inputs/shortage.py launcher %t/fail-calls.so llvm-mneme-record --device=%gpu_kind \
// RUN:   -- %t/app | FileCheck %s
// CHECK: {{[0-9]+}} that went on
