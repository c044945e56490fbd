// REQUIRES: clang, amdgpu-registered-target, device-host
//
// Dot products of bytes and of four bits, each operand signed or not, and a hardware register, which is 0 here.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC %S/../../Instrument/Inputs/minihip.cpp -o %t/libamdhip64.so
// RUN: %hip_cc --offload-arch=gfx1100 -O2 %s -o %t/app -L%t -lamdhip64 -Wl,-rpath,%t -Wl,--unresolved-symbols=ignore-all
// RUN: llvm-mneme-record --device=host --no-record -- %t/app | FileCheck %s

// CHECK:      bytes: 12 -500 65804 780
// CHECK-NEXT: nibbles: 14 222 -18 -2
// CHECK-NEXT: overflow: -2147483648, clamped: 2147483647
// CHECK-NEXT: register: 0

extern "C" int printf(const char *, ...);

__global__ void dots(const int *In, int *Out) {
  int A = In[0], B = In[1], C = In[2], D = In[3], Max = In[4];
  Out[0] = __builtin_amdgcn_sudot4(true, A, true, B, 10, false);
  Out[1] = __builtin_amdgcn_sudot4(true, B, false, A, 10, false);
  Out[2] = __builtin_amdgcn_sudot4(false, A, false, B, 10, false);
  Out[3] = __builtin_amdgcn_sudot4(true, A, false, B, 10, false);
  Out[4] = __builtin_amdgcn_sudot8(true, C, true, D, 5, false);
  Out[5] = __builtin_amdgcn_sudot8(false, C, false, D, 5, false);
  Out[6] = __builtin_amdgcn_sudot8(true, D, false, C, 5, false);
  Out[7] = __builtin_amdgcn_sudot8(false, D, true, C, 5, false);
  Out[8] = __builtin_amdgcn_sudot4(true, 1, true, 1, Max, false);
  Out[9] = __builtin_amdgcn_sudot4(true, 1, true, 1, Max, true);
  Out[10] = __builtin_amdgcn_s_getreg(0xf803);
}

int main() {
  int *In, *Out;
  hipMalloc((void **)&In, 5 * 4);
  hipMalloc((void **)&Out, 11 * 4);
  In[0] = 0x020304ff; // 2, 3, 4, -1 or 255
  In[1] = 0x0102fefe; // 1, 2, -2 or 254, -2 or 254
  In[2] = 0x0000021f; // 2, 1, -1 or 15
  In[3] = 0x0000031e; // 3, 1, -2 or 14
  In[4] = 0x7fffffff;
  dots<<<1, 1>>>(In, Out);
  hipDeviceSynchronize();
  printf("bytes: %d %d %d %d\n", Out[0], Out[1], Out[2], Out[3]);
  printf("nibbles: %d %d %d %d\n", Out[4], Out[5], Out[6], Out[7]);
  printf("overflow: %d, clamped: %d\n", Out[8], Out[9]);
  printf("register: %d\n", Out[10]);
}
