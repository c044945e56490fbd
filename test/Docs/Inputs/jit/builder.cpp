#include <cstdio>
#include <mneme/jit_builder.h>

int main() {
  int Size = 3; // A constant in the code.
  mneme::builder::Module M(mneme::jit_target::host);
  auto &F = M.addFunction<double(double *)>("sum");
  F.beginFunction();
  auto &X = F.getArg<0>();
  auto Sum = F.defVar<double>(0);
  auto I = F.defVar<int>(0), One = F.defVar<int>(1);
  auto N = F.defRuntimeConst(Size);
  F.beginFor(I, I, N, One);
  Sum += X[I];
  F.endFor();
  F.ret(Sum);
  F.endFunction();

  double Data[] = {1, 2, 4};
  double Result = F(Data);
  if (!M.error().empty())
    return std::printf("%s", M.error().c_str());
  std::printf("%g\n", Result);
}
