// A process that runs the same program with the argument "child".
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

/// Waits for its end; it reads the bytes from standard input.
static void runChild(const char *Program, const void *Bytes, size_t Size) {
  int Pipe[2], Status;
  CHECK(pipe(Pipe) == 0 && write(Pipe[1], Bytes, Size) == ssize_t(Size));
  fflush(stdout);
  pid_t Child = fork();
  if (!Child) {
    dup2(Pipe[0], 0);
    execl("/proc/self/exe", Program, "child", nullptr);
    _exit(127);
  }
  CHECK(waitpid(Child, &Status, 0) == Child && !Status);
}
