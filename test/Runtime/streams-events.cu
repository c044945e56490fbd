// REQUIRES: cuda-toolkit
// RUN: %cuda_cc %s -o %t
// RUN: env LD_PRELOAD=%mneme_rt %t | FileCheck %s
// RUN: %cuda_cc -DCUDA_API_PER_THREAD_DEFAULT_STREAM %s -o %t.ptds
// RUN: env LD_PRELOAD=%mneme_rt %t.ptds | FileCheck %s

#include "Inputs/check.h"
#include <chrono>
#include <cuda_runtime.h>
#include <unistd.h>

static void note(void *Data) { ++*(int *)Data; }

static cudaStream_t Seen;
static void callback(cudaStream_t S, cudaError_t Status, void *Data) {
  Seen = S;
  *(int *)Data = Status;
}

int main() {
  cudaStream_t S, T;
  int Least, Greatest, Priority;
  unsigned Flags;
  OK(cudaStreamCreate(&S));
  OK(cudaDeviceGetStreamPriorityRange(&Least, &Greatest));
  CHECK(Greatest < Least);
  OK(cudaStreamCreateWithPriority(&T, cudaStreamNonBlocking, Greatest));
  OK(cudaStreamGetPriority(T, &Priority));
  CHECK(Priority == Greatest);
  OK(cudaStreamGetFlags(T, &Flags));
  CHECK(Flags == cudaStreamNonBlocking);
  unsigned long long IdS, IdT;
  OK(cudaStreamGetId(S, &IdS));
  OK(cudaStreamGetId(T, &IdT));
  CHECK(IdS != IdT);
  OK(cudaStreamQuery(S));
  OK(cudaStreamSynchronize(cudaStreamLegacy));
  OK(cudaStreamSynchronize(cudaStreamPerThread));
  cudaStreamCaptureStatus Capture;
  OK(cudaStreamIsCapturing(S, &Capture));
  CHECK(Capture == cudaStreamCaptureStatusNone);

  // Host work runs where it stands in the stream.
  int Count = 0, Status = -1;
  OK(cudaLaunchHostFunc(S, note, &Count));
  OK(cudaStreamAddCallback(T, callback, &Status, 0));
  OK(cudaStreamSynchronize(S));
  OK(cudaStreamSynchronize(T));
  CHECK(Count == 1 && Status == cudaSuccess && Seen == T);

  // Events measure real time.
  cudaEvent_t A, B, NoTime;
  float Ms;
  OK(cudaEventCreate(&A));
  OK(cudaEventCreateWithFlags(&B, cudaEventBlockingSync));
  OK(cudaEventCreateWithFlags(&NoTime, cudaEventDisableTiming));
  EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&Ms, A, B));
  auto Begin = std::chrono::steady_clock::now();
  OK(cudaEventRecord(A, S));
  usleep(20000);
  OK(cudaEventRecord(B, S));
  OK(cudaStreamWaitEvent(T, B, 0));
  OK(cudaEventSynchronize(B));
  OK(cudaEventQuery(B));
  OK(cudaEventElapsedTime(&Ms, A, B));
  std::chrono::duration<float, std::milli> Elapsed =
      std::chrono::steady_clock::now() - Begin;
  CHECK(Ms >= 19 && Ms <= Elapsed.count() + 1);
  OK(cudaEventElapsedTime(&Ms, B, A));
  CHECK(Ms <= -19);
  OK(cudaEventRecord(NoTime));
  EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&Ms, A, NoTime));

  // Stale handles.
  OK(cudaEventDestroy(A));
  EXPECT(cudaErrorInvalidResourceHandle, cudaEventRecord(A, S));
  EXPECT(cudaErrorInvalidResourceHandle, cudaEventDestroy(A));
  OK(cudaStreamDestroy(S));
  EXPECT(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(S));
  EXPECT(cudaErrorInvalidResourceHandle, cudaStreamDestroy(S));
  EXPECT(cudaErrorInvalidResourceHandle, cudaMemsetAsync(nullptr, 0, 0, S));
  EXPECT(cudaErrorInvalidResourceHandle, cudaGetLastError());
  OK(cudaGetLastError());
  // CHECK: all as it should be
  printf("all as it should be\n");
}
