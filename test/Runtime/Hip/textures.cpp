// A kernel that reads a texture runs, and is not recorded: its descriptor is in memory of HIP.
// The others of the program are recorded.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -DEMULATED -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc llvm-mneme-record --device=hip -o %t/rec -- %t/app 2>&1 | FileCheck %s
// CHECK: 1 7
// CHECK: 2 launches seen, 1 recorded, 1 skipped
// CHECK-NEXT: 1 skipped: its code uses textures or surfaces, which are not recorded on AMD GPUs
// RUN: %python %S/../Cuda/Inputs/replay-all.py llvm-mneme-replay %t/rec | FileCheck %s --check-prefix=REPLAY
// REPLAY: add grid 1: Match
// REPLAY-NOT: {{.}}

#include "../Inputs/check.h"

__global__ void add(int *P) { ++*P; }


/// As tex2D() of HIP's headers, without a sampler.
__global__ void read(int *P, void *const *Texture) {
  P[1] = 7;
  // The emulated GPU has no textures.
#if defined(__HIP_DEVICE_COMPILE__) && !defined(EMULATED)
  if (Texture)
    P[1] += int(__builtin_amdgcn_image_load_2d_v4f32_i32(15, 0, 0, *reinterpret_cast<const __amdgpu_texture_t *>(Texture), 0, 0)[0]);
#endif
}

int main() {
  int *D, H[2];
  OK(cudaMalloc(&D, sizeof(H)));
  OK(cudaMemset(D, 0, sizeof(H)));
  add<<<1, 1>>>(D);
  read<<<1, 1>>>(D, nullptr);
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("%d %d\n", H[0], H[1]);
}
