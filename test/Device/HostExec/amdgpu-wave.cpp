// REQUIRES: clang, amdgpu-registered-target, device-host
//
// Everything that moves data between the lanes of an AMD wave, of 64 lanes and of 32, under every strategy. The
// expected values are computed here, from the description of the instructions.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC %S/../../Instrument/Inputs/minihip.cpp -o %t/libamdhip64.so
// DEFINE: %{arch} =
// DEFINE: %{mode} =
// DEFINE: %{build} = %hip_cc --offload-arch=%{arch} %{mode} -Wno-unused-value -I%S %s -o %t/app -L%t -lamdhip64 -Wl,-rpath,%t \
// DEFINE:   -Wl,--unresolved-symbols=ignore-all
// DEFINE: %{run} = for S in auto coroutine fiber; do env MNEME_HOST_STRATEGY=$S llvm-mneme-record --device=host --no-record -- %t/app || exit 1; done \
// DEFINE:   | FileCheck %s
// REDEFINE: %{arch} = gfx90a
// REDEFINE: %{mode} = -O2 -DWAVE=64
// RUN: %{build} && %{run}
// REDEFINE: %{mode} = -O0 -DWAVE=64 -mcode-object-version=4
// RUN: %{build} && %{run}
// REDEFINE: %{arch} = gfx1100
// REDEFINE: %{mode} = -O3 -DWAVE=32 -mcode-object-version=5
// RUN: %{build} && %{run}
// REDEFINE: %{mode} = -O2 -DWAVE=64 -mwavefrontsize64
// RUN: %{build} && %{run}
// CHECK-COUNT-3: all right

extern "C" int printf(const char *, ...);
using u64 = unsigned long long;
using u32 = unsigned;

struct Row {
  const char *Name;
  u32 Values[64];
};

// One row of WAVE values a test.
__global__ void moves(const u32 *In, u32 *Out) {
  u32 L = threadIdx.x, V = In[L];
  auto Put = [&](u32 X) {
    Out[L] = X;
    Out += WAVE;
  };
  Put(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)));
  Put(__builtin_amdgcn_readfirstlane(V));
  Put(__builtin_amdgcn_readlane(V, 7));
  Put(__builtin_amdgcn_ds_bpermute((L ^ 5) * 4, V));
  Put(__builtin_amdgcn_ds_permute((L ^ 9) * 4, V));
  Put(__builtin_amdgcn_ds_swizzle(V, 0x041f));      // xor 1
  Put(__builtin_amdgcn_ds_swizzle(V, 0x8000 | 0x1b)); // reverse in fours
  Put(__builtin_amdgcn_update_dpp(1000, V, 0x1b, 15, 15, false)); // quad_perm
  Put(__builtin_amdgcn_update_dpp(1000, V, 0x101, 15, 15, false)); // row_shl 1
  Put(__builtin_amdgcn_update_dpp(1000, V, 0x112, 15, 15, true));  // row_shr 2
  Put(__builtin_amdgcn_update_dpp(1000, V, 0x123, 15, 15, false)); // row_ror 3
  Put(__builtin_amdgcn_update_dpp(1000, V, 0x140, 15, 15, false)); // row_mirror
  Put(__builtin_amdgcn_update_dpp(1000, V, 0x141, 15, 15, false)); // half
  Put(__builtin_amdgcn_update_dpp(1000, V, 0x140, 5, 3, false));   // some rows
  Put(__builtin_amdgcn_mov_dpp(V, 0x1b, 15, 15, false));
}

__global__ void votes(const u32 *In, u64 *Out) {
  u32 L = threadIdx.x, V = In[L];
  auto Put = [&](u64 X) {
    Out[L] = X;
    Out += WAVE;
  };
#if WAVE == 64
  Put(__builtin_amdgcn_ballot_w64(V & 1));
  Put(__builtin_amdgcn_uicmp(V, 20, 36));
#else
  Put(__builtin_amdgcn_ballot_w32(V & 1));
  Put(__builtin_amdgcn_uicmp(V, 20, 36));
#endif
  Put(__builtin_amdgcn_read_exec());
  u64 Mine = 0;
  // Where the lanes are apart, each group has its own.
  if (L % 3 == 0)
    Mine = __builtin_amdgcn_read_exec();
  else if (L % 3 == 1)
    Mine = __builtin_amdgcn_readfirstlane(L) + 1000;
  else
    // The lane that is read is not here: no value.
    Mine = __builtin_amdgcn_update_dpp(77, V, 0x101, 15, 15, false);
  Put(Mine);
}

/// A sum over the wave by halves, and one over the block through LDS.
__global__ void sums(const u32 *In, u32 *Out) {
  __shared__ u32 Waves[256 / WAVE];
  u32 T = threadIdx.x, L = T % WAVE, V = In[T];
  for (u32 Mask = WAVE / 2; Mask; Mask /= 2)
    V += __builtin_amdgcn_ds_bpermute((L ^ Mask) * 4, V);
  if (L == 0)
    Waves[T / WAVE] = V;
  __syncthreads();
  if (T == 0) {
    u32 Sum = 0;
    for (u32 W : Waves)
      Sum += W;
    Out[blockIdx.x] = Sum;
  }
}

static int Wrong;
static void expect(const char *Name, u32 Lane, u64 Got, u64 Want) {
  if (Got != Want && Wrong++ < 10)
    printf("%s, lane %u: %llx instead of %llx\n", Name, Lane, Got, Want);
}

int main() {
  u32 *In, *Out;
  u64 *Out64;
  hipMalloc((void **)&In, 256 * 4);
  hipMalloc((void **)&Out, 20 * WAVE * 4);
  hipMalloc((void **)&Out64, 8 * WAVE * 8);
  for (u32 I = 0; I < 256; ++I)
    In[I] = I * 7 % 61 + 1;
  moves<<<1, WAVE>>>(In, Out);
  votes<<<1, WAVE>>>(In, Out64);
  hipDeviceSynchronize();
  u64 Odd = 0, Below = 0, All = WAVE == 64 ? ~0ull : ~0u, Third = 0;
  for (u32 L = 0; L < WAVE; ++L) {
    Odd |= u64(In[L] & 1) << L;
    Below |= u64(In[L] < 20) << L;
    Third |= u64(L % 3 == 0) << L;
  }
  for (u32 L = 0; L < WAVE; ++L) {
    u32 Row = L & ~15u, P = L & 15;
    const u32 Want[] = {
        L,
        In[0],
        In[7],
        In[L ^ 5],
        In[L ^ 9],
        In[L ^ 1],
        In[L ^ 3],
        In[L ^ 3],
        P + 1 < 16 ? In[L + 1] : 1000,
        P >= 2 ? In[L - 2] : 0,
        In[Row | ((P - 3) & 15)],
        In[Row | (15 - P)],
        In[(L & ~7u) | (7 - (L & 7))],
        L / 16 % 2 == 0 && P < 8 ? In[Row | (15 - P)] : 1000,
        In[L ^ 3],
    };
    for (u32 I = 0; I < sizeof(Want) / 4; ++I) {
      char Name[] = {'m', 'o', 'v', 'e', ' ', char('a' + I), 0};
      expect(Name, L, Out[I * WAVE + L], Want[I]);
    }
    expect("ballot", L, Out64[L], Odd);
    expect("compare", L, Out64[WAVE + L], Below);
    expect("exec", L, Out64[2 * WAVE + L], All);
    expect("apart", L, Out64[3 * WAVE + L],
           L % 3 == 0 ? Third : L % 3 == 1 ? 1001 : 77);
  }
  sums<<<3, 256>>>(In, Out);
  hipDeviceSynchronize();
  u32 Sum = 0;
  for (u32 I = 0; I < 256; ++I)
    Sum += In[I];
  for (u32 B = 0; B < 3; ++B)
    expect("sum", B, Out[B], Sum);
  printf(Wrong ? "%d wrong\n" : "all right\n", Wrong);
}
