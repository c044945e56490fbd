// What a program wanted that has ended gives way to others, and leaves no
// temporary files.
//
// RUN: rm -rf %t && mkdir %t && rm -rf %servers/abandoned && mkdir %servers/abandoned && cd %t && mkdir tmp && mkfifo number
// RUN: %source_cxx %s -o app
// RUN: printf '#!/bin/sh\nexec llvm-mneme-jitd --jobs=1 "$1" "$3" "$4"\n' > server && chmod +x server
// RUN: env MNEME_JIT_CACHE=none MNEME_JIT_IDLE=1 MNEME_JIT_SERVER=%t/server XDG_RUNTIME_DIR=%servers/abandoned TMPDIR=%t/tmp ./app \
// RUN:   | FileCheck %s --match-full-lines
// CHECK:      3
// CHECK-NEXT: canceled
// CHECK-NEXT: no file

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <glob.h>
#include <mneme/jit_module.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

static int get(const char *Name, const char *Code) {
  mneme::jit_module M(mneme::jit_target::host, Code);
  int Result = M.instance(Name).call<int>();
  std::fputs(M.error().c_str(), stdout);
  return Result;
}

int main() {
  pid_t Pid = fork();
  if (!Pid)
    _exit(get("get<\n#include \"number\"\n>",
              "template <int N> int get() { return N; }"));
  // The front end waits for a writer.
  int Fd = open("number", O_WRONLY);
  kill(Pid, SIGKILL);
  waitpid(Pid, nullptr, 0);
  std::printf("%d\n", get("get<3>", "template <int N> int get() { return N + 0; }"));
  pollfd End = {Fd, 0, 0};
  constexpr int Limit = 60'000;
  std::puts(poll(&End, 1, Limit) == 1 ? "canceled" : "still compiled");
  glob_t Files;
  std::puts(glob("tmp/*/module.cpp", 0, nullptr, &Files) == GLOB_NOMATCH
                ? "no file"
                : Files.gl_pathv[0]);
}
