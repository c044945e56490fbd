// Textures and surfaces on a GPU: a recording has their elements and
// descriptions, and is replayed on the host device and on a GPU.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec %t.host
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.rec -- %t > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// CHECK: 3 12 21 104 5 | 2 3 4 5
// ERR: kernel '_Z9viaMemoryPyPf' is not recorded: its code uses textures or surfaces whose handles are not among its parameters
// ERR: 4 launches seen, 3 recorded, 1 skipped
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.rec %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec cuda:0 | FileCheck %s --check-prefix=REPLAY
// REPLAY: lookups grid 1: Match
// REPLAY-NEXT: plane grid 1: Match
// REPLAY-NEXT: surface grid 1: Match

// A recording of the host device, on a GPU: handles in memory are those of the
// host device.
// RUN: llvm-mneme-record --device=host -o %t.host -- %t | FileCheck %s
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.host %python %S/Inputs/replay-all.py llvm-mneme-replay %t.host cuda:0 | FileCheck %s --check-prefix=HOST
// HOST: lookups grid 1: Match
// HOST-NEXT: plane grid 1: Match
// HOST-NEXT: surface grid 1: Match
// HOST-NEXT: viaMemory grid 1: {{.*}}memory holds the handle of a texture or surface object, which is another one on a GPU: replay with --device=host

// Specialized code has no handle: each device has its own.
// RUN: rm -rf %t.surface && llvm-mneme-record --device=host -o %t.surface --kernel=surface -- %t
// RUN: llvm-mneme-replay --specialize --no-execute --output-ll=%t.ll %t.surface/*.json
// RUN: FileCheck %s --check-prefix=SPECIALIZED < %t.ll
// SPECIALIZED: asm "tex.2d.v4.f32.f32{{.*}}(i64 %1,
// SPECIALIZED: asm sideeffect "sust.b.2d.b32.trap{{.*}}(i64 %0,

#include "../Inputs/check.h"
#include <cuda_runtime.h>

using Texture = cudaTextureObject_t;
using Surface = cudaSurfaceObject_t;

struct Objects {
  int N;
  Texture Layers, Levels;
};

__global__ void lookups(Texture Linear, Objects O, float *Out) {
  Out[0] = tex1Dfetch<float>(Linear, O.N);
  Out[3] = tex2DLayered<float>(O.Layers, 1.5f, 0.5f, 1);
  Out[4] = tex2DLod<float>(O.Levels, 0.5f, 0.5f, 0.5f);
}

// A parameter that is handed on is one, too.
__device__ __noinline__ float lookUp(Texture T, float X, float Y) {
  return tex2D<float>(T, X, Y);
}

__global__ void plane(Texture T, float *Out) {
  Out[1] = lookUp(T, 2.5f, 1.5f);
  Out[2] = tex2D<float>(T, 1.5f, 2.5f);
}

__global__ void surface(Surface S, Texture T) {
  surf2Dwrite(tex2D<float>(T, threadIdx.x + 0.5f, 0) + 2, S, threadIdx.x * 4, 0);
}

__global__ void viaMemory(Texture *Handles, float *Out) {
  Out[5] = tex2D<float>(Handles[0], 0, 0);
}

static Texture make(cudaResourceDesc R, bool IsNormalized = false) {
  cudaTextureDesc D = {};
  D.addressMode[0] = D.addressMode[1] = D.addressMode[2] = cudaAddressModeClamp;
  D.readMode = cudaReadModeElementType;
  D.normalizedCoords = IsNormalized;
  D.mipmapFilterMode = cudaFilterModeLinear;
  D.maxMipmapLevelClamp = 8;
  Texture T;
  OK(cudaCreateTextureObject(&T, &R, &D, nullptr));
  return T;
}

static cudaResourceDesc ofArray(cudaArray_t A) {
  cudaResourceDesc R = {};
  R.resType = cudaResourceTypeArray;
  R.res.array.array = A;
  return R;
}

int main() {
  cudaChannelFormatDesc F = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  float Host[16], *Data, *Out;
  for (int I = 0; I != 16; ++I)
    Host[I] = I % 4 + 10 * (I / 4);
  OK(cudaMalloc(&Data, sizeof(Host)));
  OK(cudaMemcpy(Data, Host, sizeof(Host), cudaMemcpyHostToDevice));
  OK(cudaMalloc(&Out, 64));
  OK(cudaMemset(Out, 0, 64));

  cudaResourceDesc R = {};
  R.resType = cudaResourceTypeLinear;
  R.res.linear.devPtr = Data;
  R.res.linear.desc = F;
  R.res.linear.sizeInBytes = sizeof(Host);
  Texture Linear = make(R);

  cudaArray_t A, B, Layered, Level;
  OK(cudaMallocArray(&A, &F, 4, 4));
  OK(cudaMemcpy2DToArray(A, 0, 0, Host, 16, 16, 4, cudaMemcpyHostToDevice));
  Texture Plane = make(ofArray(A));

  float Two[8] = {0, 1, 2, 3, 103, 104, 105, 106};
  OK(cudaMalloc3DArray(&Layered, &F, make_cudaExtent(2, 2, 2), cudaArrayLayered));
  cudaMemcpy3DParms P = {};
  P.srcPtr = make_cudaPitchedPtr(Two, 8, 2, 2);
  P.dstArray = Layered;
  P.extent = make_cudaExtent(2, 2, 2);
  P.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&P));

  cudaMipmappedArray_t Mipmap;
  OK(cudaMallocMipmappedArray(&Mipmap, &F, make_cudaExtent(2, 2, 0), 2));
  float Zeros[4] = {}, Ten = 10;
  OK(cudaGetMipmappedArrayLevel(&Level, Mipmap, 0));
  OK(cudaMemcpy2DToArray(Level, 0, 0, Zeros, 8, 8, 2, cudaMemcpyHostToDevice));
  OK(cudaGetMipmappedArrayLevel(&Level, Mipmap, 1));
  OK(cudaMemcpy2DToArray(Level, 0, 0, &Ten, 4, 4, 1, cudaMemcpyHostToDevice));
  cudaResourceDesc M = {};
  M.resType = cudaResourceTypeMipmappedArray;
  M.res.mipmap.mipmap = Mipmap;

  lookups<<<1, 1>>>(Linear, {3, make(ofArray(Layered)), make(M, true)}, Out);
  plane<<<1, 1>>>(Plane, Out);

  Surface S;
  float Line[4] = {};
  OK(cudaMallocArray(&B, &F, 4, 1, cudaArraySurfaceLoadStore));
  OK(cudaMemcpy2DToArray(B, 0, 0, Line, 16, 16, 1, cudaMemcpyHostToDevice));
  cudaResourceDesc RB = ofArray(B);
  OK(cudaCreateSurfaceObject(&S, &RB));
  surface<<<1, 4>>>(S, Plane);

  Texture *Handles;
  OK(cudaMalloc(&Handles, sizeof(Plane)));
  OK(cudaMemcpy(Handles, &Plane, sizeof(Plane), cudaMemcpyHostToDevice));
  viaMemory<<<1, 1>>>(Handles, Out);

  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(Host, Out, 20, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy2DFromArray(Line, 16, B, 0, 0, 16, 1, cudaMemcpyDeviceToHost));
  printf("%g %g %g %g %g | %g %g %g %g\n", Host[0], Host[1], Host[2], Host[3],
         Host[4], Line[0], Line[1], Line[2], Line[3]);
  OK(cudaDestroySurfaceObject(S));
  OK(cudaDestroyTextureObject(Plane));
}
