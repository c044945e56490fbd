// Annotated inline functions, templates, members and lambdas of a header, which two files call: they link at each level and with
// LTO, one copy is kept, and the JIT serves the calls of both files. A file may also be compiled without the plugin.
//
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{options} =
// DEFINE: %{check} = %jit_cxx -I%S/Inputs %{options} -DOTHER -c %s -o %t/b.o && \
// DEFINE:   %jit_cxx -I%S/Inputs %{options} -c %s -o %t/a.o && %jit_cxx %{options} %t/a.o %t/b.o -o %t/app && \
// DEFINE:   %jit_run MNEME_JIT_REPORT=%t/report %t/app | FileCheck %s && %jit_report %t/report | FileCheck %s --check-prefix=REPORT
// CHECK: 168 168
// REPORT: served=12 fell_back=0
// RUN: %{check}
// REDEFINE: %{options} = -O1
// RUN: %{check}
// REDEFINE: %{options} = -O2 -ffunction-sections -Wl,--gc-sections
// RUN: %{check}
// REDEFINE: %{options} = -O2 -flto -fuse-ld=lld
// RUN: %{check}
// REDEFINE: %{options} = -O2 -flto=thin -fuse-ld=lld
// RUN: %{check}
// RUN: %jit_cxx -I%S/Inputs -O2 -c %s -o %t/a.o
// RUN: %clangxx -std=c++17 -I%mneme_src/include -I%S/Inputs -O2 -DOTHER -c %s -o %t/b.o
// RUN: %jit_cxx %t/a.o %t/b.o -o %t/ab && %jit_run %t/ab | FileCheck %s
// RUN: %jit_cxx %t/b.o %t/a.o -o %t/ba && %jit_run %t/ba | FileCheck %s

#include "header.h"
#include <cstdio>

#ifdef OTHER
int other(int N) { return all(N); }
#else
int other(int);
int main() { printf("%d %d\n", all(4), other(4)); }
#endif
