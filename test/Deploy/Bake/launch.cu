// The launch stub covers the threads of a launch with the tuned blocks, if the
// kernel is proven to depend on the global index only. Launches with other
// blocks, and those that cannot be covered, are not changed.
//
// DEFINE: %{shape} =
// DEFINE: %{tune} = llvm-mneme-replay rec %{shape} > replay.json \
// DEFINE:   && %best replay.json best.json "" rec
// DEFINE: %{bake} = %baking_cc -O2 %s -mllvm -mneme-apply=best.json
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %cuda_cc -O2 %s -o app
// RUN: llvm-mneme-record -o rec --device=host --quiet --max-recordings=1 -- %t/app
// RUN: llvm-mneme-record list rec | FileCheck %s --check-prefix=PLAIN
// PLAIN: grid 30x1x1, block 128x1x1
//
// REDEFINE: %{shape} = --block-dim-x=96 --grid-dim-x=40
// RUN: %{tune}
// RUN: %{bake} -o baked
// RUN: llvm-mneme-record -o changed --device=host --quiet -- %t/baked
// RUN: llvm-mneme-record list changed | FileCheck %s
// CHECK-DAG: grid 40x1x1, block 96x1x1
// CHECK-DAG: grid 32x1x1, block 128x1x1
// CHECK-DAG: grid 15x1x1, block 256x1x1
// RUN: llvm-mneme-replay rec --config=best.json --no-execute --format=text \
// RUN:   --compare-with-app=baked | FileCheck %s --check-prefix=CODE
// CODE: machine code    identical to baked
//
// The rule is for the host compilation of the same command.
// RUN: not %{bake} --offload-device-only -c -o x 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ALONE
// ALONE: error: mneme: the launch of '_Z5scalePii' must be changed, too: compile both sides in one command
//
// RUN: not %{bake} --offload-arch=sm_80 -o x 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ARCHS
// ARCHS: error: mneme: tuned kernels of '{{.*}}launch.cu' have other launches for some architectures only: compile for one, or use a package
//
// REDEFINE: %{shape} = --block-dim-x=96 --grid-dim-x=41
// RUN: %{tune}
// RUN: not %{bake} -o x 2>&1 | FileCheck %s --check-prefix=THREADS
// THREADS: error: mneme: 'best.json': kernel '_Z5scalePii': another launch may give other results: it changes the number of threads; a package can serve the verified launches (llvm-mneme-deploy pack --launch-shape=verified), or tune without changing the launch
//
// REDEFINE: %{shape} = --block-dim-x=96 --grid-dim-x=40 --set-launch-bounds
// RUN: %{tune}
// RUN: not %{bake} -o x 2>&1 | FileCheck %s --check-prefix=BOUNDS
// BOUNDS: error: mneme: 'best.json': kernel '_Z5scalePii': its launch bounds exclude the recorded block: use a package
//
// RUN: rm -rf rec
// RUN: %cuda_cc -O2 -DUSES_THREAD %s -o thread
// RUN: llvm-mneme-record -o rec --device=host --quiet --max-recordings=1 -- %t/thread
// REDEFINE: %{shape} = --block-dim-x=96 --grid-dim-x=40
// RUN: %{tune}
// RUN: not %{bake} -DUSES_THREAD -o x 2>&1 | FileCheck %s --check-prefix=UNPROVEN
// UNPROVEN: another launch may give other results: threadIdx.x is used other than in the global index;

__global__ void scale(int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = i * 3 + 1;
#ifdef USES_THREAD
  // For even blocks, the same as (i & 1).
  if (i < n)
    x[i] += threadIdx.x & 1;
#endif
}

int main() {
  int *d;
  cudaMalloc(&d, 4096 * sizeof(int));
  for (int grid : {30, 32})
    scale<<<grid, 128>>>(d, grid * 128);
  scale<<<15, 256>>>(d, 3840);
  cudaFree(d);
}
