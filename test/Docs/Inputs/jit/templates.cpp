#include <cstdio>
#include <mneme/jit_module.h>

int main() {
  mneme::jit_module M(mneme::jit_target::host, R"(
    template <int N> double power(double X) {
      double R = 1;
      for (int I = 0; I < N; ++I)
        R *= X;
      return R;
    })");
  auto &Cube = M.instantiate("power", "3");
  double Result = Cube.call<double>(2.0);
  if (!M.error().empty())
    return std::printf("%s", M.error().c_str());
  std::printf("%g\n", Result);
}
