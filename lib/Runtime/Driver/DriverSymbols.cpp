//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DriverSymbols.h"
#include "Vendor.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <link.h>

using namespace mneme;

void *mneme::loadedDriver() {
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

static void findOriginalOnce() {
  static bool Found = (findOriginal(), true);
  (void)Found;
}

void *mneme::findInDriver(const char *Symbol) {
  findOriginalOnce();
  using Function = void *(*)(void *, const char *);
  auto Original = reinterpret_cast<Function>(mneme_original_dlsym);
  void *Driver = loadedDriver();
  return Driver && Original ? Original(Driver, Symbol) : nullptr;
}

/// Whether \p Symbol, which may be any, is a name of the driver's.
static bool isOfDriver(const char *Symbol) {
  return ForHip
             ? !strncmp(Symbol, "hip", 3) || !strncmp(Symbol, "_Z24hip", 7)
             : Symbol[0] == 'c' && Symbol[1] == 'u' && isDriverSymbol(Symbol);
}

void *mneme_find_symbol(void *Handle, const char *Symbol, void *Caller) {
  findOriginalOnce();
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
  void *Function = functionInPlaceOf(Symbol);
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
