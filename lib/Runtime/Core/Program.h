//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The data that MnemePass embedded in the loaded executable and libraries: the
/// index of kernels and variables, and the slots through which instrumented
/// code calls the runtime.
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
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mneme {

/// The device symbol that a host pointer identifies.
struct IndexEntry {
  const MnemePayloadHeader *Payload;
  std::string Name;
  uint64_t Size;
  uint32_t Kind;           ///< MNEME_INDEX_*.
  uint32_t Flags;          ///< MNEME_VARIABLE_*.
  const MnemeHook *Object; ///< Slots of the object with the entry.
  uint32_t Number;         ///< Unique number of the object.
};

/// Device code that is linked as a unit: one translation unit or, with
/// -fgpu-rdc, all those of a loaded object for one architecture.
struct DeviceModule {
  std::vector<const MnemePayloadHeader *> Payloads; ///< In link order.
  std::string Hash;                                 ///< 16 bytes.
  /// The object's number: objects with the same code have separate variables.
  uint32_t Copy;

  using Key = std::pair<std::string, uint32_t>;
  Key key() const { return {Hash, Copy}; }
};

using PayloadSet = std::set<const MnemePayloadHeader *>;

class Program {
public:
  static Program &get();

  /// Registers the sections of a loaded object. Repeated calls are cheap. Slots
  /// are always filled; if memory for the index is short, the program is marked
  /// incomplete.
  void attach(MnemeHook *HooksBegin, MnemeHook *HooksEnd,
              const MnemeIndexEntry *IndexBegin,
              const MnemeIndexEntry *IndexEnd);

  /// Attaches to all loaded objects. Needed because an executable never calls
  /// __mneme_attach if the linker resolved its weak reference to null.
  void attachLoadedObjects();

  /// Attaches again after a failure for lack of memory. Must not be called
  /// while holding a lock that a library's constructor may need.
  void retry() {
    if (IsIncomplete.exchange(false))
      attachLoadedObjects();
  }
  /// Returns true if kernels are unknown for lack of memory.
  bool isIncomplete() const { return IsIncomplete; }
  void setIncomplete() { IsIncomplete = true; }

  /// Looks up a launch stub, handle or shadow variable. Among several
  /// architectures, selects the one most suitable for the device, or the
  /// highest if neither \p Arch nor setDevice() gives the device's. \returns
  /// false if there is no entry of that kind.
  bool find(const void *HostPtr, uint32_t Kind, IndexEntry &Entry,
            unsigned Arch = 0);

  /// Returns the launch stubs of all kernels in the index. May throw.
  std::vector<const void *> stubs();

  /// Returns the module that contains \p Entry.
  DeviceModule moduleOf(const IndexEntry &Entry);

  /// Looks up a variable of a module by its device symbol. \returns its shadow,
  /// or null.
  const void *findShadow(const DeviceModule &Module, const std::string &Name,
                         IndexEntry &Entry);

  /// Returns the variables of a module that the host knows, by their shadows.
  /// May throw.
  std::vector<std::pair<const void *, IndexEntry>>
  variables(const DeviceModule &Module);

  /// Sets the compute capability times ten of the device, or of the first one.
  void setDevice(unsigned Architecture);

  /// Changes whenever earlier results of find() may be outdated.
  unsigned generation() const { return Generation; }

  /// Stores the name that cudaRegisterFunction gave for a host pointer without
  /// index entry. It is used in messages only, so it may be dropped.
  void registerName(const void *HostPtr, const char *Name);
  std::string registeredName(const void *HostPtr);

  /// Returns the compute capability times ten of the newest architecture in the
  /// program (90 for sm_90), or the gfx number (0x90a for gfx90a); 0 without
  /// payloads.
  unsigned architecture();
  /// Returns the architecture set with setDevice(); 0 if not set.
  unsigned deviceArchitecture();
  /// Returns true if payloads are for AMD GPUs.
  bool isAMD();

private:
  /// Returns true if the index has been registered.
  bool isKnown(const MnemeIndexEntry *Begin, const MnemeIndexEntry *End,
               uint64_t Unloads) const;
  bool areIntact(const MnemeHook *HooksBegin, const MnemeHook *HooksEnd,
                 const MnemeIndexEntry *IndexBegin,
                 const MnemeIndexEntry *IndexEnd, uint64_t Unloads);
  /// Ignores entries with payloads that are not in \p Payloads.
  void addIndex(const MnemeIndexEntry *Begin, const MnemeIndexEntry *End,
                const MnemeHook *Object, uint64_t Unloads,
                const PayloadSet &Payloads);
  static int64_t rank(const MnemePayloadHeader *Payload, unsigned DeviceArch);

  std::mutex Lock;
  /// One entry per architecture.
  std::unordered_map<const void *, std::vector<IndexEntry>> Entries;
  std::unordered_map<const void *, std::string> Names;
  /// An object whose index has been registered.
  struct LoadedObject {
    uint64_t Digest = 0;  ///< Digest of its index.
    uint64_t Unloads = 0; ///< Number of objects unloaded before.
    uint32_t Number = 0;
  };
  std::map<const void *, LoadedObject> Objects; ///< By the beginning of the
                                                ///< index.
  /// Whether the tables of an object are intact, by their bounds.
  struct CheckedTables {
    uint64_t Unloads = 0; ///< Number of objects unloaded before.
    bool AreIntact = false;
  };
  std::map<std::tuple<const MnemeHook *, const MnemeHook *,
                      const MnemeIndexEntry *, const MnemeIndexEntry *>,
           CheckedTables>
      Checked;
  /// Payloads for the device linker, by the object's number.
  std::map<uint32_t, std::vector<const MnemePayloadHeader *>> Units;
  uint32_t NumObjects = 0;
  std::atomic<unsigned> Generation{0};
  std::atomic<bool> IsIncomplete{false};
  unsigned Newest = 0, DeviceArch = 0;
  bool AMD = false;
};

/// Returns the number of objects that have been unloaded so far.
uint64_t countUnloads();

/// Returns the payload's hash, 16 bytes.
std::string hashOf(const MnemePayloadHeader &Payload);

/// Fills the slots of a loaded object. Defined by each runtime; can be
/// repeated. Does not allocate: calls through an unfilled slot would bypass the
/// runtime.
void patchSlots(MnemeHook *Begin, MnemeHook *End);

/// Returns the architecture's number: 90 for "sm_90a", 0x90a for "gfx90a", that
/// of the first member for a generic processor; 0 for others.
unsigned parseArchitecture(const char *Arch);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CORE_PROGRAM_H
