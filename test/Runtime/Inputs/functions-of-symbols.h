// Launches add by <<<>>>, and by the function of its symbol: with pointers to its arguments, and with packed ones.
// Needs the type FUNCTION, LAUNCH(FUNCTION, BLOCKS, ARGS, EXTRA), and END, which ends EXTRA.
#include "check.h"

__global__ void add(int *P, int N) { P[blockIdx.x] += N; }

int main() {
  int *D, H[3] = {}, Five = 5;
  OK(cudaMalloc(&D, sizeof(H)));
  OK(cudaMemset(D, 0, sizeof(H)));
  add<<<1, 1>>>(D, 4);
  FUNCTION F;
  OK(cudaGetFuncBySymbol(&F, reinterpret_cast<const void *>(add)));
  void *Args[] = {&D, &Five};
  struct {
    int *P;
    int N;
  } Packed = {D, 6};
  size_t Size = 12;
  void *Extra[] = {(void *)1, &Packed, (void *)2, &Size, (void *)END};
  CHECK(!LAUNCH(F, 2, Args, nullptr));
  CHECK(!LAUNCH(F, 3, nullptr, Extra));
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("%d %d %d\n", H[0], H[1], H[2]);
}
