// Calls for memory, files, sockets and threads that fail, one by one, while a program is
// recorded on the host device: it ends as it would, or is told by the call that needed the
// memory, and what was recorded is whole. All of them, not a part: MNEME_TEST_EVERY=1.
//
// A sanitizer's allocator is not the C library's.
// UNSUPPORTED: sanitizer
// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 -I%mneme_src/include %S/Inputs/shortage.cu -o %t/app
// RUN: %cc -shared -fPIC %S/Inputs/fail-calls.c -o %t/fail-calls.so -ldl
// RUN: %python %S/Inputs/shortage.py failures %t/fail-calls.so libmneme_rt.so llvm-mneme-record --device=host -- %t/app | FileCheck %s
// CHECK: {{[0-9]+}} runs, {{[0-9]+}} right, {{[0-9]+}} with skipped launches, {{[0-9]+}} that said so

// Limits of the memory that the program may have.
// RUN: %python %S/Inputs/shortage.py limits llvm-mneme-record --device=host --any-executable -- %t/app | FileCheck %s --check-prefix=LIMITS
// LIMITS: {{[0-9]+}} runs
