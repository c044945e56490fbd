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
#include <mutex>
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
/// The arguments of a CUDA vprintf, each aligned to its own size, or those of
/// HIP's printf, of eight bytes each.
class PrintfArgs {
  const char *Base;
  size_t Offset = 0;
  size_t Slot; ///< Bytes of each argument; 0 for its own size.
  size_t Size; ///< Of all arguments in bytes, if known.

public:
  explicit PrintfArgs(const char *Base) : Base(Base), Slot(0), Size(SIZE_MAX) {}
  PrintfArgs(const uint64_t *Args, size_t Count)
      : Base(reinterpret_cast<const char *>(Args)), Slot(sizeof(*Args)),
        Size(Count * Slot) {}

  template <typename T> T next() {
    size_t Step = Slot ? Slot : sizeof(T);
    Offset = (Offset + Step - 1) / Step * Step;
    T V{};
    if (Offset >= Size)
      return V; // The format has more conversions than arguments.
    memcpy(&V, Base + Offset, sizeof(T));
    Offset += Step;
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

/// What CUDA's printf returns, and HIP's.
struct Printed {
  int Conversions = 0;
  int Characters = 0;
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
/// would read, so that a bad pointer faults before a lock is held.
static Printed formatDevice(FILE *Out, const char *Format, PrintfArgs Args) {
  Printed Count;
  for (const char *P = Format; *P;) {
    if (*P != '%') {
      size_t Length = strcspn(P, "%");
      if (Out)
        Count.Characters += fwrite(P, 1, Length, Out);
      P += Length;
      continue;
    }
    Conversion C;
    P = parseConversion(P, Args, C);
    if (C.Letter == 0)
      break;
    if (C.Letter == '%') {
      if (Out)
        Count.Characters += fputc('%', Out) == '%';
      continue;
    }
    ++Count.Conversions;
    if (strchr("eEfFgGaA", C.Letter)) {
      double V = Args.next<double>();
      if (Out)
        Count.Characters += fprintf(Out, C.Spec, V);
    } else if (C.Letter == 's') {
      const char *V = Args.next<const char *>();
      if (!V)
        V = "(null)";
      if (Out)
        Count.Characters += fprintf(Out, C.Spec, V);
      else if (!strchr(C.Spec, '.'))
        (void)*static_cast<const volatile char *>(V + strlen(V));
    } else if (C.Letter == 'p' || C.Letter == 'n') {
      void *V = Args.next<void *>();
      if (Out && C.Letter == 'p')
        Count.Characters += fprintf(Out, C.Spec, V);
    } else if (C.Wide) {
      long long V = Args.next<long long>();
      if (Out)
        Count.Characters += fprintf(Out, C.Spec, V);
    } else {
      int V = Args.next<int>();
      if (Out)
        Count.Characters += fprintf(Out, C.Spec, V);
    }
  }
  return Count;
}

static Printed printDevice(FILE *Out, const char *Format, PrintfArgs Args) {
  Worker &W = *TheWorker;
  formatDevice(nullptr, Format, Args);
  enterBusy(W);
  flockfile(Out); // Keeps the output of one call together.
  Printed Count = formatDevice(Out, Format, Args);
  funlockfile(Out);
  leaveBusy(W);
  return Count;
}

namespace {
/// What HIP's printf has passed so far. The compiler emits a call for every
/// seven arguments and for every string, of which the first is the format.
struct HipMessage {
  FILE *Out;
  const char *Format;
  size_t Count;
  uint64_t Args[64];
};
} // namespace

static uint64_t beginMessage(FILE *Out) {
  Worker &W = *TheWorker;
  enterBusy(W);
  auto *M = static_cast<HipMessage *>(malloc(sizeof(HipMessage)));
  leaveBusy(W);
  if (M)
    *M = {Out, nullptr, 0, {}};
  return reinterpret_cast<uint64_t>(M);
}

/// Prints the message after its last part. \returns the message, or what
/// printf returns, -1 for an error.
static uint64_t appendToMessage(uint64_t Message, uint64_t Count,
                                const uint64_t *Args, uint32_t IsLast) {
  auto *M = reinterpret_cast<HipMessage *>(Message);
  if (!M)
    return IsLast ? -1 : 0;
  constexpr size_t MaxArgs = sizeof(M->Args) / sizeof(*M->Args);
  if (Count > MaxArgs - M->Count)
    __mneme_host_unsupported("printf with more than 64 arguments");
  for (uint64_t I = 0; I < Count; ++I)
    M->Args[M->Count++] = Args[I];
  if (!IsLast)
    return Message;
  int64_t Result = -1;
  if (M->Format)
    Result = printDevice(M->Out, M->Format, PrintfArgs(M->Args, M->Count))
                 .Characters;
  Worker &W = *TheWorker;
  enterBusy(W);
  free(M);
  leaveBusy(W);
  return Result;
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
  uint64_t Size;
  HeapHeader *Previous, *Next; ///< Of the live allocations.
};
} // namespace
static std::mutex HeapLock; ///< Only held where the worker is busy.
static HeapHeader *NewestInHeap;
static constexpr uint64_t HeapMagic = 0x4d6e656d65486561; // "MnemeHea"

static void *allocateDevice(size_t Size) {
  Worker &W = *TheWorker;
  if (Size == 0 || Size > SIZE_MAX - sizeof(HeapHeader))
    return nullptr;
  enterBusy(W);
  HeapHeader *H = static_cast<HeapHeader *>(malloc(sizeof(HeapHeader) + Size));
  if (H) {
    std::lock_guard<std::mutex> Guard(HeapLock);
    *H = {HeapMagic, H, Size, nullptr, NewestInHeap};
    if (NewestInHeap)
      NewestInHeap->Previous = H;
    NewestInHeap = H;
  }
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
  {
    std::lock_guard<std::mutex> Guard(HeapLock);
    (H->Previous ? H->Previous->Next : NewestInHeap) = H->Next;
    if (H->Next)
      H->Next->Previous = H->Previous;
  }
  H->Magic = 0;
  free(H);
  leaveBusy(W);
}

void mneme_host_visit_heap(void (*Visit)(void *Data, uint64_t Address,
                                         uint64_t Size),
                           void *Data) {
  for (HeapHeader *H = NewestInHeap; H; H = H->Next)
    Visit(Data, reinterpret_cast<uint64_t>(H + 1), H->Size);
}

void mneme_host_free_heap() {
  while (HeapHeader *H = NewestInHeap) {
    NewestInHeap = H->Next;
    free(H);
  }
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
  LaunchState &L = *TheWorker->Launch;
  return L.Config->Cooperative ? reinterpret_cast<uint64_t>(L.GridWorkspace)
                               : 0;
}

//===----------------------------------------------------------------------===//
// Functions with other names than those that kernels call
//===----------------------------------------------------------------------===//

extern "C" int __mneme_host_vprintf(const char *Format, const char *Buffer) {
  return printDevice(stdout, Format, PrintfArgs(Buffer)).Conversions;
}

// Those of AMD's device library ockl.
extern "C" uint64_t __mneme_host_printf_begin() { return beginMessage(stdout); }
extern "C" uint64_t __mneme_host_stderr_begin() { return beginMessage(stderr); }
extern "C" uint64_t __mneme_host_append_args(uint64_t Message, uint32_t Count,
                                             uint64_t A, uint64_t B, uint64_t C,
                                             uint64_t D, uint64_t E, uint64_t F,
                                             uint64_t G, uint32_t IsLast) {
  const uint64_t Args[] = {A, B, C, D, E, F, G};
  return appendToMessage(Message, Count, Args, IsLast);
}
extern "C" uint64_t __mneme_host_append_string(uint64_t Message,
                                               const char *Text, uint64_t,
                                               uint32_t IsLast) {
  auto *M = reinterpret_cast<HipMessage *>(Message);
  if (M && !M->Format) {
    M->Format = Text;
    return appendToMessage(Message, 0, nullptr, IsLast);
  }
  uint64_t Arg = reinterpret_cast<uint64_t>(Text);
  return appendToMessage(Message, 1, &Arg, IsLast);
}
extern "C" void __mneme_host_hostcall() {
  __mneme_host_unsupported("a call of the host");
}

extern "C" void *__mneme_host_malloc(size_t Size) {
  return allocateDevice(Size);
}
extern "C" void __mneme_host_free(void *P) { freeDevice(P); }
