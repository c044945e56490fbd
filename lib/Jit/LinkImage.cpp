//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkImage.h"
#include "llvm/ExecutionEngine/JITLink/x86_64.h"
#include "llvm/ExecutionEngine/Orc/SymbolStringPool.h"
#include "llvm/Mneme/Device/Host/SegmentCollector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::jitlink;
using namespace llvm::mneme;
using ::mneme::JitImage;

/// Address 0 would be null.
static constexpr uint64_t Base = SegmentCollector::PageSize;
static constexpr uint64_t MaxSize = uint64_t(1) << 30;

/// Addresses of external symbols while linking: too far away for any reference
/// but a word, so that JITLink goes through its table of words (GOT).
static constexpr uint64_t FirstExternal = uint64_t(1) << 62;
static constexpr uint64_t ExternalStride = 16;

namespace {
class ImageLink final : public SegmentLink {
public:
  ImageLink(SegmentCollector &Memory, JitImage &Image, StringRef Entry,
            Error &Failure)
      : SegmentLink(Memory, Failure), Image(Image), Entry(Entry) {}

  Expected<uint64_t> findSymbol(StringRef Name, bool IsRequired) override {
    Image.Externals.push_back({Name.str(), !IsRequired});
    return FirstExternal + (Image.Externals.size() - 1) * ExternalStride;
  }

  Error notifyResolved(LinkGraph &) override { return Error::success(); }

  Error modifyPassConfig(LinkGraph &, PassConfiguration &Config) override {
    Config.PreFixupPasses.push_back(
        [this](LinkGraph &G) { return collect(G); });
    return Error::success();
  }

private:
  Error collect(LinkGraph &G);
  Error collectEdge(const LinkGraph &G, const Block &B, const Edge &E);

  JitImage &Image;
  StringRef Entry;
};
} // namespace

Error ImageLink::collectEdge(const LinkGraph &G, const Block &B,
                             const Edge &E) {
  if (!E.isRelocation())
    return Error::success();
  uint64_t At = B.getFixupAddress(E).getValue() - Base;
  uint64_t Target = E.getTarget().getAddress().getValue();
  bool IsExternal = Target >= FirstExternal;
  switch (E.getKind()) {
  case x86_64::Pointer64:
    if (IsExternal)
      Image.Fixups.push_back(
          {At, uint32_t((Target - FirstExternal) / ExternalStride),
           E.getAddend()});
    else if (E.getTarget().isAbsolute())
      return Error::success();
    else
      Image.Fixups.push_back(
          {At, JitImage::Fixup::Base, int64_t(Target - Base) + E.getAddend()});
    return Error::success();
  case x86_64::Delta64:
  case x86_64::Delta32:
  case x86_64::Delta16:
  case x86_64::Delta8:
  case x86_64::NegDelta64:
  case x86_64::NegDelta32:
  case x86_64::PCRel32:
  case x86_64::BranchPCRel32:
  case x86_64::PCRel32GOTLoadRelaxable:
  case x86_64::PCRel32GOTLoadREXRelaxable:
  case x86_64::PCRel32TLVPLoadREXRelaxable:
  case x86_64::BranchPCRel32ToPtrJumpStub:
  case x86_64::BranchPCRel32ToPtrJumpStubBypassable:
  case x86_64::Size64:
  case x86_64::Size32:
    if (!IsExternal)
      return Error::success();
    break;
  default:
    break;
  }
  StringRef Name = E.getTarget().hasName() ? *E.getTarget().getName() : "";
  return createStringError(
      formatv("the code refers to '{0}' with the relocation {1}", Name,
              G.getEdgeKindName(E.getKind()))
          .str());
}

Error ImageLink::collect(LinkGraph &G) {
  bool HasEntry = false;
  for (Symbol *S : G.defined_symbols()) {
    uint64_t Offset = S->getAddress().getValue() - Base;
    if (S->hasName() && S->isCallable())
      Image.Functions.push_back({(*S->getName()).str(), Offset, S->getSize()});
    if (S->hasName() && *S->getName() == Entry) {
      Image.Entry = Offset;
      HasEntry = true;
    }
  }
  if (!HasEntry)
    return createStringError("the object defines no '" + Entry + "'");
  if (Section *Frames = G.findSectionByName(".eh_frame")) {
    SectionRange Range(*Frames);
    if (Range.getSize()) {
      Image.FrameOffset = Range.getStart().getValue() - Base;
      Image.FrameSize = Range.getSize();
    }
  }
  for (Block *B : G.blocks())
    for (const Edge &E : B->edges())
      if (Error Failed = collectEdge(G, *B, E))
        return Failed;
  return Error::success();
}

Expected<JitImage> llvm::mneme::linkImage(MemoryBufferRef Object,
                                          StringRef Entry) {
  // Keeps the pool alive: JITLink uses names when it returns from the
  // callbacks.
  auto Names = std::make_shared<orc::SymbolStringPool>();
  auto Graph = createLinkGraphFromObject(Object, Names);
  if (!Graph)
    return Graph.takeError();
  JitImage Image;
  Error Failure = Error::success();
  std::vector<LinkedSegment> Segments;
  SegmentCollector Memory(Base, MaxSize, Segments);
  // JITLink calls back before it returns, so nothing here runs later.
  link(std::move(*Graph),
       std::make_unique<ImageLink>(Memory, Image, Entry, Failure));
  if (Failure)
    return std::move(Failure);
  for (LinkedSegment &S : Segments) {
    uint64_t Offset = S.Address - Base, Size = S.Contents.size();
    Image.Size = alignTo(Offset + Size, SegmentCollector::PageSize);
    // Zeros at the end need no room in files.
    size_t Last = S.Contents.find_last_not_of('\0');
    S.Contents.resize(Last == std::string::npos ? 0 : Last + 1);
    Image.Segments.push_back(
        {Offset, Size, S.Protection, std::move(S.Contents)});
  }
  return std::move(Image);
}
