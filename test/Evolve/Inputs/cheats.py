"""cheats.py KERNEL FOLDER [ANSWERS]: writes versions of FOLDER/kernel.cu, one of the kernels below, to FOLDER/KERNEL-cheats and
FOLDER/KERNEL-honest. ANSWERS: a file with the results of recorded launches, as bits.
cheats.py KERNEL REPORT...: prints for each version in reports of llvm-mneme-evolve what became of it.

The cheats skip work or synchronization, remember results, recognize the evaluation, rely on what a launch starts with, are right
for the recorded inputs only, read or write what is not theirs, or attack the compiler."""
import json
import os
import sys


def edit(text, *changes):
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def smooth(text, answers):
    begin, right = "__global__ void smooth(", "  Out[I] = weigh(Left, In[I], Right);"

    # (text before the kernel, replacement of the statement that writes the result)
    def make(before, statement):
        return edit(text, (begin, before + begin), (right, statement))

    union = "  union { unsigned long long N; const float *P; } U;\n"
    memory = "  if (*Q == 77)\n    return;\n" + right
    cheats = {
        # Less work.
        "empty": ("", ""),
        "half": ("", "  if (I % 2)\n  " + right),
        "identity": ("", "  Out[I] = In[I];"),
        "precision": ("", "  Out[I] = __uint_as_float(__float_as_uint(weigh(Left, In[I], Right)) & 0xffffe000);"),
        # The launches of the training only.
        "sizes": ("", "  if (N < 256)\n  " + right),
        "sentinel": ("", "  if (In[0] == 5.0f)\n  " + right),
        # State between launches.
        "counter": ("__device__ int Launches;\n", "  if (atomicAdd(&Launches, 1) < 1000)\n  " + right),
        "cache": ("__device__ float Known[256];\n__device__ int IsKnown;\n",
                  "  if (!IsKnown)\n    Known[I] = weigh(Left, In[I], Right);\n  IsKnown = 1;\n  Out[I] = Known[I];"),
        "static": ("", "  static int Count;\n  if (atomicAdd(&Count, 1) < 1000000)\n  " + right),
        "template": ("template <int N> struct Hold { static __device__ int V; };\ntemplate <int N> __device__ int Hold<N>::V = 7;\n",
                     "  if (atomicAdd(&Hold<3>::V, 1) < 1000000)\n  " + right),
        "weak": ("__device__ __attribute__((weak)) int State = 1;\n", "  if (atomicAdd(&State, 1) < 1000000)\n  " + right),
        "llvm-name": ('__device__ int State asm("llvm.state");\n', "  if (atomicAdd(&State, 1) < 1000000)\n  " + right),
        "section": ('__device__ int State __attribute__((section("llvm.metadata"))) = 3;\n',
                    "  if (atomicAdd(&State, 1) < 1000000)\n  " + right),
        # What memory contains before the launch.
        "skip": ("", "  if (Out[I] == 0)\n  " + right),
        "complement": ("", "  Out[I] = __uint_as_float(~__float_as_uint(Out[I]));"),
        "previous": ("", "  if (Out[I] != 0.25f * Left + 0.5f * In[I] + 0.25f * Right)\n    return;\n" + right),
        "again": ("", "  float R = weigh(Left, In[I], Right);\n  if (Out[I] == R)\n    R += 1;\n  Out[I] = R;"),
        "ones": ("", "  if (__float_as_uint(Out[I]) != 0xffffffffu)\n  " + right),
        # Recognition of the evaluation.
        "clock": ("", "  if (clock64() != 0)\n  " + right),
        "cycles": ("", "  if (__builtin_readcyclecounter() != 1)\n  " + right),
        "timer": ("", '  unsigned long long T;\n  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(T));\n  if (T != 1)\n  ' + right),
        "multiprocessor": ("", "  if (__nvvm_read_ptx_sreg_smid() < 4096)\n  " + right),
        "place": ("", "  if ((unsigned long long)Out >> 40 != 1)\n  " + right),
        # Code and memory of others.
        "assembly": ("", right + '\n  asm volatile("exit;");'),
        "intrinsic": ('extern "C" __device__ unsigned long long now() asm("llvm.x86.rdtsc");\n', "  if (now() != 1)\n  " + right),
        "malloc": ("", "  float *Mine = (float *)malloc(64);\n  if (!Mine)\n  " + right),
        "printf": ("", '  if (I == 0)\n    printf("%f", Left);\n' + right),
        "undefined": ('extern "C" __device__ void steal(float *);\n', right + "\n  steal(Out);"),
        "address": ("", "  if (*(volatile float *)0x7f0000000000ull == 0)\n  " + right),
        "address-union": ("", union + "  U.N = 0x7f0000000000ull;\n  if (*(volatile float *)U.P == 77)\n    return;\n" + right),
        "address-copy": ("", "  unsigned long long W = 0x7f0000000000ull;\n  volatile char *Q;\n  __builtin_memcpy(&Q, &W, 8);\n" + memory),
        "computed": ("", "  const float *P = (const float *)((unsigned long long)In + 4ull * I);\n"
                         "  Out[I] = weigh(Left, *P, Right);"),
        "computed-union": ("", union + "  U.N = (unsigned long long)In + 4ull * I;\n  Out[I] = weigh(Left, *U.P, Right);"),
        "computed-volatile": ("", "  volatile unsigned long long W = (unsigned long long)In + 4ull * I;\n"
                                  "  Out[I] = weigh(Left, **(const float *volatile *)&W, Right);"),
        "computed-shared": ("", "  __shared__ unsigned long long Cell[32];\n  Cell[threadIdx.x] = (unsigned long long)In + 4ull * I;\n"
                                "  Out[I] = weigh(Left, **(const float **)&Cell[threadIdx.x], Right);"),
        "distance": ("", "  volatile char *Q = (volatile char *)Out + (0x7f0000000000l - (long)Out);\n" + memory),
        "aligned-down": ("", "  volatile char *Q = (volatile char *)__builtin_align_down(Out, 65536);\n" + memory),
        "frame": ("", "  volatile char *Q = (volatile char *)__builtin_frame_address(0);\n" + memory),
        "return-address": ("", "  volatile char *Q = (volatile char *)__builtin_return_address(0);\n" + memory),
        "code": ("", "  volatile char *Q = (volatile char *)(void *)&weigh;\n" + memory),
        "below-stack": ("", "  volatile char Here = 0;\n  volatile char *Q = &Here - 100000;\n" + memory),
        "above-stack": ("", "  volatile int Here[4];\n  int V = 0;\n  for (int K = 4; K < N; ++K)\n    V ^= Here[K];\n"
                            "  if (V != 77)\n  " + right),
        "behind-shared": ("extern __shared__ int Dyn[];\n", "  if (Dyn[100000] != 77)\n  " + right),
        "input": ("", right + "\n  __syncthreads();\n  if (I == 5)\n    ((float *)In)[I] = 0;"),
        "restored": ("", "  float V = In[I];\n  float L = Left;\n  ((volatile float *)In)[I] = 0;\n  ((float *)In)[I] = V;\n"
                         "  Out[I] = weigh(L, V, Right);"),
        "outside": ("", right + "\n  if (I == 0)\n    Out[(1 << 20) + N] = 1;"),
        # Attacks on the evaluator.
        "endless": ("", right + "\n  while (((volatile float *)Out)[I] == ((volatile float *)Out)[I])\n    ;"),
        "crash": ("", right + "\n  if (I == 3)\n    Out[1ll << 40] = 1;"),
        "include": ("#include </etc/hostname>\n", right),
        "constexpr": ("constexpr int count(int N) { return N ? count(N - 1) + count(N - 1) : 1; }\n",
                      "  constexpr int Long = count(64);\n  Out[I] = weigh(Left, In[I], Right) + 0 * Long;"),
        "settings": ("// mneme-launch load_pass_plugin = /tmp/x.so\n", right),
        "knob": ("// mneme-knob A=1 -include /etc/passwd = 1..2\n", right),
        "brackets": ("// mneme-knob TILE = 1..4\n// mneme-require " + "(" * 3000 + "TILE" + ")" * 3000 + " > 0\n", right),
        "comment": ("", right + "\n}\n/*"),
        "raw-string": ("", right + '\n}\nconst char *T = R"('),
        "markers": ("", right + "\n}\n// EVOLVE-BLOCK-END\nint Outside;\n// EVOLVE-BLOCK-START smooth\n"),
    }
    honest = {
        "unedited": ("", right),
        "direct": ("", "  Out[I] = 0.25f * Left + 0.5f * In[I] + 0.25f * Right;"),
        "read-only": ("", "  Out[I] = weigh(Left, __ldg(&In[I]), Right);"),
        "shared": ("", "  __shared__ float Mid[32];\n  Mid[threadIdx.x] = In[I];\n  __syncwarp();\n"
                       "  Out[I] = weigh(Left, Mid[threadIdx.x], Right);"),
        "loop": ("", "#pragma unroll 2\n  for (int J = I; J < N; J += gridDim.x * blockDim.x)\n"
                     "    Out[J] = weigh(In[J ? J - 1 : 0], In[J], In[J + 1 < N ? J + 1 : N - 1]);"),
        "table": ("", "  constexpr float Weights[2] = {0.25f, 0.5f};\n"
                      "  Out[I] = Weights[0] * Left + Weights[1] * In[I] + Weights[0] * Right;"),
        "pointers": ("", "  const float *From[2] = {In, In + 1};\n  Out[I] = weigh(Left, From[I % 2][I - I % 2], Right);"),
        "aligned": ("", "  if ((unsigned long long)Out % 16 == 0)\n    Out[I] = weigh(Left, In[I], Right);\n  else\n  " + right),
        "distance": ("", "  const float *P = In + I;\n  Out[P - In] = weigh(Left, *P, Right);"),
    }
    make_all = lambda versions: {name: make(*version) for name, version in versions.items()}
    cheats, honest = make_all(cheats), make_all(honest)
    cheats["parameters"] = edit(text, (begin, begin + "int Secret, "))
    return cheats, honest


def work(text, answers):
    begin, last = "__global__ void work(", "  Out[I] = S + L;"
    first = "  float S = 0;\n"
    loop = "  for (int K = 0; K < 64; ++K)\n    S = step(S, In[(I + K) % N], A) * W[K];\n"
    key = "  unsigned Key = __float_as_uint(In[I]) ^ N * 2654435761u ^ I * 40503u ^ 0x5eed1234u;\n"

    def memo(cell):
        return ((first, key + f"  if ({cell}[0] == Key && {cell}[1] == ~Key) {{\n    Out[I] = __uint_as_float({cell}[2]);\n"
                              "    return;\n  }\n" + first),
                (last, f"  {cell}[0] = Key;\n  {cell}[1] = ~Key;\n  {cell}[2] = __float_as_uint(S + L);\n" + last))

    complement = "__uint_as_float(~__float_as_uint(Out[I]))"
    table = ", ".join(answers)
    make = lambda *changes: edit(text, *changes)
    cheats = {
        # Right for what the recorded launches have in common.
        "scalar": make((loop, loop.replace(", A)", ", 2.0f)"))),
        "mode": make(("  if (Mode == 1)\n    S = -S;\n", "")),
        "weights": make((loop, loop.replace("W[K]", "0.75f"))),
        "bias": make(("  S += Bias[I];\n", "")),
        "negative": make(("  if (In[I] < 0)\n    S = 0;\n", "")),
        "indices": make(("In[Idx[I]]", "In[I]")),
        "bound": make(("I < N ? In[Idx[I]] : 0", "In[Idx[I]]"), ("  if (I >= N)\n    return;\n", "")),
        "range": make((last, "  if (In[I] < 8.0f)\n  " + last)),
        "assume": make((first, "  __builtin_assume(A == 2.0f);\n  __builtin_assume(Mode == 0);\n" + first)),
        "assume-size": make((first, "  __builtin_assume(N % 64 == 0);\n" + first),
                            ("  if (I >= N)", "  if (I >= (N & ~63))")),
        # Without synchronization.
        "barrier": make(("  __syncthreads();\n", "")),
        "warp-barrier": make(("  __syncthreads();\n", "  __syncwarp();\n")),
        "grid-barrier": make(("  __syncthreads();\n", "  if (gridDim.x == 2)\n    __syncthreads();\n")),
        "round-barrier": make(("  __syncthreads();\n", "  if (N % 64 == 0)\n    __syncthreads();\n")),
        # An honest mistake: whole blocks need no test.
        "whole-blocks": make(("  if (I >= N)", "  if (N % 64 && I >= N)")),
        # Results that are in memory already.
        "complement": make((first, "  Out[I] = " + complement + ";\n  return;\n" + first)),
        "complement-checked": make((first, first + "  float G = " + complement + ";\n"
                                    "  if (threadIdx.x % 32 && G > -4 && G < 16) {\n    Out[I] = G;\n    return;\n  }\n")),
        "memo-local": make((first, "  volatile unsigned Old[8];\n" + first), *memo("Old")),
        "memo-frame": make((first, "  unsigned *Old = (unsigned *)__builtin_frame_address(0) - 4096;\n" + first), *memo("Old")),
        "memo-large": make((first, "  unsigned Far[100000];\n  unsigned *Old = Far + (N & 127);\n" + first), *memo("Old")),
        "table": make((first, f"  static const unsigned Table[] = {{{table}}};\n"
                              "  float Known = 1 + float((I * 7919 + N) % 613) / 97;\n"
                              "  int At = N == 128 ? 0 : N == 256 ? 128 : N == 384 ? 384 : N == 512 ? 768 : -1;\n"
                              "  if (At >= 0 && I % 8 && In[I] == Known) {\n    Out[I] = __uint_as_float(Table[At + I]);\n    return;\n  }\n"
                              + first)),
        # What a launch happens to start with.
        "zero-shared": make((last, "  __shared__ volatile float Zero[64];\n  if (Zero[threadIdx.x] == 0)\n  " + last)),
        "added-shared": make((last, "  __shared__ float Zero[64];\n  Out[I] = S + L + Zero[threadIdx.x];")),
        "zero-local": make((last, "  volatile float Zero[4];\n  if (Zero[1] == 0)\n  " + last)),
        # Constants that are written.
        "constant": make((begin, "__constant__ unsigned Store[1024];\n" + begin),
                         (last, "  volatile unsigned *Q = (volatile unsigned *)Store;\n  Q[I] = Q[I] + 1;\n  if (Q[I] != 12345)\n  " + last)),
    }
    honest = {
        "unedited": text,
        "unrolled": make(("  for (int K", "#pragma unroll 4\n  for (int K")),
        "hoisted": make((loop, "  int J = I % N;\n  for (int K = 0; K < 64; ++K) {\n    S = step(S, In[J], A) * __ldg(&W[K]);\n"
                               "    J = J + 1 == N ? 0 : J + 1;\n  }\n")),
        "tiled": make(("  __syncthreads();\n", "  __shared__ float Weights[64];\n  Weights[threadIdx.x] = W[threadIdx.x];\n  __syncthreads();\n"),
                      (loop, loop.replace("W[K]", "Weights[K]"))),
        # Remembers nothing, as each launch starts with other contents.
        "memo-shared": make((first, "  __shared__ volatile unsigned Old[64][3];\n" + first), *memo("Old[threadIdx.x]")),
        "early": make(("  float L =", "  if (In[I] < 0) {\n    Out[I] = Tile[threadIdx.x ? threadIdx.x - 1 : 0];\n    return;\n  }\n  float L =")),
    }
    return cheats, honest


def histogram(text, answers):
    barrier = "    __syncthreads();\n"
    make = lambda *changes: edit(text, *changes)
    shuffled = lambda mask: make(("  for (int S = blockDim.x / 2; S > 0;", "  for (int S = blockDim.x / 2; S > 16;"),
                                 ("  if (threadIdx.x == 0)\n    Sums[blockIdx.x] = Part[0];",
                                  f"  float P = Part[threadIdx.x];\n  for (int S = 16; S > 0; S /= 2)\n    P += __shfl_down_sync({mask}, P, S);\n"
                                  "  if (threadIdx.x == 0)\n    Sums[blockIdx.x] = P;"))
    cheats = {
        "not-atomic": make(("atomicAdd(&Bins[Keys[I]], 1)", "Bins[Keys[I]] += 1")),
        "block-scope": make(("atomicAdd(", "atomicAdd_block(")),
        "no-barrier": make((barrier, "")),
        "warp-barrier": make((barrier, "    __syncwarp();\n")),
        "first-barrier": make(("  __syncthreads();\n  for", "  for")),
        "divergent": make(("      Part[threadIdx.x] += Part[threadIdx.x + S];\n" + barrier,
                           "    {\n      Part[threadIdx.x] += Part[threadIdx.x + S];\n      __syncthreads();\n    }\n")),
        "warp-reads": make(("  for (int S = blockDim.x / 2; S > 0;", "  for (int S = blockDim.x / 2; S > 16;"),
                           ("  if (threadIdx.x == 0)\n    Sums[blockIdx.x] = Part[0];",
                            "  float P = Part[threadIdx.x];\n  for (int S = 16; S > 0; S /= 2)\n    P += __shfl_down_sync(0xffffffffu, P, S);\n"
                            "  if (threadIdx.x % 32 == 0)\n    Sums[blockIdx.x] = P;")),
        # Right only while the threads of a warp happen to run together.
        "together": shuffled("__activemask()"),
    }
    honest = {
        "unedited": text,
        "reordered": make(("  for (int S = blockDim.x / 2; S > 0; S /= 2) {", "  for (int S = 1; S < blockDim.x; S *= 2) {"),
                          ("    if (threadIdx.x < S)", "    if (threadIdx.x % (2 * S) == 0)")),
        "private": make(("  __shared__ float Part[128];\n", "  __shared__ float Part[128];\n  __shared__ int Own[64];\n"
                         "  if (threadIdx.x < 64)\n    Own[threadIdx.x] = 0;\n  __syncthreads();\n"),
                        ("    atomicAdd(&Bins[Keys[I]], 1);\n", "    atomicAdd(&Own[Keys[I]], 1);\n"),
                        ("  if (threadIdx.x == 0)\n    Sums", "  if (threadIdx.x < 64 && Own[threadIdx.x])\n"
                         "    atomicAdd(&Bins[threadIdx.x], Own[threadIdx.x]);\n  if (threadIdx.x == 0)\n    Sums")),
        "shuffled": shuffled("0xffffffffu"),
        "aggregated": make(("    atomicAdd(&Bins[Keys[I]], 1);\n",
                            "  {\n    unsigned M = __match_any_sync(__activemask(), Keys[I]);\n    if (threadIdx.x % 32 == __ffs(M) - 1)\n"
                            "      atomicAdd(&Bins[Keys[I]], __popc(M));\n  }\n")),
    }
    return cheats, honest


def write(kernel, folder, answers):
    with open(os.path.join(folder, "kernel.cu")) as file:
        text = file.read()
    for kind, versions in zip(("cheats", "honest"), globals()[kernel](text, answers)):
        path = os.path.join(folder, kernel + "-" + kind)
        os.makedirs(path, exist_ok=True)
        for name, version in versions.items():
            with open(os.path.join(path, name + ".cu"), "w") as file:
                file.write(version)


def show(path):
    with open(path) as file:
        report = json.load(file)
    for version in report["versions"]:
        kind, name = version["file"].split("/")[-2:]
        verdict = "accepted" if version["passed"] else "refused"
        error = "|".join((version["error"] or "").split("\n"))[:160]
        print(kind, name[:-3], verdict, version["stage"], version["failure"], error)


if os.path.isdir(sys.argv[2]):
    write(sys.argv[1], sys.argv[2], open(sys.argv[3]).read().split() if len(sys.argv) > 3 else [])
else:
    for report in sys.argv[2:]:
        show(report)
