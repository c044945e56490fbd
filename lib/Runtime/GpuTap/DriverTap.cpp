//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverTap.h"
#include "Shortage.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

using namespace mneme;

thread_local unsigned InterceptedCall::Depth
    __attribute__((tls_model("initial-exec"))) = 0;

static std::atomic<uint64_t> Graphs{0};

void mneme::countForeignGraph() { ++Graphs; }
uint64_t mneme::foreignGraphs() { return Graphs; }

unsigned &mneme::driverLaunchesOfThread() {
  static thread_local unsigned Count
      __attribute__((tls_model("initial-exec"))) = 0;
  return Count;
}

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

/// Names of the driver's library, the newest first. HIP is its own driver.
static constexpr const char *DriverLibraries[] = {
#ifdef MNEME_HIP
    "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"
#else
    "libcuda.so.1"
#endif
};

/// The driver's handle, or null while it is not loaded.
static void *loadedDriver() {
  static std::atomic<void *> Handle{nullptr};
  void *H = Handle.load(std::memory_order_acquire);
  if (H)
    return H;
  // Never closed.
  for (const char *Name : DriverLibraries)
    if (!H)
      H = dlopen(Name, RTLD_LAZY | RTLD_NOLOAD);
  if (H)
    Handle.store(H, std::memory_order_release);
  return H;
}

static bool findDriverFunctions(CudaRuntime &R) {
  void *From = loadedDriver();
  if (!From)
    From = dlopen(DriverLibraries[0], RTLD_LAZY);
  if (!From)
    return false;
#define TAP(Name, Symbol, Parameters, ...)                                     \
  if (isDriverSymbol(#Symbol))                                                 \
    R.Name = reinterpret_cast<decltype(R.Name)>(dlsym(From, #Symbol));
#define KEEP(Name, Symbol, Parameters)
#include "TappedFunctions.def"
  return true;
}

const CudaRuntime &mneme::driverRuntime() {
  static CudaRuntime R;
  static bool Found = findDriverFunctions(R);
  (void)Found;
  return R;
}

//===----------------------------------------------------------------------===//
// Functions that the program asks for
//===----------------------------------------------------------------------===//

static void *findExported(const char *Symbol) {
  size_t Count;
  const ExportedFunction *F = exportedFunctions(Count);
  for (size_t I = 0; I != Count; ++I)
    if (!strcmp(F[I].Symbol, Symbol))
      return F[I].Function;
  return nullptr;
}

#ifdef MNEME_HIP
extern "C" __attribute__((visibility("default"))) int
hipGetProcAddress(const char *Symbol, void **Function, int HipVersion,
                  uint64_t Flags, int *Status) {
  using GetProcAddress = int (*)(const char *, void **, int, uint64_t, int *);
  void *H = loadedDriver();
  auto Original = reinterpret_cast<GetProcAddress>(
      H ? dlsym(H, "hipGetProcAddress") : nullptr);
  if (!Original)
    return CUDA_ERROR_NOT_INITIALIZED;
  int E = Original(Symbol, Function, HipVersion, Flags, Status);
  if (E || !Symbol || !Function || !*Function)
    return E;
  if (void *Own = findExported(Symbol))
    *Function = Own;
  return E;
}

/// The function to ask for others, if \p Symbol is one.
static void *findAsker(const char *Symbol) {
  return !strcmp(Symbol, "hipGetProcAddress")
             ? reinterpret_cast<void *>(hipGetProcAddress)
             : nullptr;
}
#else
/// The function in place of \p Original, which the driver found for \p Symbol.
static void *findInPlaceOf(void *Original, const char *Symbol, int CudaVersion,
                           uint64_t Flags) {
  size_t Count;
  const ExportedFunction *F = exportedFunctions(Count);
  void *H = loadedDriver();
  size_t Length = strlen(Symbol);
  for (size_t I = 0; I != Count; ++I)
    if (!strncmp(F[I].Symbol, Symbol, Length) &&
        (!F[I].Symbol[Length] || F[I].Symbol[Length] == '_') && H &&
        dlsym(H, F[I].Symbol) == Original)
      return F[I].Function;
  // The driver need not return the addresses of its exported symbols. Programs
  // that ask for versions before CUDA 10.1 are too old to matter.
  constexpr int Newest = 10010;
  constexpr uint64_t PerThread = 2;
  if (CudaVersion < Newest)
    return nullptr;
  for (const char *Version : {"_v2", ""})
    for (const char *Stream : {"_ptsz", "_ptds", ""}) {
      if (*Stream && !(Flags & PerThread))
        continue;
      char Name[96];
      if (Length + 9 > sizeof(Name))
        return nullptr;
      strcpy(Name, Symbol);
      strcat(Name, Version);
      strcat(Name, Stream);
      // The second versions of these came later than those of the rest.
      if (*Version && CudaVersion < 13000 && strstr(Symbol, "BatchAsync"))
        continue;
      if (void *Found = findExported(Name))
        return Found;
    }
  return nullptr;
}

extern "C" {
using GetProcAddress = int (*)(const char *, void **, int, uint64_t);
using GetProcAddressV2 = int (*)(const char *, void **, int, uint64_t, int *);

static int findFor(int E, const char *Symbol, void **Function, int CudaVersion,
                   uint64_t Flags);

__attribute__((visibility("default"))) int cuGetProcAddress(const char *Symbol,
                                                            void **Function,
                                                            int CudaVersion,
                                                            uint64_t Flags) {
  void *H = loadedDriver();
  auto Original = reinterpret_cast<GetProcAddress>(
      H ? dlsym(H, "cuGetProcAddress") : nullptr);
  return Original ? findFor(Original(Symbol, Function, CudaVersion, Flags),
                            Symbol, Function, CudaVersion, Flags)
                  : int(CUDA_ERROR_NOT_INITIALIZED);
}

__attribute__((visibility("default"))) int
cuGetProcAddress_v2(const char *Symbol, void **Function, int CudaVersion,
                    uint64_t Flags, int *Status) {
  void *H = loadedDriver();
  auto Original = reinterpret_cast<GetProcAddressV2>(
      H ? dlsym(H, "cuGetProcAddress_v2") : nullptr);
  return Original
             ? findFor(Original(Symbol, Function, CudaVersion, Flags, Status),
                       Symbol, Function, CudaVersion, Flags)
             : int(CUDA_ERROR_NOT_INITIALIZED);
}
}

/// Puts a function of this library in place of the driver's, if there is one.
static int findFor(int E, const char *Symbol, void **Function, int CudaVersion,
                   uint64_t Flags) {
  if (E || !Symbol || !Function || !*Function)
    return E;
  constexpr int SecondVersion = 12000;
  void *Own = !strcmp(Symbol, "cuGetProcAddress")
                  ? CudaVersion >= SecondVersion
                        ? reinterpret_cast<void *>(cuGetProcAddress_v2)
                        : reinterpret_cast<void *>(cuGetProcAddress)
                  : findInPlaceOf(*Function, Symbol, CudaVersion, Flags);
  if (Own)
    *Function = Own;
  return E;
}

/// The function to ask for others, if \p Symbol is one.
static void *findAsker(const char *Symbol) {
  if (!strcmp(Symbol, "cuGetProcAddress_v2"))
    return reinterpret_cast<void *>(cuGetProcAddress_v2);
  if (!strcmp(Symbol, "cuGetProcAddress"))
    return reinterpret_cast<void *>(cuGetProcAddress);
  return nullptr;
}
#endif

//===----------------------------------------------------------------------===//
// dlsym
//===----------------------------------------------------------------------===//

extern "C" {
/// The C library's dlsym.
__attribute__((visibility("hidden"))) void *mneme_original_dlsym = nullptr;

/// What dlsym(\p Handle, \p Symbol) returns to a caller at \p Caller, or null
/// where the C library is to answer.
__attribute__((visibility("hidden"), used)) void *
mneme_find_symbol(void *Handle, const char *Symbol, void *Caller);
}

/// The bounds of this library.
static struct OwnRange {
  uint64_t Begin = 0, End = 0;
} Own;

static int findOwnRange(dl_phdr_info *Info, size_t, void *) {
  auto Here = reinterpret_cast<uint64_t>(&findOwnRange);
  uint64_t Begin = UINT64_MAX, End = 0;
  for (unsigned I = 0; I != Info->dlpi_phnum; ++I) {
    const ElfW(Phdr) &P = Info->dlpi_phdr[I];
    if (P.p_type != PT_LOAD)
      continue;
    Begin = std::min<uint64_t>(Begin, Info->dlpi_addr + P.p_vaddr);
    End = std::max<uint64_t>(End, Info->dlpi_addr + P.p_vaddr + P.p_memsz);
  }
  if (Here < Begin || Here >= End)
    return 0;
  Own = {Begin, End};
  return 1;
}

static void findOriginal() {
  // The symbol's version: from glibc 2.34 on, and before.
  for (const char *Version : {"GLIBC_2.34", "GLIBC_2.2.5"})
    if (!mneme_original_dlsym)
      mneme_original_dlsym = dlvsym(RTLD_NEXT, "dlsym", Version);
  dl_iterate_phdr(findOwnRange, nullptr);
}

/// Whether \p Symbol, which may be any, is a name of the driver's.
static bool isOfDriver(const char *Symbol) {
  return ForHip
             ? !strncmp(Symbol, "hip", 3)
             : Symbol[0] == 'c' && Symbol[1] == 'u' && isDriverSymbol(Symbol);
}

void *mneme_find_symbol(void *Handle, const char *Symbol, void *Caller) {
  static bool Found = (findOriginal(), true);
  (void)Found;
  // Only functions of the driver, and only for others: this library wants the
  // driver's own.
  if (!Symbol || !isOfDriver(Symbol))
    return nullptr;
  auto From = reinterpret_cast<uint64_t>(Caller);
  if (From >= Own.Begin && From < Own.End)
    return nullptr;
  // RTLD_DEFAULT finds what this library exports; RTLD_NEXT is for wrappers.
  if (Handle == RTLD_DEFAULT || Handle == RTLD_NEXT || !loadedDriver() ||
      Handle != loadedDriver())
    return nullptr;
  void *Function = findAsker(Symbol);
  if (!Function)
    Function = findExported(Symbol);
  // A program may ask whether the driver has a function.
  return Function && dlsym(loadedDriver(), Symbol) ? Function : nullptr;
}

// The C library's function finds its caller by the return address, which a call
// from here would change.
asm(".text\n"
    ".p2align 4\n"
    ".globl dlsym\n"
    ".type dlsym, @function\n"
    "dlsym:\n"
    ".cfi_startproc\n"
    "endbr64\n"
    "pushq %rdi\n"
    ".cfi_adjust_cfa_offset 8\n"
    "pushq %rsi\n"
    ".cfi_adjust_cfa_offset 8\n"
    "subq $8, %rsp\n"
    ".cfi_adjust_cfa_offset 8\n"
    "movq 24(%rsp), %rdx\n"
    "call mneme_find_symbol\n"
    "addq $8, %rsp\n"
    ".cfi_adjust_cfa_offset -8\n"
    "popq %rsi\n"
    ".cfi_adjust_cfa_offset -8\n"
    "popq %rdi\n"
    ".cfi_adjust_cfa_offset -8\n"
    "testq %rax, %rax\n"
    "jne 1f\n"
    "jmpq *mneme_original_dlsym(%rip)\n"
    "1: ret\n"
    ".cfi_endproc\n"
    ".size dlsym, .-dlsym\n");
