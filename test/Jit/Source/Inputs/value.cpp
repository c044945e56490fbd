/// Prints what an instance returns: value TEXT OPTIONS. The text defines value().
#include <cstdio>
#include <mneme/jit_module.h>

int main(int argc, char **argv) {
  mneme::jit_module M(mneme::jit_target::host, std::string(argv[1]) + "\ntemplate <int N> int get() { return value(); }",
                      {argv + 2, argv + argc});
  std::printf("%d\n", M.instantiate("get", "1").call<int>());
  std::fputs(M.error().c_str(), stdout);
}
