// Memory of the host device, by itself: no launcher is needed until a kernel is.
//
// REQUIRES: cuda-toolkit
// RUN: %cuda_cc %s -o %t -lpthread
// RUN: env LD_PRELOAD=%mneme_rt %t | FileCheck %s
// RUN: %cuda_cc_static %s -o %t.static %cuda_static_libs
// RUN: env LD_PRELOAD=%mneme_rt %t.static | FileCheck %s
// RUN: %cuda_cc -DCUDA_API_PER_THREAD_DEFAULT_STREAM %s -o %t.ptds
// RUN: env LD_PRELOAD=%mneme_rt %t.ptds | FileCheck %s
// Without instrumentation the symbols of the shared runtime are enough.
// RUN: %cuda_cc_plain %s -o %t.plain -lcudart
// RUN: env LD_PRELOAD=%mneme_rt %t.plain | FileCheck %s

#include "Inputs/check.h"
#include <cuda_runtime.h>
#include <vector>

static void allocation() {
  char *P, *Q;
  OK(cudaMalloc(&P, 100));
  OK(cudaMalloc(&Q, 5000));
  CHECK(P != Q && (size_t)P % 256 == 0);
  OK(cudaFree(P));
  EXPECT(cudaErrorInvalidValue, cudaFree(P)); // Twice.
  EXPECT(cudaErrorInvalidValue, cudaFree(Q + 1));
  EXPECT(cudaErrorInvalidValue, cudaFreeHost(Q)); // Of another kind.
  EXPECT(cudaErrorInvalidValue, cudaGetLastError());
  OK(cudaGetLastError());
  OK(cudaFree(Q));
  OK(cudaFree(nullptr));
  OK(cudaMalloc(&P, 0));
  CHECK(!P);
  EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&P, (size_t)1 << 60));
  EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&P, SIZE_MAX));
  EXPECT(cudaErrorInvalidValue, cudaMalloc((void **)nullptr, 1));
  cudaGetLastError();

  size_t Free, Total, Before;
  OK(cudaMemGetInfo(&Before, &Total));
  OK(cudaMalloc(&P, 1 << 20));
  OK(cudaMemGetInfo(&Free, &Total));
  CHECK(Before - Free == 1 << 20 && Free < Total);
  OK(cudaFree(P));
}

static void copies() {
  int *D, *E, H[100], Back[100];
  for (int I = 0; I < 100; ++I)
    H[I] = I;
  OK(cudaMalloc(&D, sizeof(H)));
  OK(cudaMalloc(&E, sizeof(H)));
  OK(cudaMemcpy(D, H, sizeof(H), cudaMemcpyHostToDevice));
  OK(cudaMemcpyAsync(E, D, sizeof(H), cudaMemcpyDeviceToDevice));
  OK(cudaMemcpy(Back, E, sizeof(H), cudaMemcpyDefault));
  CHECK(!memcmp(H, Back, sizeof(H)));
  OK(cudaMemset(D, 0xff, 8));
  OK(cudaMemcpy(Back, D, sizeof(H), cudaMemcpyDeviceToHost));
  CHECK(Back[0] == -1 && Back[1] == -1 && Back[2] == 2);
  OK(cudaMemcpyPeer(E, 0, D, 0, 4));
  OK(cudaMemcpy(Back, E, 4, cudaMemcpyDeviceToHost));
  CHECK(Back[0] == -1);

  // LULESH copies from null and wants to be told.
  EXPECT(cudaErrorInvalidValue, cudaMemcpy(D, nullptr, 4, cudaMemcpyHostToDevice));
  EXPECT(cudaErrorInvalidValue, cudaMemcpy(nullptr, D, 4, cudaMemcpyDeviceToHost));
  EXPECT(cudaErrorInvalidValue, cudaMemcpy(D, H, sizeof(H) + 1, cudaMemcpyHostToDevice));
  EXPECT(cudaErrorInvalidValue, cudaMemcpy(H, Back, 4, cudaMemcpyHostToDevice));
  EXPECT(cudaErrorInvalidValue, cudaMemcpy(Back, H, 4, cudaMemcpyDeviceToHost));
  EXPECT(cudaErrorInvalidMemcpyDirection, cudaMemcpy(D, H, 4, (cudaMemcpyKind)7));
  EXPECT(cudaErrorInvalidValue, cudaMemset(D, 0, sizeof(H) + 1));
  EXPECT(cudaErrorInvalidValue, cudaMemset(H, 0, 4));
  OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault));
  OK(cudaFree(D));
  EXPECT(cudaErrorInvalidValue, cudaMemcpy(D, H, 4, cudaMemcpyHostToDevice));
  OK(cudaFree(E));
  cudaGetLastError();
}

static void boxes() {
  // A 5x7 piece of a pitched array, and a 3x2x2 box.
  const size_t W = 40, H = 9;
  std::vector<unsigned char> Src(W * H), Dst(W * H, 0);
  for (size_t I = 0; I < Src.size(); ++I)
    Src[I] = I % 251;
  char *D;
  size_t Pitch;
  OK(cudaMallocPitch(&D, &Pitch, W, H));
  CHECK(Pitch >= W && Pitch % 512 == 0);
  OK(cudaMemset2D(D, Pitch, 9, W, H));
  OK(cudaMemcpy2D(D + Pitch + 2, Pitch, Src.data(), W, 5, 7, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2D(Dst.data(), W, D, Pitch, W, H, cudaMemcpyDeviceToHost));
  for (size_t Y = 0; Y < H; ++Y)
    for (size_t X = 0; X < W; ++X) {
      bool In = Y >= 1 && Y < 8 && X >= 2 && X < 7;
      CHECK(Dst[Y * W + X] == (In ? Src[(Y - 1) * W + X - 2] : 9));
    }
  EXPECT(cudaErrorInvalidPitchValue,
         cudaMemcpy2D(D, 4, Src.data(), W, 5, 1, cudaMemcpyHostToDevice));
  cudaGetLastError();
  OK(cudaFree(D));

  cudaPitchedPtr P;
  cudaExtent Whole = make_cudaExtent(10, 4, 3);
  OK(cudaMalloc3D(&P, Whole));
  CHECK(P.xsize == 10 && P.ysize == 4);
  OK(cudaMemset3D(P, 1, Whole));
  unsigned char Box[10 * 4 * 3];
  for (size_t I = 0; I < sizeof(Box); ++I)
    Box[I] = 100 + I;
  cudaMemcpy3DParms C = {};
  C.srcPtr = make_cudaPitchedPtr(Box, 10, 10, 4);
  C.srcPos = make_cudaPos(1, 1, 1);
  C.dstPtr = P;
  C.dstPos = make_cudaPos(4, 2, 0);
  C.extent = make_cudaExtent(3, 2, 2);
  C.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&C));
  unsigned char All[10 * 4 * 3];
  cudaMemcpy3DParms B = {};
  B.srcPtr = P;
  B.dstPtr = make_cudaPitchedPtr(All, 10, 10, 4);
  B.extent = Whole;
  B.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3DAsync(&B));
  for (int Z = 0; Z < 3; ++Z)
    for (int Y = 0; Y < 4; ++Y)
      for (int X = 0; X < 10; ++X) {
        bool In = Z < 2 && Y >= 2 && X >= 4 && X < 7;
        int Want = In ? 100 + ((Z + 1) * 4 + Y - 1) * 10 + X - 3 : 1;
        CHECK(All[(Z * 4 + Y) * 10 + X] == Want);
      }
  EXPECT(cudaErrorInvalidValue, cudaMemcpy3D(nullptr));
  cudaGetLastError();
  OK(cudaFree(P.ptr));
}

static void hostAndManaged() {
  int *Pinned, *Managed, *Device, *FromHost, Plain;
  cudaPointerAttributes A;
  OK(cudaMallocHost(&Pinned, 4000));
  OK(cudaMallocManaged(&Managed, 4000));
  OK(cudaMalloc(&Device, 4000));
  Pinned[999] = 1; // The host uses both like its own.
  Managed[999] = 2;
  OK(cudaMemcpy(Device, Managed, 4000, cudaMemcpyDefault));
  OK(cudaMemPrefetchAsync(Managed, 4000, {cudaMemLocationTypeDevice, 0}, 0));
  OK(cudaMemAdvise(Managed, 4000, cudaMemAdviseSetReadMostly, {cudaMemLocationTypeDevice, 0}));
  OK(cudaHostGetDevicePointer(&FromHost, Pinned, 0));
  CHECK(FromHost == Pinned);
  EXPECT(cudaErrorInvalidValue, cudaHostGetDevicePointer(&FromHost, &Plain, 0));

  OK(cudaPointerGetAttributes(&A, Device + 5));
  CHECK(A.type == cudaMemoryTypeDevice && A.device == 0 && A.devicePointer == Device + 5 && !A.hostPointer);
  OK(cudaPointerGetAttributes(&A, Managed));
  CHECK(A.type == cudaMemoryTypeManaged && A.hostPointer == Managed);
  OK(cudaPointerGetAttributes(&A, Pinned));
  CHECK(A.type == cudaMemoryTypeHost && A.devicePointer == Pinned);
  OK(cudaPointerGetAttributes(&A, &Plain));
  CHECK(A.type == cudaMemoryTypeUnregistered);
  OK(cudaHostRegister(&Plain, sizeof(Plain), 0));
  EXPECT(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(&Plain, sizeof(Plain), 0));
  OK(cudaPointerGetAttributes(&A, &Plain));
  CHECK(A.type == cudaMemoryTypeHost);
  OK(cudaHostUnregister(&Plain));
  EXPECT(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(&Plain));
  OK(cudaFreeHost(Pinned));
  EXPECT(cudaErrorInvalidValue, cudaMallocManaged(&Managed, 0));
  cudaGetLastError();
  OK(cudaFree(Device));
}

static void pools() {
  cudaMemPool_t Pool;
  int *P;
  unsigned long long Threshold = 1ull << 40, Got = 0;
  OK(cudaDeviceGetDefaultMemPool(&Pool, 0));
  OK(cudaMemPoolSetAttribute(Pool, cudaMemPoolAttrReleaseThreshold, &Threshold));
  OK(cudaMemPoolGetAttribute(Pool, cudaMemPoolAttrReleaseThreshold, &Got));
  CHECK(Got == Threshold);
  OK(cudaMallocAsync(&P, 100, 0));
  OK(cudaFreeAsync(P, 0));
  cudaMemPoolProps Props = {};
  OK(cudaMemPoolCreate(&Pool, &Props));
  OK(cudaMallocFromPoolAsync(&P, 100, Pool, 0));
  OK(cudaMemset(P, 0, 100));
  OK(cudaFreeAsync(P, 0));
  OK(cudaMemPoolTrimTo(Pool, 0));
  OK(cudaMemPoolDestroy(Pool));
}

int main() {
  allocation();
  copies();
  boxes();
  hostAndManaged();
  pools();
  // CHECK: all as it should be
  printf("all as it should be\n");
}
