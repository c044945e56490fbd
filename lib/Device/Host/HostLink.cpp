//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Links a host object with JITLink for addresses that may belong to another
/// process. The linker works in this process's memory and returns the bytes.
///
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"
#include "llvm/ExecutionEngine/Orc/SymbolStringPool.h"
#include "llvm/Mneme/Device/Host/SegmentCollector.h"
#include <sys/mman.h>

using namespace llvm;
using namespace llvm::jitlink;
using namespace llvm::mneme;

static uint32_t toProt(orc::MemProt P) {
  uint32_t Prot = 0;
  if ((P & orc::MemProt::Read) != orc::MemProt::None)
    Prot |= PROT_READ;
  if ((P & orc::MemProt::Write) != orc::MemProt::None)
    Prot |= PROT_WRITE;
  if ((P & orc::MemProt::Exec) != orc::MemProt::None)
    Prot |= PROT_EXEC;
  return Prot;
}

namespace {
class Allocation final : public JITLinkMemoryManager::InFlightAlloc {
public:
  void abandon(OnAbandonedFunction Done) override { Done(Error::success()); }
  void finalize(OnFinalizedFunction Done) override {
    // Anything but the invalid address: nothing is ever deallocated.
    Done(JITLinkMemoryManager::FinalizedAlloc(orc::ExecutorAddr(1)));
  }
};
} // namespace

void SegmentCollector::allocate(const JITLinkDylib *, LinkGraph &G,
                                OnAllocatedFunction OnAllocated) {
  BasicLayout Layout(G);
  // The linker keeps pointers to working memory, so the strings must not
  // move.
  Segments.reserve(
      std::distance(Layout.segments().begin(), Layout.segments().end()));
  for (auto &[Group, Seg] : Layout.segments()) {
    uint64_t Size = Seg.ContentSize + Seg.ZeroFillSize;
    if (Next > End || Size > End - Next)
      return OnAllocated(createStringError(
          "object needs more than the " + Twine(End - Next) +
          " bytes that are left for code at 0x" + utohexstr(Next)));
    LinkedSegment &Out = Segments.emplace_back();
    Out.Address = Next;
    Out.Protection = toProt(Group.getMemProt());
    Out.Contents.resize(Size);
    Seg.Addr = orc::ExecutorAddr(Next);
    Seg.WorkingMem = Out.Contents.data();
    Next = alignTo(Next + Size, PageSize);
  }
  if (Error E = Layout.apply())
    return OnAllocated(std::move(E));
  OnAllocated(std::make_unique<Allocation>());
}

void SegmentCollector::deallocate(std::vector<FinalizedAlloc> Allocs,
                                  OnDeallocatedFunction Done) {
  for (FinalizedAlloc &A : Allocs)
    A.release();
  Done(Error::success());
}

void SegmentLink::lookup(
    const LookupMap &Symbols,
    std::unique_ptr<JITLinkAsyncLookupContinuation> Continue) {
  AsyncLookupResult Result;
  for (const auto &[Name, Flags] : Symbols) {
    Expected<uint64_t> Address =
        findSymbol(*Name, Flags == SymbolLookupFlags::RequiredSymbol);
    if (!Address)
      return Continue->run(Address.takeError());
    Result[Name] = {orc::ExecutorAddr(*Address), JITSymbolFlags::Exported};
  }
  Continue->run(std::move(Result));
}

namespace {
class KernelLink final : public SegmentLink {
  StringRef Entry;
  function_ref<uint64_t(StringRef)> Lookup;
  uint64_t &EntryAddress;

public:
  KernelLink(SegmentCollector &Memory, StringRef Entry,
             function_ref<uint64_t(StringRef)> Lookup, uint64_t &EntryAddress,
             Error &Failure)
      : SegmentLink(Memory, Failure), Entry(Entry), Lookup(Lookup),
        EntryAddress(EntryAddress) {}

  Expected<uint64_t> findSymbol(StringRef Name, bool IsRequired) override {
    uint64_t Address = Lookup(Name);
    if (!Address && IsRequired)
      return createStringError("kernel refers to '" + Name +
                               "', which the host device lacks");
    return Address;
  }

  Error notifyResolved(LinkGraph &G) override {
    for (Symbol *S : G.defined_symbols())
      if (S->hasName() && *S->getName() == Entry)
        EntryAddress = S->getAddress().getValue();
    if (EntryAddress)
      return Error::success();
    return createStringError("object defines no '" + Entry + "'");
  }
};
} // namespace

Expected<LinkedImage>
mneme::linkHostObject(MemoryBufferRef Object, StringRef Entry, uint64_t Base,
                      uint64_t Size, function_ref<uint64_t(StringRef)> Lookup) {
  // Keeps the pool alive: the graph's own reference ends with the graph, but
  // JITLink still uses names when it returns from the callbacks.
  auto Names = std::make_shared<orc::SymbolStringPool>();
  auto Graph = createLinkGraphFromObject(Object, Names);
  if (!Graph)
    return Graph.takeError();
  LinkedImage Image;
  Error Failure = Error::success();
  SegmentCollector Memory(Base, Size, Image.Segments);
  // JITLink calls back before it returns, so nothing here runs later.
  link(std::move(*Graph), std::make_unique<KernelLink>(Memory, Entry, Lookup,
                                                       Image.Entry, Failure));
  if (Failure)
    return std::move(Failure);
  return std::move(Image);
}
