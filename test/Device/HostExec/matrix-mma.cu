// REQUIRES: cuda-toolkit, device-host
//
// mma.sync of all shapes and types of sm_80 to sm_90 against plain loops. Operands
// are packed by the layouts of the PTX ISA (9.7.14.5); all values are small integers,
// whose sums are exact on every device.
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O1 %s -o %t.app
// RUN: env MNEME_HOST_FINISH=none llvm-mneme-record --device=host --no-record -- %t.app | FileCheck %s
// RUN: env MNEME_HOST_STRATEGY=fiber llvm-mneme-record --device=host -o %t.rec -- %t.app | FileCheck %s
// CHECK: all right

#include "Inputs/check.h"
#include "Inputs/matrix.h"

// In: the words of A, B and C, each 32 times; Out: those of D.
#define IN(W) In[32 * (W) + T]
#define EXECUTE(OPCODE, REGISTERS, OUTPUTS, INPUTS)                            \
  asm volatile(OPCODE " " REGISTERS ";" : OUTPUTS : INPUTS);
#define O2 "=r"(D[0]), "=r"(D[1])
#define O4 O2, "=r"(D[2]), "=r"(D[3])
#define O8 O4, "=r"(D[4]), "=r"(D[5]), "=r"(D[6]), "=r"(D[7])
#define R(W) "r"(IN(W))
#define R4(W) R(W), R(W + 1), R(W + 2), R(W + 3)
// Registers of D, A, B, C.
#define WORDS2112(OP) EXECUTE(OP, "{%0,%1}, {%2}, {%3}, {%4,%5}", O2, R4(0))
#define WORDS2212(OP)                                                          \
  EXECUTE(OP, "{%0,%1}, {%2,%3}, {%4}, {%5,%6}", O2, R4(0) COMMA R(4))
#define WORDS2422(OP)                                                          \
  EXECUTE(OP, "{%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9}", O2,                  \
          R4(0) COMMA R4(4))
#define WORDS4214(OP)                                                          \
  EXECUTE(OP, "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10}", O4,              \
          R4(0) COMMA R(4) COMMA R(5) COMMA R(6))
#define WORDS4424(OP)                                                          \
  EXECUTE(OP, "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13}", O4,  \
          R4(0) COMMA R4(4) COMMA R(8) COMMA R(9))
#define WORDS4224(OP)                                                          \
  EXECUTE(OP, "{%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%8,%9,%10,%11}", O4,          \
          R4(0) COMMA R4(4))
#define WORDS8224(OP)                                                          \
  EXECUTE(OP,                                                                  \
          "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, "                    \
          "{%12,%13,%14,%15}", O8, R4(0) COMMA R4(4))
#define WORDS8228(OP)                                                          \
  EXECUTE(OP,                                                                  \
          "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9}, {%10,%11}, "                    \
          "{%12,%13,%14,%15,%16,%17,%18,%19}",                                 \
          O8, R4(0) COMMA R4(4) COMMA R4(8))
#define COMMA ,

// ROW(registers, M, N, K, types of D, A, B, C, opcode, flags)
#define MMA(W, M, N, K, D, A, B, C)                                            \
  ROW(W, M, N, K, D, A, B, C, "mma.sync.aligned.m" #M "n" #N "k" #K            \
      ".row.col." #D "." #A "." #B "." #C, 0)
#define INTEGERS(W, M, N, K, S, U)                                             \
  MMA(W, M, N, K, s32, S, S, s32) MMA(W, M, N, K, s32, S, U, s32)              \
  MMA(W, M, N, K, s32, U, S, s32) MMA(W, M, N, K, s32, U, U, s32)
#define BITS(W, M, N, K, OP)                                                   \
  ROW(W, M, N, K, s32, b1, b1, s32, "mma.sync.aligned.m" #M "n" #N "k" #K      \
      ".row.col.s32.b1.b1.s32." #OP ".popc", *#OP == 'a')
#define VOLTA(W, LA, LB, D, C, FLAGS)                                          \
  ROW(W, 8, 8, 4, D, f16, f16, C, "mma.sync.aligned.m8n8k4." #LA "." #LB "."   \
      #D ".f16.f16." #C, FLAGS)
#define ROWS                                                                   \
  MMA(4214, 16, 8, 8, f32, f16, f16, f32)                                      \
  MMA(4424, 16, 8, 16, f32, f16, f16, f32)                                     \
  MMA(2212, 16, 8, 8, f16, f16, f16, f16)                                      \
  MMA(2422, 16, 8, 16, f16, f16, f16, f16)                                     \
  MMA(4214, 16, 8, 8, f32, bf16, bf16, f32)                                    \
  MMA(4424, 16, 8, 16, f32, bf16, bf16, f32)                                   \
  MMA(4214, 16, 8, 4, f32, tf32, tf32, f32)                                    \
  MMA(4424, 16, 8, 8, f32, tf32, tf32, f32)                                    \
  INTEGERS(2112, 8, 8, 16, s8, u8)                                             \
  INTEGERS(4214, 16, 8, 16, s8, u8)                                            \
  INTEGERS(4424, 16, 8, 32, s8, u8)                                            \
  INTEGERS(2112, 8, 8, 32, s4, u4)                                             \
  INTEGERS(4214, 16, 8, 32, s4, u4)                                            \
  INTEGERS(4424, 16, 8, 64, s4, u4)                                            \
  BITS(2112, 8, 8, 128, xor)                                                   \
  BITS(4214, 16, 8, 128, xor)                                                  \
  BITS(4424, 16, 8, 256, xor)                                                  \
  BITS(2112, 8, 8, 128, and)                                                   \
  BITS(4214, 16, 8, 128, and)                                                  \
  BITS(4424, 16, 8, 256, and)                                                  \
  FP8ROWS                                                                      \
  VOLTA(4224, row, col, f16, f16, 0)                                           \
  VOLTA(4224, col, row, f16, f16, 3)                                           \
  VOLTA(8224, row, row, f32, f16, 2)                                           \
  VOLTA(8228, col, col, f32, f32, 1)                                           \
  VOLTA(8228, row, col, f32, f32, 0)
#define FP8(A, B)                                                              \
  MMA(4424, 16, 8, 32, f32, A, B, f32)                                         \
  MMA(2422, 16, 8, 32, f16, A, B, f16)                                         \
  MMA(4214, 16, 8, 16, f32, A, B, f32)                                         \
  MMA(2212, 16, 8, 16, f16, A, B, f16)
// e4m3 and e5m2 need sm_89, and the two shapes and f16 newer assemblers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
#define FP8ROWS
#else
#define FP8ROWS FP8(e4m3, e4m3) FP8(e4m3, e5m2) FP8(e5m2, e4m3) FP8(e5m2, e5m2)
#endif

/// Executes instruction \p Which of ROWS.
__global__ void multiply(int Which, const unsigned *In, unsigned *Out) {
  unsigned T = threadIdx.x, D[8] = {};
  int Row = 0;
#define ROW(W, M, N, K, D, A, B, C, OP, FLAGS)                                 \
  if (Which == Row++)                                                          \
    WORDS##W(OP)
  ROWS
#undef ROW
  for (int I = 0; I < 8; ++I)
    Out[32 * I + T] = D[I];
}

__global__ void saturates(const unsigned *In, unsigned *Out) {
  unsigned T = threadIdx.x, D[4];
  WORDS4424("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32")
  for (int I = 0; I < 4; ++I)
    Out[32 * I + T] = D[I];
}

__global__ void doubles4(const double *In, double *Out) {
  unsigned T = threadIdx.x;
  double D[4];
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%4,%5};"
               : "=d"(D[0]), "=d"(D[1]) : "d"(IN(0)), "d"(IN(1)), "d"(IN(2)), "d"(IN(3)));
  Out[T] = D[0], Out[32 + T] = D[1];
}
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define D4 "=d"(D[0]), "=d"(D[1]), "=d"(D[2]), "=d"(D[3])
#define F(W) "d"(IN(W))
#define F4(W) F(W), F(W + 1), F(W + 2), F(W + 3)
#define DOUBLES(K, REGISTERS, ...)                                             \
  __global__ void doubles16_##K(const double *In, double *Out) {               \
    unsigned T = threadIdx.x;                                                  \
    double D[4];                                                               \
    asm volatile("mma.sync.aligned.m16n8k" #K ".row.col.f64.f64.f64.f64 "      \
                 "{%0,%1,%2,%3}, " REGISTERS ";" : D4 : __VA_ARGS__);          \
    for (int I = 0; I < 4; ++I)                                                \
      Out[32 * I + T] = D[I];                                                  \
  }
DOUBLES(4, "{%4,%5}, {%6}, {%7,%8,%9,%10}", F(0), F(1), F(2), F4(3))
DOUBLES(8, "{%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13}", F4(0), F(4), F(5), F4(6))
DOUBLES(16, "{%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%16,%17,%18,%19}",
        F4(0), F4(4), F4(8), F4(12))
#endif

/// Runs one instruction, for A[M][K], B[K][N] and C[M][N].
static void run(const char *Name, int Which, Format A, Format B, Format C, Format D, int M,
                int N, int K, int Flags) {
  Fragment FA(A, M, K, 'a', Flags, K), FB(B, K, N, 'b', Flags, K), FC(C, M, N, 'c', Flags, K),
      FD(D, M, N, 'd', Flags, K);
  const int Groups = FA.Groups;
  // Bits and small integers, negative ones where the type has them.
  std::vector<double> VA(Groups * M * K), VB(Groups * K * N), VC(Groups * M * N);
  for (double &V : VA)
    V = A.draw();
  for (double &V : VB)
    V = B.draw();
  for (double &V : VC)
    V = C.draw();
  std::vector<unsigned> Words;
  FA.pack(VA, Words), FB.pack(VB, Words), FC.pack(VC, Words);
  Buffer<unsigned> In(Words.size() + 32 * 8), Out(32 * 8);
  memcpy(In.Data, Words.data(), 4 * Words.size());
  multiply<<<1, 32>>>(Which, In, Out);
  launched();
  std::vector<double> VD = FD.unpack(Out);
  for (int G = 0; G < Groups; ++G)
    for (int I = 0; I < M; ++I)
      for (int J = 0; J < N; ++J) {
        double Sum = VC[(G * M + I) * N + J];
        for (int L = 0; L < K; ++L) {
          double X = VA[(G * M + I) * K + L], Y = VB[(G * K + L) * N + J];
          Sum += A.Bits == 1 ? (Flags ? X && Y : X != Y) : X * Y;
        }
        expect(Name, (G * M + I) * N + J, VD[(G * M + I) * N + J], Sum);
      }
}

static void runDoubles(void (*Launched)(const double *, double *), int M, int K) {
  Fragment FA(Format("f64"), M, K, 'a', 0, K), FB(Format("f64"), K, 8, 'b', 0, K),
      FC(Format("f64"), M, 8, 'c', 0, K);
  std::vector<double> A(M * K), B(K * 8), C(M * 8);
  for (auto *V : {&A, &B, &C})
    for (double &X : *V)
      X = (int)draw(2001) - 1000;
  Buffer<double> In(32 * 16), Out(32 * 4);
  size_t First = 0;
  for (auto [F, V] : {std::pair(&FA, &A), std::pair(&FB, &B), std::pair(&FC, &C)}) {
    for (int T = 0; T < 32; ++T)
      for (int I = 0; I < F->Elements; ++I)
        In[32 * (First + I) + T] = (*V)[F->at(T, I)];
    First += F->Elements;
  }
  Launched<<<1, 32>>>(In, Out);
  launched();
  for (int T = 0; T < 32; ++T)
    for (int I = 0; I < FC.Elements; ++I) {
      int At = FC.at(T, I);
      double Sum = C[At];
      for (int L = 0; L < K; ++L)
        Sum += A[At / 8 * K + L] * B[L * 8 + At % 8];
      expect("f64", K * 1000 + At, Out[32 * I + T], Sum);
    }
}

int main() {
  int Row = 0;
#define ROW(W, M, N, K, D, A, B, C, OP, FLAGS)                                 \
  run(OP, Row++, Format(#A), Format(#B), Format(#C), Format(#D), M, N, K, FLAGS);
  ROWS
  runDoubles(doubles4, 8, 4);
  runDoubles(doubles16_4, 16, 4);
  runDoubles(doubles16_8, 16, 8);
  runDoubles(doubles16_16, 16, 16);

  // 32 * 127 * 127 more than almost the largest number.
  Buffer<unsigned> In(32 * 16, 0x7f7f7f7f), Out(32 * 4);
  for (int I = 6 * 32; I < 10 * 32; ++I)
    In[I] = 0x7fffff00;
  saturates<<<1, 32>>>(In, Out);
  launched();
  for (int I = 0; I < 32 * 4; ++I)
    expect("satfinite", I, Out[I], 0x7fffffffu);
  return finish();
}
