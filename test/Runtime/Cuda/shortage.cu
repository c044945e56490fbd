// Calls for memory, files, sockets and threads that fail, one by one, while a program is
// recorded on a GPU: it ends as it does without Mneme, and what was recorded is whole. All
// of them, not a part: MNEME_TEST_EVERY=1.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 -I%mneme_src/include --cuda-device-only -emit-llvm -c %S/../Inputs/shortage.cu -o %t/app.bc
// RUN: %cuda_cc -O2 -I%mneme_src/include %S/../Inputs/shortage.cu -o %t/app
// RUN: %cc -shared -fPIC %S/../Inputs/fail-calls.c -o %t/fail-calls.so -ldl
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc
// RUN: %{gpu} %t/app | FileCheck %s --check-prefix=PLAIN
// PLAIN: right
// RUN: %{gpu} %python %S/../Inputs/shortage.py failures %t/fail-calls.so libmneme_rt_%gpu_kind.so llvm-mneme-record --device=%gpu_kind -- %t/app | FileCheck %s
// CHECK: [[N:[0-9]+]] runs, [[N]] right, {{[0-9]+}} with skipped launches

// Limits of the memory that the program may have. The emulated driver is a part of it.
// RUN: %{gpu} %python %S/../Inputs/shortage.py limits llvm-mneme-record --device=%gpu_kind --any-executable -- %t/app | FileCheck %s --check-prefix=LIMITS
// LIMITS: {{[0-9]+}} runs
