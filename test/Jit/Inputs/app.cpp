// app N...: prints twice each number, by a function that the JIT compiles.
#include <cstdio>
#include <cstdlib>
#include <mneme/jit.h>

__attribute__((noinline, annotate("jit", 1))) int twice(int N, int *Calls) {
  ++*Calls;
  return 2 * N;
}

int main(int Argc, char **Argv) {
  int Calls = 0;
  for (int I = 1; I < Argc; ++I)
    printf("%d\n", twice(atoi(Argv[I]), &Calls));
  return Calls != Argc - 1;
}
