//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The memory of objects that JITLink links, for any address.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEVICE_HOST_SEGMENTCOLLECTOR_H
#define LLVM_MNEME_DEVICE_HOST_SEGMENTCOLLECTOR_H

#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"

namespace llvm {
namespace mneme {

/// Places segments one after the other in [Base, +Size), each on pages of its
/// own. The bytes are in this process's memory.
class SegmentCollector final : public jitlink::JITLinkMemoryManager {
public:
  static constexpr uint64_t PageSize = 4096;

  SegmentCollector(uint64_t Base, uint64_t Size,
                   std::vector<LinkedSegment> &Segments)
      : Next(alignTo(Base, PageSize)), End(Base + Size), Segments(Segments) {}

  void allocate(const jitlink::JITLinkDylib *, jitlink::LinkGraph &G,
                OnAllocatedFunction OnAllocated) override;
  void deallocate(std::vector<FinalizedAlloc> Allocs,
                  OnDeallocatedFunction Done) override;

private:
  uint64_t Next, End;
  std::vector<LinkedSegment> &Segments;
};

/// Links one object into the segments of a collector.
class SegmentLink : public jitlink::JITLinkContext {
public:
  /// \param Failure  gets the errors of the link.
  SegmentLink(SegmentCollector &Memory, Error &Failure)
      : JITLinkContext(nullptr), Memory(Memory), Failure(Failure) {}

protected:
  /// Returns the address of a symbol that the object does not define.
  virtual Expected<uint64_t> findSymbol(StringRef Name, bool IsRequired) = 0;

private:
  jitlink::JITLinkMemoryManager &getMemoryManager() final { return Memory; }
  void notifyFailed(Error E) final {
    Failure = joinErrors(std::move(Failure), std::move(E));
  }
  void lookup(
      const LookupMap &Symbols,
      std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> Continue) final;
  void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc A) final {
    A.release();
  }

  SegmentCollector &Memory;
  Error &Failure;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEVICE_HOST_SEGMENTCOLLECTOR_H
