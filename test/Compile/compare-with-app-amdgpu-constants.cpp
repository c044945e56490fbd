// Local constants have no symbols. They are compared by their values, wherever they are.
//
// REQUIRES: clang, amdgpu-registered-target, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC %S/../Instrument/Inputs/minihip.cpp -o %t/libamdhip64.so
// DEFINE: %{build} = %clangxx -x hip -std=c++17 -O2 -nogpuinc -nogpulib -fdeclspec --offload-arch=gfx90a -fpass-plugin=%mneme_pass \
// DEFINE:   -include %S/../Instrument/Inputs/minihip.h %s -L%t -Wl,-rpath,%t
// DEFINE: %{compare} = llvm-mneme-replay %t/rec --no-execute --format=text --compare-with-app=%t
// RUN: %{build} -o %t/app && llvm-mneme-record --device=host --kernel=pick -o %t/rec -- %t/app
// RUN: %{compare}/app | FileCheck %s --check-prefix=SAME
// SAME: machine code    identical to {{.*}}app except for the addresses of variables
//
// Without the other kernel, with the constant at the same place and at another one.
// RUN: %{build} -DALONE -o %t/alone && %{compare}/alone | FileCheck %s --check-prefix=ALONE
// ALONE: machine code    identical to {{.*}}alone
// RUN: %{build} -DALONE -DVALUE=7 -o %t/other && not %{compare}/other | FileCheck %s --check-prefix=OTHER
// RUN: %{build} -DVALUE=7 -o %t/other && not %{compare}/other | FileCheck %s --check-prefix=OTHER
// OTHER: machine code    differs from {{.*}}other (instruction
//
// Instructions may refer to the middle of a constant: its values before the place count, too. The table of eight has a
// symbol in objects, as it can be merged.
// DEFINE: %{more} =
// DEFINE: %{index} = X[threadIdx.x] %% 4 + 3
// DEFINE: %{indexed} = %{build} '-DINDEX(X)=%{index}' '-DMORE=%{more}'
// DEFINE: %{record} = rm -rf %t/rec && llvm-mneme-record --device=host --kernel=pick -o %t/rec -- %t/app
// RUN: %{indexed} -o %t/app && %{record} && %{compare}/app | FileCheck %s --check-prefix=SAME
// RUN: %{indexed} -DFIRST=7 -o %t/other && not %{compare}/other | FileCheck %s --check-prefix=OTHER
// REDEFINE: %{more} = , 8
// RUN: %{indexed} -o %t/app && %{record} && %{compare}/app | FileCheck %s --check-prefix=SAME
// RUN: %{indexed} -DALONE -o %t/alone && %{compare}/alone | FileCheck %s --check-prefix=ALONE
// RUN: %{indexed} -DFIRST=7 -o %t/other && not %{compare}/other | FileCheck %s --check-prefix=OTHER
// RUN: %{indexed} -DALONE -DFIRST=7 -o %t/other && not %{compare}/other | FileCheck %s --check-prefix=OTHER
//
// The place may be in the descriptor before the constant, or in another section.
// REDEFINE: %{index} = (long)(X[threadIdx.x] + 1u) - 1
// RUN: %{indexed} -DALONE -o %t/app && %{record}
// RUN: %{indexed} -DALONE -DFIRST=7 -o %t/other && not %{compare}/other | FileCheck %s --check-prefix=OTHER
// REDEFINE: %{index} = (long)(X[threadIdx.x] + 100u) - 100
// RUN: %{indexed} -DALONE -o %t/app && %{record}
// RUN: %{indexed} -DALONE -DFIRST=7 -o %t/other && not %{compare}/other | FileCheck %s --check-prefix=OTHER

#ifndef VALUE
#define VALUE 6
#endif
#ifndef FIRST
#define FIRST 3
#endif
#ifndef MORE
#define MORE
#endif
#ifndef INDEX
#define INDEX(X) X[threadIdx.x] & 7
#endif

#ifndef ALONE
__global__ void first(const int *X, int *Y) {
  const int Table[8] = {3, 1, 4, 1, 5, 9, 2, 5};
  Y[threadIdx.x] = Table[X[threadIdx.x] & 7];
}
#endif

__global__ void pick(const int *X, int *Y) {
  const int Table[] = {FIRST, 1, 4, 1, 5, 9, 2, VALUE MORE};
  Y[threadIdx.x] = Table[INDEX(X)];
}

int main() {
  int *X, *Y;
  hipMalloc((void **)&X, 64 * sizeof(int));
  hipMalloc((void **)&Y, 64 * sizeof(int));
#ifndef ALONE
  first<<<1, 64>>>(X, Y);
#endif
  pick<<<1, 64>>>(X, Y);
}
