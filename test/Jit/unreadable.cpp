// Contents that cannot be read: the call runs as compiled, and the program goes on.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %jit_cxx -O2 %s -o %t/app && %t/app | FileCheck %s
// RUN: %jit_run MNEME_JIT_REPORT=%t/report %t/app | FileCheck %s
// RUN: %jit_report %t/report sum | FileCheck %s --check-prefix=REPORT
// REPORT: 3 ran as compiled: the contents of an array or object cannot be read
// REPORT-NEXT: without contents that cannot be read: 1 served
// REPORT-NEXT: contents of arg 1 = {1, 2, 4}: 1 served

#include <cstdio>
#include <mneme/jit.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((annotate("jit"))) int sum(const int *P, int Count, int N) {
  mneme::jit_array(P, Count);
  int Sum = 0;
  for (int I = 0; I < N; ++I)
    Sum += P[I];
  return Sum;
}

int main() {
  size_t Page = sysconf(_SC_PAGESIZE);
  auto *Pages =
      static_cast<char *>(mmap(nullptr, 2 * Page, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(Pages + Page, Page, PROT_NONE);
  int *Last = reinterpret_cast<int *>(Pages + Page) - 3;
  Last[0] = 1;
  Last[1] = 2;
  Last[2] = 4;
  printf("%d\n", sum(reinterpret_cast<int *>(8), 5, 0));
  // CHECK: 0
  printf("%d\n", sum(Last, 1000, 3));
  // CHECK-NEXT: 7
  printf("%d\n", sum(Last + 3, 1, 0));
  // CHECK-NEXT: 0
  printf("%d\n", sum(nullptr, 1, 0));
  // CHECK-NEXT: 0
  printf("%d\n", sum(Last, 3, 3));
  // CHECK-NEXT: 7
}
