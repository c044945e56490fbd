// Textures and surfaces on the host device: what the lookups give, and that
// kernels with them are recorded and replayed, wherever they find the handles.
//
// REQUIRES: cuda-toolkit
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec
// RUN: llvm-mneme-record --device=host -o %t.rec -- %t > %t.out 2> %t.err
// RUN: FileCheck %s < %t.out
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// CHECK: all as it should be
// ERR-NOT: not recorded:
// ERR: 15 launches seen, 13 recorded, 2 skipped
// RUN: %python %S/Cuda/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// REPLAY-COUNT-13: : Match
// REPLAY-NOT: {{.}}
// RUN: llvm-mneme-record show %t.rec --kernel=viaMemory | FileCheck %s --check-prefix=SHOW
// SHOW: texture object in buffer

#include "Inputs/check.h"
#include <cmath>
#include <cstdint>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

using Texture = cudaTextureObject_t;
using Surface = cudaSurfaceObject_t;

static constexpr int W = 8, H = 4, D = 3;

static float *Out; // Managed, so that the host sees it.

static void expect(int Line, int I, float Expected) {
  if (fabsf(Out[I] - Expected) <= 1e-3f)
    return;
  printf("line %d: %d is %g, not %g\n", Line, I, Out[I], Expected);
  exit(1);
}
#define IS(I, Expected) expect(__LINE__, I, Expected)

static Texture make(cudaResourceDesc R, cudaTextureAddressMode Mode,
                    bool IsLinear = false, bool IsNormalized = false,
                    bool AsFloat = false) {
  cudaTextureDesc T = {};
  T.addressMode[0] = T.addressMode[1] = T.addressMode[2] = Mode;
  T.filterMode = IsLinear ? cudaFilterModeLinear : cudaFilterModePoint;
  T.readMode = AsFloat ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
  T.normalizedCoords = IsNormalized;
  T.mipmapFilterMode = cudaFilterModeLinear;
  T.maxMipmapLevelClamp = 10;
  Texture Handle;
  OK(cudaCreateTextureObject(&Handle, &R, &T, nullptr));
  return Handle;
}

static cudaResourceDesc ofArray(cudaArray_t A) {
  cudaResourceDesc R = {};
  R.resType = cudaResourceTypeArray;
  R.res.array.array = A;
  return R;
}

// The value of the element at (x, y, z), in all tests.
static float value(int X, int Y, int Z = 0) { return X + 10 * Y + 100 * Z; }

static void fill(cudaArray_t A, int Depth) {
  static float Host[D * 2 * H * H * W];
  cudaExtent E;
  unsigned Flags;
  OK(cudaArrayGetInfo(nullptr, &E, &Flags, A));
  int Width = E.width, Height = E.height ? E.height : 1;
  for (int Z = 0; Z != Depth; ++Z)
    for (int Y = 0; Y != Height; ++Y)
      for (int X = 0; X != Width; ++X)
        Host[(Z * Height + Y) * Width + X] = value(X, Y, Z);
  cudaMemcpy3DParms P = {};
  P.srcPtr = make_cudaPitchedPtr(Host, Width * 4, Width, Height);
  P.dstArray = A;
  P.extent = make_cudaExtent(Width, Height, Depth);
  P.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&P));
}

__global__ void linear(Texture T, float *Out) {
  Out[threadIdx.x] = tex1Dfetch<float>(T, int(threadIdx.x) - 1);
}

static void testLinear() {
  float *Data;
  OK(cudaMallocManaged(&Data, W * 4));
  for (int I = 0; I != W; ++I)
    Data[I] = I + 1;
  cudaResourceDesc R = {};
  R.resType = cudaResourceTypeLinear;
  R.res.linear.devPtr = Data;
  R.res.linear.desc = cudaCreateChannelDesc<float>();
  R.res.linear.sizeInBytes = W * 4;
  Texture T = make(R, cudaAddressModeClamp);
  linear<<<1, W + 2>>>(T, Out);
  OK(cudaDeviceSynchronize());
  for (int I = 0; I != W + 2; ++I)
    IS(I, I > W ? 0 : I);
  OK(cudaDestroyTextureObject(T));
  EXPECT(cudaErrorInvalidValue, cudaDestroyTextureObject(T));
}

__global__ void plane(Texture Point, Texture Linear, Texture Wrap,
                      Texture Mirror, Texture Border, float *Out) {
  Out[0] = tex2D<float>(Point, 2.9f, 1.2f);
  Out[1] = tex2D<float>(Point, -5, 100);
  Out[2] = tex2D<float>(Linear, 2.5f, 1.5f);
  Out[3] = tex2D<float>(Linear, 3.0f, 1.75f);
  Out[4] = tex2D<float>(Wrap, 1.0f + 3.5f / 8, -1.0f + 1.5f / 4);
  Out[5] = tex2D<float>(Mirror, -3.5f / 8, 1.0f + 0.5f / 4);
  Out[6] = tex2D<float>(Border, -0.1f, 0.5f);
  Out[7] = tex2D<float>(Border, 7.5f, 3.5f);
  float4 G = tex2Dgather<float4>(Point, 3.0f, 2.0f, 0);
  Out[8] = G.x;
  Out[9] = G.y;
  Out[10] = G.z;
  Out[11] = G.w;
  // The border counts as zeros.
  Out[12] = tex2D<float>(Wrap, 0.0f, 0.5f / 4);
  Out[13] = tex2DLod<float>(Point, 1.5f, 1.5f, 0.0f);
  Out[14] = tex2DGrad<float>(Point, 1.5f, 2.5f, make_float2(1, 0), make_float2(0, 1));
}

static void testPlane() {
  cudaChannelFormatDesc F = cudaCreateChannelDesc<float>();
  cudaArray_t A;
  OK(cudaMallocArray(&A, &F, W, H, cudaArrayTextureGather));
  fill(A, 1);
  cudaResourceDesc R = ofArray(A);
  plane<<<1, 1>>>(make(R, cudaAddressModeClamp), make(R, cudaAddressModeClamp, true),
                  make(R, cudaAddressModeWrap, true, true),
                  make(R, cudaAddressModeMirror, false, true),
                  make(R, cudaAddressModeBorder), Out);
  OK(cudaDeviceSynchronize());
  IS(0, value(2, 1));
  IS(1, value(0, 3));
  IS(2, value(2, 1));
  IS(3, 2.5f + 12.5f);
  IS(4, value(3, 1));
  IS(5, value(3, 3));
  IS(6, 0);
  IS(7, value(7, 3));
  IS(8, value(2, 2));
  IS(9, value(3, 2));
  IS(10, value(3, 1));
  IS(11, value(2, 1));
  IS(12, 3.5f);
  IS(13, value(1, 1));
  IS(14, value(1, 2));
  OK(cudaFreeArray(A));
  EXPECT(cudaErrorInvalidValue, cudaFreeArray(A));
}

__global__ void pitched(Texture Bytes, Texture Floats, float *Out) {
  uchar4 C = tex2D<uchar4>(Bytes, 1.5f, 1.5f);
  Out[0] = C.x;
  Out[1] = C.w;
  float4 F = tex2D<float4>(Floats, 1.5f, 1.5f);
  Out[2] = F.x;
  Out[3] = F.w;
}

static void testPitched() {
  size_t Pitch;
  uchar4 *Data, Host[2 * H];
  for (int I = 0; I != 2 * H; ++I)
    Host[I] = make_uchar4(I, 2, 3, 255 - I);
  OK(cudaMallocPitch(&Data, &Pitch, 2 * sizeof(uchar4), H));
  OK(cudaMemcpy2D(Data, Pitch, Host, 8, 8, H, cudaMemcpyHostToDevice));
  cudaResourceDesc R = {};
  R.resType = cudaResourceTypePitch2D;
  R.res.pitch2D.devPtr = Data;
  R.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
  R.res.pitch2D.width = 2;
  R.res.pitch2D.height = H;
  R.res.pitch2D.pitchInBytes = Pitch;
  pitched<<<1, 1>>>(make(R, cudaAddressModeClamp),
                    make(R, cudaAddressModeClamp, false, false, true), Out);
  OK(cudaDeviceSynchronize());
  IS(0, 3);
  IS(1, 252);
  IS(2, 3 / 255.f);
  IS(3, 252 / 255.f);
}

__global__ void halves(Texture T, float *Out) {
  Out[0] = tex1D<float>(T, 1.5f);
  Out[1] = tex1D<float>(T, 2.0f);
}

static void testHalf() {
  cudaChannelFormatDesc F = cudaCreateChannelDescHalf();
  cudaArray_t A;
  __half Host[4] = {__float2half(1), __float2half(-2.5f), __float2half(65504), __float2half(6e-8f)};
  OK(cudaMallocArray(&A, &F, 4));
  OK(cudaMemcpy2DToArray(A, 0, 0, Host, 8, 8, 1, cudaMemcpyHostToDevice));
  halves<<<1, 1>>>(make(ofArray(A), cudaAddressModeClamp, true), Out);
  OK(cudaDeviceSynchronize());
  IS(0, -2.5f);
  IS(1, (65504 - 2.5f) / 2);
}

__global__ void volume(Texture T, Texture Linear, float *Out) {
  Out[0] = tex3D<float>(T, 4.5f, 2.5f, 1.5f);
  Out[1] = tex3D<float>(Linear, 4.0f, 2.0f, 2.0f);
  Out[2] = tex3D<float>(T, 4.5f, 2.5f, 10.0f);
}

__global__ void layers(Texture T, float *Out) {
  Out[0] = tex2DLayered<float>(T, 4.5f, 2.5f, 2);
  Out[1] = tex2DLayered<float>(T, 4.0f, 2.5f, 1);
  Out[2] = tex2DLayered<float>(T, 4.5f, 2.5f, 100);
}

__global__ void line(Texture T, Texture Linear, float Huge, float *Out) {
  Out[0] = tex1DLayered<float>(T, 3.5f, 1);
  // What is far outside is clamped to the nearer end.
  Out[1] = tex1DLayered<float>(T, Huge, 1);
  Out[2] = tex1DLayered<float>(T, -Huge, 1);
  Out[3] = tex1DLayered<float>(Linear, Huge, 1);
  Out[4] = tex1DLayered<float>(Linear, -Huge, 1);
}

static void testVolumes() {
  cudaChannelFormatDesc F = cudaCreateChannelDesc<float>();
  cudaArray_t A;
  OK(cudaMalloc3DArray(&A, &F, make_cudaExtent(W, H, D)));
  fill(A, D);
  volume<<<1, 1>>>(make(ofArray(A), cudaAddressModeClamp), make(ofArray(A), cudaAddressModeClamp, true), Out);
  OK(cudaDeviceSynchronize());
  IS(0, value(4, 2, 1));
  IS(1, 3.5f + 15 + 150);
  IS(2, value(4, 2, 2));
  OK(cudaMalloc3DArray(&A, &F, make_cudaExtent(W, H, D), cudaArrayLayered));
  fill(A, D);
  layers<<<1, 1>>>(make(ofArray(A), cudaAddressModeClamp, true), Out);
  OK(cudaDeviceSynchronize());
  IS(0, value(4, 2, 2));
  IS(1, 3.5f + 20 + 100);
  IS(2, value(4, 2, 2));
  OK(cudaMalloc3DArray(&A, &F, make_cudaExtent(W, 0, 2), cudaArrayLayered));
  fill(A, 2);
  for (float Huge : {2e9f, 1e30f, INFINITY}) {
    line<<<1, 1>>>(make(ofArray(A), cudaAddressModeClamp), make(ofArray(A), cudaAddressModeClamp, true), Huge, Out);
    OK(cudaDeviceSynchronize());
    IS(0, value(3, 0, 1));
    IS(1, value(W - 1, 0, 1));
    IS(2, value(0, 0, 1));
    IS(3, value(W - 1, 0, 1));
    IS(4, value(0, 0, 1));
  }
}

__global__ void cube(Texture T, float *Out) {
  Out[0] = texCubemap<float>(T, 1.0f, 0.1f, 0.1f);
  Out[1] = texCubemap<float>(T, -1.0f, 0.1f, 0.1f);
  Out[2] = texCubemap<float>(T, 0.1f, 1.0f, 0.1f);
  Out[3] = texCubemap<float>(T, 0.1f, -1.0f, 0.1f);
  Out[4] = texCubemap<float>(T, 0.1f, 0.1f, 1.0f);
  Out[5] = texCubemap<float>(T, 0.1f, 0.1f, -1.0f);
}

static void testCube() {
  cudaChannelFormatDesc F = cudaCreateChannelDesc<float>();
  cudaArray_t A;
  OK(cudaMalloc3DArray(&A, &F, make_cudaExtent(2, 2, 6), cudaArrayCubemap));
  fill(A, 6);
  cube<<<1, 1>>>(make(ofArray(A), cudaAddressModeClamp, false, true), Out);
  OK(cudaDeviceSynchronize());
  IS(0, value(0, 0, 0));
  IS(1, value(1, 0, 1));
  IS(2, value(1, 1, 2));
  IS(3, value(1, 0, 3));
  IS(4, value(1, 0, 4));
  IS(5, value(0, 0, 5));
}

__global__ void levels(Texture T, float *Out) {
  for (int I = 0; I != 5; ++I)
    Out[I] = tex2DLod<float>(T, 0.5f, 0.5f, I * 0.5f);
  Out[5] = tex2DGrad<float>(T, 0.5f, 0.5f, make_float2(0.5f, 0), make_float2(0, 0));
}

static void testLevels() {
  cudaChannelFormatDesc F = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t M;
  OK(cudaMallocMipmappedArray(&M, &F, make_cudaExtent(8, 4, 0), 100, 0));
  float Host[32];
  for (int L = 0; L != 4; ++L) {
    cudaArray_t A;
    OK(cudaGetMipmappedArrayLevel(&A, M, L));
    for (float &V : Host)
      V = 10 * L;
    size_t Row = (8 >> L) * 4, Rows = L < 3 ? 4 >> L : 1;
    OK(cudaMemcpy2DToArray(A, 0, 0, Host, Row, Row, Rows, cudaMemcpyHostToDevice));
  }
  cudaArray_t A;
  EXPECT(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&A, M, 4));
  cudaResourceDesc R = {};
  R.resType = cudaResourceTypeMipmappedArray;
  R.res.mipmap.mipmap = M;
  levels<<<1, 1>>>(make(R, cudaAddressModeClamp, true, true), Out);
  OK(cudaDeviceSynchronize());
  for (int I = 0; I != 5; ++I)
    IS(I, 5 * I);
  IS(5, 20);
  // Levels are freed with their array.
  OK(cudaGetMipmappedArrayLevel(&A, M, 3));
  OK(cudaArrayGetInfo(nullptr, nullptr, nullptr, A));
  OK(cudaFreeMipmappedArray(M));
  EXPECT(cudaErrorInvalidResourceHandle, cudaArrayGetInfo(nullptr, nullptr, nullptr, A));
}

__global__ void surface(Surface S, Surface B, float *Out) {
  int X = threadIdx.x, Y = blockIdx.x;
  float V = surf2Dread<float>(S, X * 4, Y);
  surf2Dwrite(V + 1, S, X * 4, Y);
  // Outside: ignored.
  surf2Dwrite(1000.0f, S, W * 4, Y, cudaBoundaryModeZero);
  if (X == 0 && Y == 0) {
    Out[0] = surf2Dread<float>(S, -4, 0, cudaBoundaryModeZero);
    Out[1] = surf2Dread<float>(S, 1000, 1, cudaBoundaryModeClamp);
    uchar4 C = surf2DLayeredread<uchar4>(B, 4, 1, 1);
    Out[2] = C.x + C.w;
    surf2DLayeredwrite(make_uchar4(1, 2, 3, 4), B, 0, 0, 1);
  }
}

static void testSurfaces() {
  cudaChannelFormatDesc F = cudaCreateChannelDesc<float>(), C = cudaCreateChannelDesc<uchar4>();
  cudaArray_t A, B;
  OK(cudaMallocArray(&A, &F, W, H, cudaArraySurfaceLoadStore));
  fill(A, 1);
  OK(cudaMalloc3DArray(&B, &C, make_cudaExtent(2, 2, 2), cudaArraySurfaceLoadStore | cudaArrayLayered));
  uchar4 Host[8];
  for (int I = 0; I != 8; ++I)
    Host[I] = make_uchar4(I, 0, 0, 100);
  cudaMemcpy3DParms P = {};
  P.srcPtr = make_cudaPitchedPtr(Host, 8, 2, 2);
  P.dstArray = B;
  P.extent = make_cudaExtent(2, 2, 2);
  P.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&P));
  cudaResourceDesc R = ofArray(A), RB = ofArray(B);
  Surface S, SB;
  OK(cudaCreateSurfaceObject(&S, &R));
  OK(cudaCreateSurfaceObject(&SB, &RB));
  surface<<<H, W>>>(S, SB, Out);
  OK(cudaDeviceSynchronize());
  IS(0, 0);
  IS(2, 107);
  float Back[W * H];
  OK(cudaMemcpy2DFromArray(Back, W * 4, A, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
  for (int I = 0; I != W * H; ++I)
    CHECK(Back[I] == value(I % W, I / W) + 1);
  P.srcArray = B;
  P.dstArray = nullptr;
  P.srcPtr = {};
  P.dstPtr = make_cudaPitchedPtr(Host, 8, 2, 2);
  P.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&P));
  CHECK(Host[4].x == 1 && Host[4].w == 4 && Host[5].x == 5);
  OK(cudaDestroySurfaceObject(S));
}

__constant__ Texture Global;
struct Pair {
  int N;
  Texture T;
};

__global__ void viaMemory(Texture *Handles, Pair P, float *Out) {
  Out[0] = tex2D<float>(Handles[1], 1.5f, 1.5f);
  Out[1] = tex2D<float>(P.T, 2.5f, 1.5f);
  Out[2] = tex2D<float>(Global, 3.5f, 1.5f);
}

static void testMemory() {
  cudaChannelFormatDesc F = cudaCreateChannelDesc<float>();
  cudaArray_t A;
  OK(cudaMallocArray(&A, &F, W, H));
  fill(A, 1);
  Texture T = make(ofArray(A), cudaAddressModeClamp), *Handles;
  OK(cudaMalloc(&Handles, 2 * sizeof(T)));
  OK(cudaMemcpy(Handles + 1, &T, sizeof(T), cudaMemcpyHostToDevice));
  OK(cudaMemcpyToSymbol(Global, &T, sizeof(T)));
  viaMemory<<<1, 1>>>(Handles, {0, T}, Out);
  OK(cudaDeviceSynchronize());
  IS(0, value(1, 1));
  IS(1, value(2, 1));
  IS(2, value(3, 1));
  cudaResourceDesc R;
  OK(cudaGetTextureObjectResourceDesc(&R, T));
  CHECK(R.res.array.array == A);
}

// Copies into arrays become nodes of graphs.
__global__ void captured(Texture T, float *Out) { Out[0] = tex1D<float>(T, 1.5f); }

static void testCaptured() {
  cudaChannelFormatDesc F = cudaCreateChannelDesc<float>();
  cudaArray_t A;
  cudaStream_t S;
  cudaGraph_t G;
  cudaGraphExec_t X;
  float Host[] = {1, 2, 3};
  OK(cudaMallocArray(&A, &F, 3));
  Texture T = make(ofArray(A), cudaAddressModeClamp);
  OK(cudaStreamCreate(&S));
  OK(cudaStreamBeginCapture(S, cudaStreamCaptureModeRelaxed));
  OK(cudaMemcpy2DToArrayAsync(A, 0, 0, Host, 12, 12, 1, cudaMemcpyHostToDevice, S));
  captured<<<1, 1, 0, S>>>(T, Out);
  OK(cudaStreamEndCapture(S, &G));
  OK(cudaGraphInstantiate(&X, G, 0));
  Host[1] = 7;
  OK(cudaGraphLaunch(X, S));
  OK(cudaStreamSynchronize(S));
  IS(0, 7);
}

// Copies that go beyond an array, or between elements of different sizes.
static void testBadCopies() {
  cudaChannelFormatDesc F = cudaCreateChannelDesc<float>(), C = cudaCreateChannelDesc<uchar4>(),
                        Short = cudaCreateChannelDesc<short>();
  cudaArray_t A, B, S;
  OK(cudaMallocArray(&A, &F, W, H));
  OK(cudaMallocArray(&B, &C, W, H));
  OK(cudaMallocArray(&S, &Short, W, H));
  cudaMemcpy3DParms P = {};
  P.srcArray = A;
  P.dstArray = B;
  P.extent = make_cudaExtent(W, H, 1);
  P.kind = cudaMemcpyDeviceToDevice;
  OK(cudaMemcpy3D(&P));
  P.dstArray = S;
  EXPECT(cudaErrorInvalidValue, cudaMemcpy3D(&P));
  P.dstArray = B;
  for (size_t *At : {&P.srcPos.x, &P.srcPos.y, &P.srcPos.z, &P.dstPos.x, &P.dstPos.y, &P.dstPos.z}) {
    *At = SIZE_MAX;
    EXPECT(cudaErrorInvalidValue, cudaMemcpy3D(&P));
    *At = 0;
  }
  EXPECT(cudaErrorInvalidValue, cudaMemcpy2DArrayToArray(B, 0, 0, S, 0, 0, 16, 1));
  EXPECT(cudaErrorInvalidValue, cudaMemcpy2DArrayToArray(B, 0, SIZE_MAX, A, 0, 0, 16, 1));
}

__global__ void queries(Texture T, float *Out) {
  unsigned Width, Height;
  asm("txq.width.b32 %0, [%1];" : "=r"(Width) : "l"(T));
  asm("txq.height.b32 %0, [%1];" : "=r"(Height) : "l"(T));
  Out[0] = Width;
  Out[1] = Height;
}

int main() {
  OK(cudaMallocManaged(&Out, 64 * 4));
  testLinear();
  testPlane();
  testPitched();
  testHalf();
  testVolumes();
  testCube();
  testLevels();
  testSurfaces();
  testMemory();
  testCaptured();
  testBadCopies();
  cudaChannelFormatDesc F = cudaCreateChannelDesc<float>(), Bad = {32, 32, 32, 0, cudaChannelFormatKindFloat};
  cudaArray_t A;
  EXPECT(cudaErrorInvalidValue, cudaMallocArray(&A, &Bad, W, H));
  OK(cudaMallocArray(&A, &F, W, H));
  queries<<<1, 1>>>(make(ofArray(A), cudaAddressModeClamp), Out);
  OK(cudaDeviceSynchronize());
  IS(0, W);
  IS(1, H);
  printf("all as it should be\n");
}
