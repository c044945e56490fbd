// Where ROCm is comes from the environment of the program, and code is kept apart by it.
//
// RUN: rm -rf %t && mkdir -p %t/1/include/hip %t/1/share/hip
// RUN: touch %t/1/include/hip/hip_runtime.h
// RUN: echo HIP_VERSION_MAJOR=6 > %t/1/share/hip/version && echo HIP_VERSION_MINOR=0 >> %t/1/share/hip/version
// RUN: cp -r %t/1 %t/2
// RUN: echo 'enum { Value = 1 };' > %t/1/include/value.h
// RUN: echo 'enum { Value = 2 };' > %t/2/include/value.h
// RUN: %source_cxx %s -o %t/app
// DEFINE: %{app} = MNEME_JIT_CACHE=%t/cache %t/app -nogpulib -D__AMDGCN_WAVEFRONT_SIZE=64 -L%hip_folder
// RUN: %emulated_amd ROCM_PATH=%t/1 %{app} > %t/out
// RUN: %emulated_amd ROCM_PATH=%t/2 %{app} >> %t/out
// RUN: FileCheck %s < %t/out
// CHECK: value 1
// CHECK: value 2

#include <cstdio>
#include <mneme/jit_module.h>

int main(int NumArgs, char **Args) {
  mneme::jit_module M(mneme::jit_target::host_hip, "#include <value.h>\nextern \"C\" int value() { return Value; }",
                      {Args + 1, Args + NumArgs});
  auto Value = M.function<int()>("value");
  if (M.compile())
    std::printf("value %d\n", Value());
  std::fputs(M.error().c_str(), stdout);
}
