// Pages are stored once: a second launch costs what it has changed. What is written
// after a launch, and how much all may take.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.*rec
// RUN: llvm-mneme-record --device=host --kernel=touch --max-recordings=1 -o %t.one.rec -- %t
// RUN: llvm-mneme-record --device=host --kernel=touch -o %t.two.rec -- %t
// RUN: %python -c "import os, sys; \
// RUN:   one, two = (sum(e.stat().st_size for e in os.scandir(d)) for d in sys.argv[1:]); \
// RUN:   assert one > 32 << 20, one; assert two - one < 128 << 10, two - one" %t.one.rec %t.two.rec
// RUN: find %t.two.rec -name 'DeviceState.*' -size +2k | count 0
// RUN: llvm-mneme-record check %t.two.rec | FileCheck %s --check-prefix=TWO
// TWO: 1 kernel, 2 instances, 0 problems
// RUN: for id in $(sed -n 's/^    "\([0-9a-f]*\)": {$/\1/p' %t.two.rec/*.json); do llvm-mneme-replay %t.two.rec --record-id=$id --passes='default<O1>' \
// RUN:   || exit 1; done | FileCheck %s --check-prefix=REPLAY
// REPLAY-COUNT-2: "verified": true

// Another process finds the pages in the folder, also for another kernel.
// RUN: llvm-mneme-record --device=host --kernel=other -o %t.two.rec -- %t
// RUN: %python -c "import os, sys; \
// RUN:   one, two = (sum(e.stat().st_size for e in os.scandir(d)) for d in sys.argv[1:]); \
// RUN:   assert two - one < 192 << 10, two - one" %t.one.rec %t.two.rec
// RUN: llvm-mneme-record check %t.two.rec

// Several launchers at once.
// RUN: for i in 1 2 3; do llvm-mneme-record --device=host --quiet -o %t.race.rec -- %t & done; wait
// RUN: llvm-mneme-record check %t.race.rec 2>&1 | FileCheck %s --check-prefix=RACE --implicit-check-not=warning
// RACE: 2 kernels, 3 instances, 0 problems
// RUN: ls -A %t.race.rec | not grep -e recording- -e tmp

// All pages after the launch: as many runs, no more bytes, and the same replay.
// RUN: llvm-mneme-record --device=host --kernel=touch --epilogue=full -o %t.full.rec -- %t
// RUN: env MNEME_EPILOGUE=best llvm-mneme-record --device=host --kernel=touch -o %t.best.rec -- %t
// RUN: llvm-mneme-record show %t.full.rec > %t.full.txt && llvm-mneme-record show %t.two.rec > %t.two.txt
// RUN: FileCheck %s --check-prefix=SHOW --input-file=%t.full.txt
// RUN: FileCheck %s --check-prefix=SHOW --input-file=%t.two.txt
// SHOW: buffer 0: 32.0 MiB (33554432 bytes) {{.*}}, 16448 bytes changed
// RUN: %python -c "import os, sys, glob; \
// RUN:   full, best = (sum(os.path.getsize(f) for f in glob.glob(d + '/DeviceState.epi*')) for d in sys.argv[1:]); \
// RUN:   assert full > best, (full, best)" %t.full.rec %t.best.rec
// RUN: for id in $(sed -n 's/^    "\([0-9a-f]*\)": {$/\1/p' %t.full.rec/*.json); do llvm-mneme-replay %t.full.rec --record-id=$id --passes='default<O1>' \
// RUN:   || exit 1; done | FileCheck %s --check-prefix=REPLAY
// RUN: not llvm-mneme-record --device=host --epilogue=all -o %t.x.rec -- %t 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: error: --epilogue='all': expected one of diff, full, best

// A limit: what fits is recorded, what does not ends it.
// RUN: llvm-mneme-record --device=host --max-bytes=1000000 -o %t.limit.rec -- %t 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: mneme: warning: kernel '{{.*}}touch{{.*}}' is not recorded: the output directory would hold more than --max-bytes
// LIMIT: the program goes on
// LIMIT: 3 launches seen, 0 recorded, 3 skipped
// LIMIT: 3 skipped: the output directory would hold more than --max-bytes
// RUN: find %t.limit.rec -name '*Pages*' | count 0
// RUN: llvm-mneme-record --device=host --max-bytes=33790000 -o %t.fits.rec -- %t 2>&1 | FileCheck %s --check-prefix=FITS
// FITS: 3 launches seen, 1 recorded, 2 skipped
// FITS: 2 skipped: the output directory would hold more than --max-bytes
// RUN: llvm-mneme-record check %t.fits.rec
// RUN: llvm-mneme-record --device=host --max-bytes=33790000 -o %t.fits.rec -- %t 2>&1 | FileCheck %s --check-prefix=STILL
// STILL: 3 launches seen, 0 recorded, 3 skipped

#include "Inputs/check.h"
#include <cuda_runtime.h>
#include <vector>

__global__ void touch(unsigned *P) { ++P[blockIdx.x * blockDim.x + threadIdx.x]; }
__global__ void other(unsigned *P) { ++P[blockIdx.x * blockDim.x + threadIdx.x]; }

int main() {
  const size_t N = 8 << 20;
  std::vector<unsigned> H(N);
  unsigned Random = 1;
  for (unsigned &V : H) // Does not compress.
    V = Random = Random * 1664525 + 1013904223;
  unsigned *D;
  OK(cudaMalloc(&D, N * 4));
  OK(cudaMemcpy(D, H.data(), N * 4, cudaMemcpyHostToDevice));
  touch<<<64, 256>>>(D);
  touch<<<128, 128>>>(D);
  other<<<64, 256>>>(D);
  OK(cudaDeviceSynchronize());
  printf("the program goes on\n");
}
