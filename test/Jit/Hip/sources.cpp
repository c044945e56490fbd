// Kernels of HIP that are compiled at run time: of C++, instances of templates, of LLVM IR and of the builder, over the emulated HIP
// runtime and on the host device. The architecture is that of the device.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %source_cxx %s -o %t/app
// RUN: %emulated_amd %t/app print %hip_options > %t/kernels.hip
// RUN: %hip_ir --offload-arch=gfx90a -O2 -emit-llvm -c %t/kernels.hip -o %t/kernels.bc
// DEFINE: %{jit} = MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report
// DEFINE: %{gpu} = %emulated_amd MNEME_EMULATED_KERNELS=%t/kernels.bc %{jit}
// RUN: %{gpu} %t/app run %hip_options | FileCheck %s
// CHECK: scale 0: 0 2 4 6
// CHECK-NEXT: add 0: 3 5 7 9
// CHECK-NEXT: shared 0: 9 7 5 3
// CHECK-NEXT: built 0: 10 8 6 4
// CHECK-NEXT: ir 0: 11 9 7 5
// CHECK-NEXT: error: the module has no kernels: give them the calling convention amdgpu_kernel
// CHECK-NEXT: error: MLIR for AMD GPUs is not supported: lower it to LLVM IR
// CHECK-NEXT: error: nvcc does not compile HIP: use clang
// RUN: FileCheck %s --check-prefix=FIRST < %t/report
// FIRST: "kind": "library with HIP kernels", {{.*}}"origin": "compiled"
// RUN: %{gpu} %t/app run %hip_options | FileCheck %s
// RUN: FileCheck %s --check-prefix=SECOND --implicit-check-not='"origin": "compiled"' < %t/report
// SECOND: "kind": "library with HIP kernels", {{.*}}"origin": "cache"
//
// What an option hides is not what launches instances.
// RUN: %{gpu} %t/app run %hip_options -fvisibility=hidden 2>&1 | FileCheck %s --check-prefix=HIDDEN
// HIDDEN: scale 0: 0 2 4 6
// HIDDEN-NEXT: add 0: 3 5 7 9
//
// They are recorded on both, and replay.
// RUN: %{gpu} llvm-mneme-record -o %t/rec --device=hip --any-executable -- %t/app run %hip_options 2>&1 | FileCheck %s --check-prefix=RECORD
// RECORD: 5 launches seen, 5 recorded
// RUN: llvm-mneme-replay %t/rec --all --device=host | FileCheck %s --check-prefix=REPLAY
// REPLAY-COUNT-5: "verdict": "Match"
// RUN: %emulated_amd %{jit} llvm-mneme-record --no-record --quiet --device=host --any-executable -- %t/app run %hip_options | FileCheck %s

#include <cstdio>
#include <cstring>
#include <mneme/jit_builder.h>

using namespace mneme;
namespace gpu = mneme::builder::builtins::gpu;

extern "C" {
int hipMalloc(void **, size_t);
int hipMemcpy(void *, const void *, size_t, int);
}

static const char *Code = R"(
extern "C" __global__ void scale(float *X, float A) { X[threadIdx.x] *= A; }
template <int N> __global__ void add(float *X) { X[threadIdx.x] += N; }
extern "C" __global__ void shared(float *X) {
  __shared__ float S[64];
  S[threadIdx.x] = X[threadIdx.x];
  __syncthreads();
  X[threadIdx.x] = S[blockDim.x - 1 - threadIdx.x];
}
)";

static const char *IRText = R"(
define amdgpu_kernel void @ir(ptr addrspace(1) %x) {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr float, ptr addrspace(1) %x, i32 %t
  %v = load float, ptr addrspace(1) %p
  %s = fadd float %v, 1.0
  store float %s, ptr addrspace(1) %p
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x())";

int main(int argc, char **argv) {
  std::vector<std::string> Options(argv + 2, argv + argc);
  builder::Module Builder(jit_target::hip, Options);
  auto Built = Builder.addKernel<void(float *)>("built");
  Built.F.function([&] {
    auto &F = Built.F;
    auto I = F.callBuiltin(gpu::getThreadIdX);
    F.getArg<0>()[I] += 1.0f;
    F.ret();
  });
  if (!std::strcmp(argv[1], "print")) {
    std::printf("%stemplate __global__ void add<3>(float *);\n", Code);
    std::printf("extern \"C\" __global__ void ir(float *X) { X[threadIdx.x] += 1; }\n");
    Builder.print();
    return 0;
  }
  float Host[4] = {0, 1, 2, 3}, *X;
  hipMalloc((void **)&X, sizeof(Host));
  hipMemcpy(X, Host, sizeof(Host), 1);
  auto Show = [&](const char *Name, int Error) {
    hipMemcpy(Host, X, sizeof(Host), 2);
    std::printf("%s %d: %g %g %g %g\n", Name, Error, Host[0], Host[1], Host[2], Host[3]);
  };
  jit_module M(jit_target::hip, Code, Options), IR(jit_target::hip, IRText, Options, jit_language::llvm_ir);
  Show("scale", M.kernel<void(float *, float)>("scale").launch(1, 4, 0, nullptr, X, 2));
  Show("add", M.instantiate("add", "3").launch(1, 4, 0, nullptr, X));
  Show("shared", M.kernel<void(float *)>("shared").launch(1, 4, 0, nullptr, X));
  Show("built", Built.launch(1, 4, 0, nullptr, X));
  Show("ir", IR.kernel<void(float *)>("ir").launch(1, 4, 0, nullptr, X));
  jit_module None(jit_target::hip, "define void @f() { ret void }", Options, jit_language::llvm_ir),
      MLIR(jit_target::hip, "", {}, jit_language::mlir), Nvcc(jit_target::hip, "", {}, jit_language::cpp, jit_compiler::nvcc);
  for (jit_module *Each : {&M, &IR, &None, &MLIR, &Nvcc}) {
    Each->compile();
    std::printf("%s", Each->error().c_str());
  }
  std::printf("%s", Builder.error().c_str());
}
