//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchMessages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Record/Snapshot.h"
#include "llvm/Mneme/Runtime/PayloadFormat.h"
#include "llvm/Mneme/Runtime/TimeBuckets.h"
#include "llvm/Mneme/Runtime/Wire.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::WireReader;

Error llvm::mneme::malformed() {
  return createStringError("malformed request");
}

namespace {
/// Reads the fields of a message. Whatever is wrong is noted, and the fields
/// behind it are of no use.
class MessageReader {
public:
  explicit MessageReader(StringRef Body) : R(Body.data(), Body.size()) {}

  uint32_t u32() { return R.u32(); }
  uint64_t u64() { return R.u64(); }
  std::string str() { return R.str(); }
  /// Reads a text for users and for JSON: valid UTF-8 without control
  /// characters.
  std::string text() {
    std::string Text = json::fixUTF8(R.str());
    for (char &C : Text)
      if (static_cast<unsigned char>(C) < ' ' || C == '\x7f')
        C = ' ';
    return Text;
  }
  Digest128 hash() {
    Digest128 Hash = {};
    std::string Bytes = R.str();
    require(Bytes.size() == Hash.size());
    if (IsValid)
      llvm::copy(Bytes, Hash.begin());
    return Hash;
  }
  bool flag() {
    uint32_t Value = R.u32();
    require(Value <= 1);
    return Value;
  }
  Dim3 dims() {
    Dim3 D;
    D.X = R.u32();
    D.Y = R.u32();
    D.Z = R.u32();
    require(D.X && D.Y && D.Z);
    return D;
  }
  /// Reads a u32 and calls \p Read as often, while nothing is wrong.
  void each(function_ref<void()> Read) {
    for (uint32_t N = R.u32(); N && isGood(); --N)
      Read();
  }
  void require(bool Condition) { IsValid &= Condition; }
  /// Requires that [Base, Base + Size) does not wrap around.
  void requireRange(uint64_t Base, uint64_t Size) {
    require(Base + Size >= Base);
  }
  bool isGood() const { return IsValid && R.ok(); }
  /// Returns \p Message if it was read to its end.
  template <typename T> Expected<T> finish(T Message) {
    if (!isGood() || !R.atEnd())
      return malformed();
    return Message;
  }

private:
  WireReader R;
  bool IsValid = true;
};
} // namespace

Expected<HelloRequest> HelloRequest::decode(StringRef Body) {
  MessageReader R(Body);
  uint32_t Version = R.u32();
  if (R.isGood() && Version != MNEME_WIRE_VERSION)
    return createStringError(
        formatv("the runtime speaks version {0}, the launcher {1}: they are of "
                "different builds",
                Version, MNEME_WIRE_VERSION)
            .str());
  R.u32(); // The process id.
  HelloRequest Q;
  Q.Device = R.text();
  Q.RankVariable = R.text();
  Q.CodeBase = R.u64();
  Q.CodeSize = R.u64();
  R.each([&] {
    std::string Name = R.str();
    Q.Symbols[Name] = R.u64();
  });
  R.require(is_contained({"host", "cuda", "hip"}, Q.Device));
  R.requireRange(Q.CodeBase, Q.CodeSize);
  return R.finish(std::move(Q));
}

Expected<LoadModuleRequest> LoadModuleRequest::decode(StringRef Body) {
  MessageReader R(Body);
  LoadModuleRequest Q;
  Q.Module = R.hash();
  R.each([&] {
    Q.Payloads.push_back(R.str());
    R.require(Q.Payloads.back().size() > sizeof(MnemePayloadHeader));
  });
  R.require(!Q.Payloads.empty());
  return R.finish(std::move(Q));
}

Expected<InitializeRequest> InitializeRequest::decode(StringRef Body) {
  MessageReader R(Body);
  InitializeRequest Q;
  Q.Module = R.hash();
  Q.Copy = R.u32();
  R.each([&] {
    Q.Names.push_back(R.str());
    R.require(Q.Addresses.try_emplace(Q.Names.back(), R.u64()).second);
  });
  return R.finish(std::move(Q));
}

Expected<LoadKernelRequest> LoadKernelRequest::decode(StringRef Body) {
  MessageReader R(Body);
  LoadKernelRequest Q;
  Q.Module = R.hash();
  Q.Copy = R.u32();
  Q.Unit = R.hash();
  Q.Kernel = R.str();
  Q.ForHost = R.flag();
  R.require(!Q.Kernel.empty());
  return R.finish(std::move(Q));
}

Expected<LoadObjectRequest> LoadObjectRequest::decode(StringRef Body) {
  MessageReader R(Body);
  LoadObjectRequest Q;
  Q.Module = R.hash();
  Q.Copy = R.u32();
  Q.CPU = R.str();
  Q.Entry = R.str();
  Q.Object = R.str();
  R.require(!Q.Entry.empty());
  return R.finish(std::move(Q));
}

Expected<LoadImageRequest> LoadImageRequest::decode(StringRef Body) {
  MessageReader R(Body);
  LoadImageRequest Q;
  Q.Image = R.str();
  Q.Kernel = R.str();
  Q.Arch = R.text();
  Q.HasLayout = R.flag();
  R.each([&] {
    ImageParam P;
    P.Offset = R.u32();
    P.Size = R.u32();
    Q.Layout.push_back(P);
  });
  Q.IR = R.str();
  Q.Options = R.str();
  R.require(!Q.Kernel.empty() && !Q.Image.empty() && json::isUTF8(Q.Kernel));
  return R.finish(std::move(Q));
}

Expected<LoadLibraryRequest> LoadLibraryRequest::decode(StringRef Body) {
  MessageReader R(Body);
  LoadLibraryRequest Q;
  Q.Module = R.hash();
  Q.Library.Image = R.str();
  Q.Library.IR = R.str();
  Q.Library.Options = R.str();
  R.require(!Q.Library.Image.empty());
  return R.finish(std::move(Q));
}

/// \returns whether \p Name is \p Final, a period, digits and periods. Such a
/// name is no path to another folder.
static bool isStagingName(StringRef Name, StringRef Final) {
  return Name.consume_front(Final) && Name.consume_front(".") &&
         !Name.empty() &&
         llvm::all_of(Name, [](char C) { return isDigit(C) || C == '.'; });
}

Expected<RecordedRequest> RecordedRequest::decode(StringRef Body) {
  MessageReader R(Body);
  RecordedRequest Q;
  RecordedLaunch &L = Q.Launch;
  RecordedInstance &I = L.Instance;
  L.StaticHash = toHexString(R.hash());
  I.DynamicHash = toHexString(R.u64());
  I.Grid = R.dims();
  I.Block = R.dims();
  I.SharedMem = R.u64();
  I.Cooperative = R.flag();
  I.Cluster = R.dims();
  Q.Prologue = R.str();
  Q.Epilogue = R.str();
  Q.IsTentative = R.flag();
  L.ChangesMemory = R.flag();
  L.ArenaBase = R.u64();
  L.ArenaSize = R.u64();
  L.StoredBytes = R.u64();
  L.RawBytes = R.u64();
  R.each([&] {
    KernelGlobal G;
    G.Name = R.str();
    G.Address = R.u64();
    G.Size = R.u64();
    R.require(json::isUTF8(G.Name));
    R.requireRange(G.Address, G.Size);
    L.Globals.push_back(std::move(G));
  });
  I.Device.Name = R.text();
  I.Device.Arch = R.text();
  I.Device.Driver = R.text();
  I.Device.Runtime = R.text();
  I.OmittedRegions = R.u64();
  I.OmittedBytes = R.u64();
  R.each([&] { L.PageFiles.push_back(PageFile::nameOf(R.hash())); });
  R.require(L.ArenaSize != 0);
  R.requireRange(L.ArenaBase, L.ArenaSize);
  I.Prologue = snapshotName(/*Epilogue=*/false, L.StaticHash, I.DynamicHash);
  I.Epilogue = snapshotName(/*Epilogue=*/true, L.StaticHash, I.DynamicHash);
  Expected<RecordedRequest> Read = R.finish(std::move(Q));
  if (Read && (!isStagingName(Read->Prologue, Read->Launch.Instance.Prologue) ||
               !isStagingName(Read->Epilogue, Read->Launch.Instance.Epilogue)))
    return createStringError("unexpected names of snapshots: '" +
                             Read->Prologue + "', '" + Read->Epilogue + "'");
  return Read;
}

Expected<WithdrawRequest> WithdrawRequest::decode(StringRef Body) {
  MessageReader R(Body);
  WithdrawRequest Q;
  Q.StaticHash = toHexString(R.hash());
  Q.DynamicHash = toHexString(R.u64());
  return R.finish(std::move(Q));
}

Expected<ProcessSummary> llvm::mneme::decodeSummary(StringRef Body) {
  MessageReader R(Body);
  ProcessSummary S;
  S.Seen = R.u64();
  S.Recorded = R.u64();
  S.Skipped = R.u64();
  R.each([&] {
    ProcessSummary::Kernel K;
    std::string Static = R.str();
    Digest128 Hash;
    if (Static.size() == Hash.size()) {
      llvm::copy(Static, Hash.begin());
      K.StaticHash = toHexString(Hash);
    }
    R.require(Static.empty() || !K.StaticHash.empty());
    K.Name = R.text();
    K.DynamicHash = toHexString(R.u64());
    K.Occurrences = R.u64();
    R.each([&] { K.VaryingArgs.push_back(R.u32()); });
    S.Kernels.push_back(std::move(K));
  });
  R.each([&] {
    std::string Reason = R.text();
    S.Reasons[Reason] += R.u64();
  });
  S.Nanoseconds = R.u64();
  S.FinalWait = R.u64();
  return R.finish(std::move(S));
}

Expected<Profile> llvm::mneme::decodeProfile(StringRef Body) {
  MessageReader R(Body);
  Profile P;
  P.Arch = R.text();
  R.each([&] {
    std::string Symbol = R.str();
    ProfiledShape S;
    ProfiledLaunches L;
    for (uint32_t *Dim : {&S.Grid.X, &S.Grid.Y, &S.Grid.Z, &S.Block.X,
                          &S.Block.Y, &S.Block.Z}) {
      uint64_t Number = R.u64();
      R.require(Number <= UINT32_MAX);
      *Dim = uint32_t(Number);
    }
    S.DynamicShared = R.u64();
    L.Registers = R.u32();
    L.StaticShared = R.u32();
    L.Local = R.u32();
    L.Nanoseconds = R.u64();
    R.each([&] {
      uint32_t Bucket = R.u32();
      L.Buckets[Bucket] += R.u64();
      R.require(Bucket < ::mneme::NumTimeBuckets);
    });
    // Rows of a kernel follow each other.
    if (P.Kernels.empty() || P.Kernels.back().Symbol != Symbol)
      P.Kernels.push_back({Symbol, {}});
    R.require(P.Kernels.back().Shapes.try_emplace(S, std::move(L)).second);
  });
  P.Copies = R.u64();
  P.CopyNanoseconds = R.u64();
  P.Lost = R.u64();
  return R.finish(std::move(P));
}
