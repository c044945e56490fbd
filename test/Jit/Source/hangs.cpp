// An instance that does not end keeps neither other instances nor other modules
// waiting, also if it is the first one.
//
// RUN: rm -rf %t && mkdir %t && cd %t && mkfifo number
// RUN: %source_cxx -pthread %s -o app
// RUN: env MNEME_JIT_CACHE=none ./app | FileCheck %s --match-full-lines
// CHECK:      instance 2
// CHECK-NEXT: module 3
// CHECK-NEXT: first 1

#include <cstdio>
#include <fcntl.h>
#include <mneme/jit_module.h>
#include <thread>
#include <unistd.h>

static const char *const Text = "template <int N> int get() { return N; }";

static int get(const char *Name, const char *Code = Text) {
  mneme::jit_module M(mneme::jit_target::host, Code);
  int Result = M.instance(Name).call<int>();
  std::fputs(M.error().c_str(), stdout);
  return Result;
}

int main() {
  int First = 0;
  // The front end waits for a writer.
  std::thread Hangs([&] { First = get("get<\n#include \"number\"\n>"); });
  int Fd = open("number", O_WRONLY);
  std::printf("instance %d\n", get("get<2>"));
  std::printf("module %d\n",
              get("get<3>", "template <int N> int get() { return N + 0; }"));
  if (write(Fd, "1\n", 2) != 2 || close(Fd))
    return 1;
  Hangs.join();
  std::printf("first %d\n", First);
}
