// Regions that a program marks for profilers, without Mneme's header: NVTX, Kokkos Tools, and cudaProfilerStart.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app -ldl
// DEFINE: %{record} = llvm-mneme-record --device=host --max-recordings=0
// RUN: %{record} -o %t/any --record-regions -- %t/app 2>&1 | FileCheck %s --check-prefix=ANY
// ANY: mneme: 11 launches seen, 8 recorded, 3 skipped
// ANY: 3 skipped: outside the regions to be recorded
//
// RUN: %{record} -o %t/push --record-regions='^push' -- %t/app 2>&1 | FileCheck %s --check-prefix=PUSH
// PUSH: mneme: 11 launches seen, 3 recorded, 8 skipped
// RUN: llvm-mneme-record list %t/push | FileCheck %s --check-prefix=PUSHED
// PUSHED: grid 2x1x1
// PUSHED-NEXT: grid 3x1x1
// PUSHED-NEXT: grid 5x1x1
//
// A range with a start and an end is one of all threads.
// RUN: %{record} -o %t/start --record-regions='^start' -- %t/app 2>&1 | FileCheck %s --check-prefix=START
// START: mneme: 11 launches seen, 1 recorded, 10 skipped
// RUN: llvm-mneme-record list %t/start | FileCheck %s --check-prefix=STARTED
// STARTED: grid 6x1x1
//
// RUN: %{record} -o %t/registered --record-regions='^registered$' -- %t/app 2>&1 | FileCheck %s --check-prefix=REGISTERED
// REGISTERED: mneme: 11 launches seen, 1 recorded, 10 skipped
// RUN: %{record} -o %t/kokkos --record-regions='^kokkos$' -- %t/app 2>&1 | FileCheck %s --check-prefix=KOKKOS
// KOKKOS: mneme: 11 launches seen, 1 recorded, 10 skipped
//
// The profiler starts once, however often it is started.
// RUN: %{record} -o %t/profiler --record-regions='^cudaProfiler$' -- %t/app 2>&1 | FileCheck %s --check-prefix=PROFILER
// PROFILER: mneme: 11 launches seen, 2 recorded, 9 skipped
//
// Another tool of the user's stays.
// RUN: env NVTX_INJECTION64_PATH=/other.so %{record} -o %t/other --record-regions -- %t/app 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: warning: NVTX_INJECTION64_PATH is set: ranges of NVTX are no regions
// OTHER: mneme: 11 launches seen, 3 recorded, 8 skipped

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>
#include <thread>

__global__ void mark(int *P) { P[blockIdx.x] = 1; }

static int *D;
static void launch(int Grid) {
  cudaMemset(D, 0, 64);
  mark<<<Grid, 1>>>(D);
}

/// As Kokkos does it.
template <typename... T> static void callTool(const char *Name, T... Args) {
  const char *Path = getenv("KOKKOS_TOOLS_LIBS");
  void *Tool = Path ? dlopen(Path, RTLD_NOW) : nullptr;
  if (void *Function = Tool ? dlsym(Tool, Name) : nullptr)
    reinterpret_cast<void (*)(T...)>(Function)(Args...);
}

static nvtxEventAttributes_t attributes(nvtxMessageType_t Type) {
  nvtxEventAttributes_t A = {};
  A.version = NVTX_VERSION;
  A.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  A.messageType = Type;
  return A;
}

int main() {
  cudaMalloc(&D, 64);
  launch(1);
  nvtxRangePushA("push");
  launch(2);
  nvtxEventAttributes_t A = attributes(NVTX_MESSAGE_TYPE_ASCII);
  A.message.ascii = "inner";
  nvtxRangePushEx(&A);
  launch(3);
  nvtxRangePop();
  nvtxRangePop();
  launch(4);
  nvtxDomainHandle_t Domain = nvtxDomainCreateA("domain");
  A.message.ascii = "push of a domain";
  nvtxDomainRangePushEx(Domain, &A);
  launch(5);
  nvtxDomainRangePop(Domain);
  nvtxRangeId_t Id = nvtxRangeStartA("start");
  std::thread([] { launch(6); }).join();
  nvtxRangeEnd(Id);
  nvtxEventAttributes_t R = attributes(NVTX_MESSAGE_TYPE_REGISTERED);
  R.message.registered = nvtxDomainRegisterStringA(Domain, "registered");
  nvtxDomainRangePushEx(Domain, &R);
  launch(7);
  nvtxDomainRangePop(Domain);
  callTool("kokkosp_push_profile_region", "kokkos");
  launch(8);
  callTool("kokkosp_pop_profile_region");
  cudaProfilerStart();
  cudaProfilerStart();
  launch(9);
  std::thread([] { launch(10); }).join();
  cudaProfilerStop();
  launch(11);
  nvtxRangePop(); // Of nothing.
  cudaDeviceSynchronize();
}
