//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions that programs mark for profilers: ranges of NVTX and regions of Kokkos
// Tools. Both load the runtime as their tool, because the launcher has set
// NVTX_INJECTION64_PATH and KOKKOS_TOOLS_LIBS.
//
//===----------------------------------------------------------------------===//

#include "Selection.h"
#include "Shortage.h"

#include <cstring>

using namespace mneme;

#define MNEME_EXPORT extern "C" __attribute__((visibility("default")))

//===----------------------------------------------------------------------===//
// Kokkos Tools
//===----------------------------------------------------------------------===//

MNEME_EXPORT void kokkosp_push_profile_region(const char *Name) {
  beginRegion(Name);
}

MNEME_EXPORT void kokkosp_pop_profile_region() { endRegion(); }

//===----------------------------------------------------------------------===//
// NVTX: nvtx3/nvtxDetail/nvtxTypes.h
//===----------------------------------------------------------------------===//

namespace {
enum : uint32_t { CallbackTable = 1 };
enum CallbackModule : int { Core = 1, Core2 = 5 };
enum MessageType : int { ASCII = 1, Registered = 3 };

using FunctionPointer = void (*)();

struct CallbackFunctions {
  size_t StructSize;
  int (*GetModuleFunctionTable)(CallbackModule, FunctionPointer ***Table,
                                unsigned *Size);
};

struct EventAttributes {
  uint16_t Version, Size;
  uint32_t Category;
  int32_t ColorType;
  uint32_t Color;
  int32_t PayloadType, Reserved;
  uint64_t Payload;
  int32_t MessageType;
  const void *Message;
};
static_assert(sizeof(EventAttributes) == 48, "nvtxEventAttributes_t");
} // namespace

/// The handle of a registered string is a copy of the string.
static const char *textOf(const EventAttributes *A) {
  return A && (A->MessageType == ASCII || A->MessageType == Registered)
             ? static_cast<const char *>(A->Message)
             : "";
}

static int push(const char *Name) {
  beginRegion(Name);
  return 0;
}

static int pop() {
  endRegion();
  return 0;
}

/// Functions by the module and index of their slots.
static const struct {
  CallbackModule Module;
  unsigned Index;
  FunctionPointer Function;
} NvtxFunctions[] = {
#define NVTX(Module, Index, Result, Parameters, ...)                           \
  {Module, Index,                                                              \
   reinterpret_cast<FunctionPointer>(                                          \
       +[] Parameters -> Result { __VA_ARGS__; })},
    NVTX(Core, 4, uint64_t, (const EventAttributes *A),
         return beginSharedRegion(textOf(A)))
    NVTX(Core, 5, uint64_t, (const char *Name), return beginSharedRegion(Name))
    NVTX(Core, 7, void, (uint64_t Id), endSharedRegion(Id))
    NVTX(Core, 8, int, (const EventAttributes *A), return push(textOf(A)))
    NVTX(Core, 9, int, (const char *Name), return push(Name))
    NVTX(Core, 11, int, (), return pop())
    NVTX(Core2, 2, uint64_t, (void *, const EventAttributes *A),
         return beginSharedRegion(textOf(A)))
    NVTX(Core2, 3, void, (void *, uint64_t Id), endSharedRegion(Id))
    NVTX(Core2, 4, int, (void *, const EventAttributes *A),
         return push(textOf(A)))
    NVTX(Core2, 5, int, (void *), return pop())
    NVTX(Core2, 10, void *, (void *, const char *Text), return strdup(Text))
#undef NVTX
};

/// Called by NVTX at the program's first call. \returns whether the functions
/// are set.
MNEME_EXPORT int
InitializeInjectionNvtx2(const void *(*GetExportTable)(uint32_t)) {
  auto *Callbacks =
      static_cast<const CallbackFunctions *>(GetExportTable(CallbackTable));
  if (!Callbacks || Callbacks->StructSize < sizeof(CallbackFunctions))
    return 0;
  for (const auto &[Module, Index, Function] : NvtxFunctions) {
    FunctionPointer **Table = nullptr;
    unsigned Size = 0;
    if (Callbacks->GetModuleFunctionTable(Module, &Table, &Size) &&
        Index < Size && Table[Index])
      *Table[Index] = Function;
  }
  return 1;
}
