// launch-image IMAGE KERNEL [IR]: registers IR for a code object, loads it, and launches
// KERNEL(int *P, int N), which adds N to P[i]: with pointers to its arguments, and with
// packed ones.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mneme/record.h>
#include <string>

extern "C" {
int hipModuleLoadData(void **, const void *);
int hipModuleGetFunction(void **, void *, const char *);
int hipModuleLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, unsigned, void *, void **, void **);
int hipMalloc(void **, size_t);
int hipMemset(void *, int, size_t);
int hipMemcpy(void *, const void *, size_t, int);
}

static void check(int E) {
  if (E)
    printf("error %d\n", E), exit(1);
}

static std::string read(const char *Path) {
  std::ifstream File(Path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(File)), {});
}

int main(int Argc, char **Argv) {
  std::string Image = read(Argv[1]);
  void *Module, *Function, *P;
  if (Argc > 3) {
    std::string IR = read(Argv[3]);
    printf("registered %d\n", mneme_register_ir(Image.data(), Image.size(), Argv[2],
                                                IR.data(), IR.size(), nullptr));
  }
  check(hipModuleLoadData(&Module, Image.c_str()));
  check(hipModuleGetFunction(&Function, Module, Argv[2]));
  int H[64] = {}, N = 7;
  check(hipMalloc(&P, sizeof(H)));
  check(hipMemset(P, 0, sizeof(H)));
  void *Args[] = {&P, &N};
  check(hipModuleLaunchKernel(Function, 2, 1, 1, 32, 1, 1, 0, nullptr, Args, nullptr));
  struct {
    void *P;
    int N;
  } Packed = {P, 10};
  size_t Size = 12;
  void *Extra[] = {(void *)1, &Packed, (void *)2, &Size, (void *)3};
  check(hipModuleLaunchKernel(Function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, Extra));
  check(hipMemcpy(H, P, sizeof(H), 2));
  printf("result %d %d\n", H[0], H[63]);
}
