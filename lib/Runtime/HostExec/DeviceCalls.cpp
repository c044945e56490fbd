//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Functions that compiled kernels call: traps, printf, assert, the device
/// heap, clocks.
///
//===----------------------------------------------------------------------===//

#include "Executor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

using namespace mneme::host;

//===----------------------------------------------------------------------===//
// Ending a kernel
//===----------------------------------------------------------------------===//

extern "C" void __mneme_host_trap() {
  Worker &W = *TheWorker;
  const uint32_t *At = W.Active->Block.BlockIdx;
  leaveKernel(W, MNEME_HOST_TRAP, "trap in kernel '%s', block (%u,%u,%u)",
              W.Launch->Kernel->Name, At[0], At[1], At[2]);
}

extern "C" void __mneme_host_unsupported(const char *What) {
  Worker &W = *TheWorker;
  leaveKernel(W, MNEME_HOST_UNSUPPORTED,
              "kernel '%s' executed '%s', which the host device does not have",
              W.Launch->Kernel->Name, What);
}

/// Implements CUDA's assert() with CUDA's message.
extern "C" void __assertfail(const char *Message, const char *File,
                             uint32_t Line, const char *Function, size_t) {
  Worker &W = *TheWorker;
  const uint32_t *B = W.Active->Block.BlockIdx;
  const uint32_t *T = W.Current->ThreadIdx;
  if (!Function || !*Function)
    Function = "<unknown function>";
  enterBusy(W);
  fprintf(stderr,
          "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` "
          "failed.\n",
          File, Line, Function, B[0], B[1], B[2], T[0], T[1], T[2], Message);
  leaveBusy(W);
  leaveKernel(W, MNEME_HOST_ASSERT, "%s:%u: assertion `%s` failed", File, Line,
              Message);
}

//===----------------------------------------------------------------------===//
// printf
//===----------------------------------------------------------------------===//

namespace {
/// The arguments of a CUDA vprintf, each aligned to its own size.
class PrintfArgs {
  const char *Base;
  size_t Offset = 0;

public:
  explicit PrintfArgs(const char *Base) : Base(Base) {}

  template <typename T> T next() {
    Offset = (Offset + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T V;
    memcpy(&V, Base + Offset, sizeof(T));
    Offset += sizeof(T);
    return V;
  }
};

/// A conversion specification, with stars replaced by numbers.
struct Conversion {
  char Spec[64];
  unsigned Length = 0;
  bool Wide = false; ///< A 64-bit integer.
  char Letter = 0;

  void add(char C) {
    if (Length + 2 < sizeof(Spec))
      Spec[Length++] = C;
  }
};
} // namespace

/// Parses the conversion after the % at \p P. \returns the text after it.
static const char *parseConversion(const char *P, PrintfArgs &Args,
                                   Conversion &C) {
  C.add('%');
  for (++P; *P; ++P) {
    if (strchr("diouxXeEfFgGaAcspn%", *P)) {
      C.Letter = *P++;
      break;
    }
    if (*P == '*') {
      char Number[16];
      int V = Args.next<int>();
      if (V < 0 && C.Spec[C.Length - 1] == '.') {
        --C.Length; // A negative precision is ignored.
        continue;
      }
      snprintf(Number, sizeof(Number), "%d", V);
      for (const char *N = Number; *N; ++N)
        C.add(*N);
      continue;
    }
    if (strchr("lzjt", *P))
      C.Wide = true;
    else if (*P != 'L')
      C.add(*P);
  }
  if (C.Wide && strchr("diouxX", C.Letter)) {
    C.add('l');
    C.add('l');
  }
  C.add(C.Letter);
  C.Spec[C.Length] = 0;
  return P;
}

/// Prints to \p Out. If \p Out is null, only reads all memory that printing
/// would read, so that a bad pointer faults before a lock is held. \returns the
/// number of conversions.
static int formatDevice(FILE *Out, const char *Format, const char *Buffer) {
  PrintfArgs Args(Buffer);
  int Count = 0;
  for (const char *P = Format; *P;) {
    if (*P != '%') {
      size_t Length = strcspn(P, "%");
      if (Out)
        fwrite(P, 1, Length, Out);
      P += Length;
      continue;
    }
    Conversion C;
    P = parseConversion(P, Args, C);
    if (C.Letter == 0)
      break;
    if (C.Letter == '%') {
      if (Out)
        fputc('%', Out);
      continue;
    }
    ++Count;
    if (strchr("eEfFgGaA", C.Letter)) {
      double V = Args.next<double>();
      if (Out)
        fprintf(Out, C.Spec, V);
    } else if (C.Letter == 's') {
      const char *V = Args.next<const char *>();
      if (!V)
        V = "(null)";
      if (Out)
        fprintf(Out, C.Spec, V);
      else if (!strchr(C.Spec, '.'))
        (void)*static_cast<const volatile char *>(V + strlen(V));
    } else if (C.Letter == 'p' || C.Letter == 'n') {
      void *V = Args.next<void *>();
      if (Out && C.Letter == 'p')
        fprintf(Out, C.Spec, V);
    } else if (C.Wide) {
      long long V = Args.next<long long>();
      if (Out)
        fprintf(Out, C.Spec, V);
    } else {
      int V = Args.next<int>();
      if (Out)
        fprintf(Out, C.Spec, V);
    }
  }
  return Count;
}

static int printDevice(const char *Format, const char *Buffer) {
  Worker &W = *TheWorker;
  formatDevice(nullptr, Format, Buffer);
  enterBusy(W);
  flockfile(stdout); // Keeps the output of one call together.
  int Count = formatDevice(stdout, Format, Buffer);
  funlockfile(stdout);
  leaveBusy(W);
  return Count;
}

//===----------------------------------------------------------------------===//
// The device heap
//===----------------------------------------------------------------------===//

namespace {
/// Precedes each allocation. free() of any other pointer must not reach the C
/// library, which would end the process.
struct alignas(16) HeapHeader {
  uint64_t Magic;
  HeapHeader *Self;
};
} // namespace
static constexpr uint64_t HeapMagic = 0x4d6e656d65486561; // "MnemeHea"

static void *allocateDevice(size_t Size) {
  Worker &W = *TheWorker;
  if (Size == 0 || Size > SIZE_MAX - sizeof(HeapHeader))
    return nullptr;
  enterBusy(W);
  HeapHeader *H = static_cast<HeapHeader *>(malloc(sizeof(HeapHeader) + Size));
  if (H)
    *H = {HeapMagic, H};
  leaveBusy(W);
  return H ? H + 1 : nullptr;
}

static void freeDevice(void *P) {
  if (!P)
    return;
  Worker &W = *TheWorker;
  HeapHeader *H = static_cast<HeapHeader *>(P) - 1;
  if (reinterpret_cast<uintptr_t>(P) % 16 != 0 || H->Magic != HeapMagic ||
      H->Self != H)
    leaveKernel(W, MNEME_HOST_ILLEGAL_ADDRESS,
                "kernel '%s' freed %p, which its malloc did not return",
                W.Launch->Kernel->Name, P);
  enterBusy(W);
  H->Magic = 0;
  free(H);
  leaveBusy(W);
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

extern "C" uint64_t __mneme_host_clock() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return nanoseconds();
#endif
}

extern "C" uint64_t __mneme_host_globaltimer() { return nanoseconds(); }

extern "C" void __mneme_host_yield();

extern "C" void __mneme_host_nanosleep(uint32_t Duration) {
  __mneme_host_yield();
  // PTX: at most twice the duration, and a duration of at most one millisecond.
  if (Duration > 1000000)
    Duration = 1000000;
  struct timespec T = {0, static_cast<long>(Duration)};
  nanosleep(&T, nullptr);
}

extern "C" uint64_t __mneme_host_grid_workspace() {
  return reinterpret_cast<uint64_t>(TheWorker->Launch->GridWorkspace);
}

//===----------------------------------------------------------------------===//
// Functions with other names than those that kernels call
//===----------------------------------------------------------------------===//

extern "C" int __mneme_host_vprintf(const char *Format, const char *Buffer) {
  return printDevice(Format, Buffer);
}
extern "C" void *__mneme_host_malloc(size_t Size) {
  return allocateDevice(Size);
}
extern "C" void __mneme_host_free(void *P) { freeDevice(P); }
