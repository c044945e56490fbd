import llvm_mneme as mneme
import numpy

module = mneme.compile(r"""
  extern "C" double sum(const double *X, int N) {
    double S = 0;
    for (int I = 0; I < N; ++I)
      S += X[I];
    return S;
  }
  template <int N> double power(double X) {
    double R = 1;
    for (int I = 0; I < N; ++I)
      R *= X;
    return R;
  }""")
total = module.function("sum", "double(const double *, int)")
print(total(numpy.array([1.0, 2.0, 4.0]), 3))

cube = module.instantiate("power", 3, signature="double(double)")
print(cube(2))

try:
    mneme.compile("int f() { return missing; }")
except mneme.CompileError as error:
    for diagnostic in error.diagnostics:
        print(diagnostic.severity, diagnostic.line, diagnostic.text)
