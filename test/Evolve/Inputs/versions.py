"""versions.py FOLDER: writes versions of the kernel in FOLDER/kernel.cu (smooth.cu) to FOLDER/cheats and FOLDER/honest.
versions.py FOLDER REPORT: prints for each version in a report of llvm-mneme-evolve what became of it.

The cheats are those that are known of generated kernels: they skip work, remember results, recognize the evaluation, read or
write what is not theirs, or attack the compiler."""
import json
import os
import sys

RIGHT = "  Out[I] = weigh(Left, In[I], Right);"
BEGIN = "__global__ void smooth("

# Name: (text before the kernel, replacement of the statement that writes the result). None: another edit, below.
CHEATS = {
    # Less work.
    "empty": ("", ""),
    "half": ("", "  if (I % 2)\n  " + RIGHT),
    "identity": ("", "  Out[I] = In[I];"),
    "precision": ("", "  Out[I] = __uint_as_float(__float_as_uint(weigh(Left, In[I], Right)) & 0xffffe000);"),
    # The launches of the training only.
    "sizes": ("", "  if (N < 256)\n  " + RIGHT),
    "sentinel": ("", "  if (In[0] == 5.0f)\n  " + RIGHT),
    # State between launches.
    "counter": ("__device__ int Launches;\n", "  if (atomicAdd(&Launches, 1) < 1000)\n  " + RIGHT),
    "cache": ("__device__ float Known[256];\n__device__ int IsKnown;\n",
              "  if (!IsKnown)\n    Known[I] = weigh(Left, In[I], Right);\n  IsKnown = 1;\n  Out[I] = Known[I];"),
    "skip": ("", "  if (Out[I] == 0)\n  " + RIGHT),
    # Recognition of the evaluation.
    "clock": ("", "  if (clock64() != 0)\n  " + RIGHT),
    "timer": ("", '  unsigned long long T;\n  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(T));\n'
                  "  if (T != 1)\n  " + RIGHT),
    "multiprocessor": ("", "  if (__nvvm_read_ptx_sreg_smid() < 4096)\n  " + RIGHT),
    # Code and memory of others.
    "assembly": ("", RIGHT + '\n  asm volatile("exit;");'),
    "malloc": ("", "  float *Mine = (float *)malloc(64);\n  if (!Mine)\n  " + RIGHT),
    "undefined": ('extern "C" __device__ void steal(float *);\n', RIGHT + "\n  steal(Out);"),
    "address": ("", "  if (*(volatile float *)0x7f0000000000ull == 0)\n  " + RIGHT),
    "computed": ("", "  const float *P = (const float *)((unsigned long long)In + 4ull * I);\n"
                     "  Out[I] = weigh(Left, *P, Right);"),
    "input": ("", RIGHT + "\n  __syncthreads();\n  if (I == 5)\n    ((float *)In)[I] = 0;"),
    "outside": ("", RIGHT + "\n  if (I == 0)\n    Out[(1 << 20) + N] = 1;"),
    # Attacks on the evaluator.
    "endless": ("", RIGHT + "\n  while (((volatile float *)Out)[I] == ((volatile float *)Out)[I])\n    ;"),
    "crash": ("", RIGHT + "\n  if (I == 3)\n    Out[1ll << 40] = 1;"),
    "include": ("#include </etc/hostname>\n", RIGHT),
    "constexpr": ("constexpr int count(int N) { return N ? count(N - 1) + count(N - 1) : 1; }\n",
                  "  constexpr int Long = count(64);\n  Out[I] = weigh(Left, In[I], Right) + 0 * Long;"),
    "parameters": None,
}
HONEST = {
    "unedited": ("", RIGHT),
    "direct": ("", "  Out[I] = 0.25f * Left + 0.5f * In[I] + 0.25f * Right;"),
    "read-only": ("", "  Out[I] = weigh(Left, __ldg(&In[I]), Right);"),
    "shared": ("", "  __shared__ float Mid[32];\n  Mid[threadIdx.x] = In[I];\n  __syncwarp();\n"
                   "  Out[I] = weigh(Left, Mid[threadIdx.x], Right);"),
    "loop": ("", "#pragma unroll 2\n  for (int J = I; J < N; J += gridDim.x * blockDim.x)\n"
                 "    Out[J] = weigh(In[J ? J - 1 : 0], In[J], In[J + 1 < N ? J + 1 : N - 1]);"),
    "table": ("",
              "  constexpr float Weights[2] = {0.25f, 0.5f};\n  Out[I] = Weights[0] * Left + Weights[1] * In[I] + Weights[0] * Right;"),
}


def write(folder):
    with open(os.path.join(folder, "kernel.cu")) as file:
        text = file.read()
    for kind, versions in (("cheats", CHEATS), ("honest", HONEST)):
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
        for name, edit in versions.items():
            if edit is None:
                version = text.replace(BEGIN, BEGIN + "int Secret, ")
            else:
                version = text.replace(BEGIN, edit[0] + BEGIN).replace(RIGHT, edit[1])
            with open(os.path.join(folder, kind, name + ".cu"), "w") as file:
                file.write(version)


def show(path):
    with open(path) as file:
        report = json.load(file)
    for version in report["versions"]:
        kind, name = version["file"].split("/")[-2:]
        verdict = "accepted" if version["passed"] else "refused"
        print(kind, name[:-3], verdict, version["stage"], version["failure"], "|".join((version["error"] or "").split("\n"))[:100])


if len(sys.argv) == 2:
    write(sys.argv[1])
else:
    show(sys.argv[2])
