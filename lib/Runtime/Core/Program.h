//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What MnemePass left in the loaded executable and libraries: the index of
/// kernels and variables, and the slots through which instrumented code calls
/// the runtime.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CORE_PROGRAM_H
#define MNEME_LIB_RUNTIME_CORE_PROGRAM_H

#include "llvm/Mneme/Runtime/PayloadFormat.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mneme {

/// What a host pointer stands for on the device.
struct IndexEntry {
  const MnemePayloadHeader *Payload;
  std::string Name;
  uint64_t Size;
  uint32_t Kind;           ///< MNEME_INDEX_*.
  uint32_t Flags;          ///< MNEME_VARIABLE_*.
  const MnemeHook *Object; ///< The slots of the object that says so.
  uint32_t Number;         ///< Tells apart all that was ever loaded.
};

/// Device code that is linked before it runs: one translation unit or, with
/// -fgpu-rdc, all of one loaded object for one architecture.
struct DeviceModule {
  std::vector<const MnemePayloadHeader *> Payloads; ///< In the link's order.
  std::string Hash;                                 ///< 16 bytes.
  /// The object's number: two that hold the same code have their own variables.
  uint32_t Copy;

  using Key = std::pair<std::string, uint32_t>;
  Key key() const { return {Hash, Copy}; }
};

using PayloadSet = std::set<const MnemePayloadHeader *>;

class Program {
public:
  static Program &get();

  /// Takes in the sections of one loaded object. Repeats are cheap. Slots are
  /// filled in any case; without memory for the index, the program is
  /// incomplete.
  void attach(MnemeHook *HooksBegin, MnemeHook *HooksEnd,
              const MnemeIndexEntry *IndexBegin,
              const MnemeIndexEntry *IndexEnd);

  /// Attaches to everything that is loaded now: an executable whose weak
  /// reference to __mneme_attach the linker resolved to nothing never calls it.
  void attachLoadedObjects();

  /// Attaches again where that found no memory before. Not with a lock that a
  /// constructor of a library may need.
  void retry() {
    if (IsIncomplete.exchange(false))
      attachLoadedObjects();
  }
  /// Whether there are kernels of which nothing is known for lack of memory.
  bool isIncomplete() const { return IsIncomplete; }
  void setIncomplete() { IsIncomplete = true; }

  /// Looks up a launch stub, handle or shadow variable. Of several
  /// architectures the one answers that the device runs: the highest, unless
  /// \p Arch or setDevice() say more. \returns false when there is none of that
  /// kind.
  bool find(const void *HostPtr, uint32_t Kind, IndexEntry &Entry,
            unsigned Arch = 0);

  /// The code that \p Entry is part of.
  DeviceModule moduleOf(const IndexEntry &Entry);

  /// Looks up a variable of a module by its device symbol. \returns its shadow,
  /// or null.
  const void *findShadow(const DeviceModule &Module, const std::string &Name,
                         IndexEntry &Entry);

  /// The compute capability times ten of the device, or of the first.
  void setDevice(unsigned Architecture);

  /// Changes when what find() answered before may no longer hold.
  unsigned generation() const { return Generation; }

  /// What cudaRegisterFunction said about a host pointer that the index does
  /// not know: for messages only, so it may be forgotten.
  void registerName(const void *HostPtr, const char *Name);
  std::string registeredName(const void *HostPtr);

  /// Compute capability times ten of the newest architecture in the program (90
  /// for sm_90), or the gfx number (0x90a for gfx90a); 0 without payloads.
  unsigned architecture();
  /// That of the device, as setDevice() said; 0 before.
  unsigned deviceArchitecture();
  /// Whether payloads are for AMD GPUs.
  bool isAMD();

private:
  /// Whether the index has been taken in.
  bool isKnown(const MnemeIndexEntry *Begin, const MnemeIndexEntry *End,
               uint64_t Unloads) const;
  /// Leaves out what leads to other payloads than \p Payloads.
  void addIndex(const MnemeIndexEntry *Begin, const MnemeIndexEntry *End,
                const MnemeHook *Object, uint64_t Unloads,
                const PayloadSet &Payloads);
  static int64_t rank(const MnemePayloadHeader *Payload, unsigned DeviceArch);

  std::mutex Lock;
  /// One entry per architecture.
  std::unordered_map<const void *, std::vector<IndexEntry>> Entries;
  std::unordered_map<const void *, std::string> Names;
  /// An object whose index has been taken in.
  struct LoadedObject {
    uint64_t Digest = 0;  ///< Of its index.
    uint64_t Unloads = 0; ///< How many objects had been unloaded before.
    uint32_t Number = 0;
  };
  std::map<const void *, LoadedObject> Objects; ///< By begin of the index.
  /// Payloads for the device linker, by the object's number.
  std::map<uint32_t, std::vector<const MnemePayloadHeader *>> Units;
  uint32_t NumObjects = 0;
  std::atomic<unsigned> Generation{0};
  std::atomic<bool> IsIncomplete{false};
  unsigned Newest = 0, DeviceArch = 0;
  bool AMD = false;
};

/// The payload's hash, 16 bytes.
std::string hashOf(const MnemePayloadHeader &Payload);

/// Fills the slots of one loaded object. Each runtime has its own. Repeats.
/// Takes no memory: a slot that is not filled is a call that never comes to us.
void patchSlots(MnemeHook *Begin, MnemeHook *End);

/// The architecture's number: 90 of "sm_90a", 0x90a of "gfx90a"; 0 if neither.
unsigned parseArchitecture(const char *Arch);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CORE_PROGRAM_H
