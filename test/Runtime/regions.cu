// Launches within mneme_record_begin() and mneme_record_end(): nested, in several
// threads, by name.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// The linker resolves weak references to nothing here.
// RUN: %cuda_cc -O2 -no-pie %s -o %t/static-address

// RUN: llvm-mneme-record --device=host -o %t/any --record-regions --max-recordings=0 -- %t/app 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ANY
// ANY: mneme: warning: mneme_record_end without a mneme_record_begin in the same thread
// ANY: done
// ANY: mneme: 10 launches seen, 6 recorded, 4 skipped
// ANY: 4 skipped: outside the regions to be recorded
// RUN: llvm-mneme-record list %t/any | FileCheck %s --check-prefix=GRIDS
// GRIDS: grid 2x1x1
// GRIDS-NEXT: grid 3x1x1
// GRIDS-NEXT: grid 4x1x1
// GRIDS-NEXT: grid 6x1x1
// GRIDS-NEXT: grid 8x1x1
// GRIDS-NEXT: grid 10x1x1

// RUN: llvm-mneme-record --device=host -o %t/inner --record-regions='^inner' -- %t/app 2>&1 \
// RUN:   | FileCheck %s --check-prefix=INNER
// INNER: done
// INNER: mneme: 10 launches seen, 1 recorded, 9 skipped
// RUN: llvm-mneme-record list %t/inner | FileCheck %s --check-prefix=GRID3
// GRID3: grid 3x1x1

// Launches are counted where they can be recorded.
// RUN: env MNEME_RECORD_REGIONS=outer MNEME_LAUNCHES=2 llvm-mneme-record --device=host \
// RUN:   -o %t/second -- %t/static-address 2>&1 | FileCheck %s --check-prefix=SECOND
// SECOND: done
// SECOND: mneme: 10 launches seen, 1 recorded, 9 skipped
// RUN: llvm-mneme-record list %t/second | FileCheck %s --check-prefix=GRID3

// So are their numbers, also where those are all that tells them apart.
// RUN: llvm-mneme-record --device=host -o %t/numbers --record-regions=outer --record-id=ordinal --launches=2 -- %t/app 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NUMBERS
// NUMBERS: mneme: 10 launches seen, 1 recorded, 9 skipped
// NUMBERS-DAG: {{[0-9]}} skipped: outside the regions to be recorded
// NUMBERS-DAG: {{[0-9]}} skipped: not one of the launches to be recorded
// RUN: llvm-mneme-record list %t/numbers | FileCheck %s --check-prefix=GRID3

// Otherwise regions do not matter.
// RUN: llvm-mneme-record --device=host -o %t/all --max-recordings=0 -- %t/app 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ALL
// ALL: done
// ALL: mneme: 10 launches seen, 10 recorded, 0 skipped
// RUN: %t/app alone

#include "Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/record.h>
#include <thread>

__global__ void mark(int *P) { P[blockIdx.x] = 1; }

static int *D;

static void deep(int Levels) {
  mneme::RecordRegion R(nullptr);
  if (Levels)
    deep(Levels - 1);
  else
    mark<<<8, 1>>>(D);
}

int main(int Argc, char **) {
  if (Argc == 1) {
    OK(cudaMalloc(&D, 64));
    mark<<<1, 1>>>(D);
  }
  mneme_record_begin("outer");
  if (Argc > 1) {
    mneme_record_end();
    return 0;
  }
  mark<<<2, 1>>>(D);
  mneme_record_begin("inner loop");
  mark<<<3, 1>>>(D);
  mneme_record_end();
  mark<<<4, 1>>>(D);
  // Another thread is not in this region, but may have its own.
  std::thread([] {
    mark<<<5, 1>>>(D);
    mneme_record_begin("thread");
    mark<<<6, 1>>>(D);
    mneme_record_end();
  }).join();
  mneme_record_end();
  mark<<<7, 1>>>(D);
  deep(100);
  mark<<<9, 1>>>(D);
  mneme_record_end();
  {
    mneme::RecordRegion R("scope");
    mark<<<10, 1>>>(D);
  }
  OK(cudaDeviceSynchronize());
  printf("done\n");
}
