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

static bool readHash(WireReader &R, Digest128 &Hash) {
  size_t Size;
  const char *Bytes = R.bytes(Size);
  if (!R.ok() || Size != Hash.size())
    return false;
  memcpy(Hash.data(), Bytes, Size);
  return true;
}

/// Reads a text for users and for JSON: valid UTF-8 without control characters.
static std::string readText(WireReader &R) {
  std::string Text = json::fixUTF8(R.str());
  for (char &C : Text)
    if (static_cast<unsigned char>(C) < ' ' || C == '\x7f')
      C = ' ';
  return Text;
}

/// \returns whether [Base, Base + Size) does not wrap around.
static bool isRange(uint64_t Base, uint64_t Size) {
  return Base + Size >= Base;
}

/// Reads a u32 and calls \p Read as often, until it returns false.
static bool readAll(WireReader &R, function_ref<bool()> Read) {
  for (uint32_t N = R.u32(); N; --N)
    if (!R.ok() || !Read())
      return false;
  return R.ok();
}

/// Reads a flag, which must be 0 or 1.
static bool readFlag(WireReader &R, bool &Flag) {
  uint32_t Value = R.u32();
  Flag = Value;
  return Value <= 1;
}

Expected<HelloRequest> HelloRequest::decode(StringRef Body) {
  WireReader R(Body.data(), Body.size());
  uint32_t Version = R.u32();
  if (R.ok() && Version != MNEME_WIRE_VERSION)
    return createStringError(
        formatv("the runtime speaks version {0}, the launcher {1}: they are of "
                "different builds",
                Version, MNEME_WIRE_VERSION)
            .str());
  R.u32(); // The process id.
  HelloRequest Q;
  Q.Device = readText(R);
  Q.RankVariable = readText(R);
  Q.CodeBase = R.u64();
  Q.CodeSize = R.u64();
  bool Ok = readAll(R, [&] {
    std::string Name = R.str();
    Q.Symbols[Name] = R.u64();
    return true;
  });
  if (!Ok || !R.atEnd() || !is_contained({"host", "cuda", "hip"}, Q.Device) ||
      !isRange(Q.CodeBase, Q.CodeSize))
    return malformed();
  return Q;
}

Expected<LoadModuleRequest> LoadModuleRequest::decode(StringRef Body) {
  WireReader R(Body.data(), Body.size());
  LoadModuleRequest Q;
  bool Ok = readHash(R, Q.Module) && readAll(R, [&] {
              Q.Payloads.push_back(R.str());
              return Q.Payloads.back().size() > sizeof(MnemePayloadHeader);
            });
  if (!Ok || !R.atEnd() || Q.Payloads.empty())
    return malformed();
  return Q;
}

Expected<InitializeRequest> InitializeRequest::decode(StringRef Body) {
  WireReader R(Body.data(), Body.size());
  InitializeRequest Q;
  if (!readHash(R, Q.Module))
    return malformed();
  Q.Copy = R.u32();
  bool Ok = readAll(R, [&] {
    Q.Names.push_back(R.str());
    return Q.Addresses.try_emplace(Q.Names.back(), R.u64()).second;
  });
  if (!Ok || !R.atEnd())
    return malformed();
  return Q;
}

Expected<LoadKernelRequest> LoadKernelRequest::decode(StringRef Body) {
  WireReader R(Body.data(), Body.size());
  LoadKernelRequest Q;
  bool Ok = readHash(R, Q.Module);
  Q.Copy = R.u32();
  Ok = Ok && readHash(R, Q.Unit);
  Q.Kernel = R.str();
  Ok = Ok && readFlag(R, Q.ForHost);
  if (!Ok || !R.ok() || !R.atEnd() || Q.Kernel.empty())
    return malformed();
  return Q;
}

Expected<LoadObjectRequest> LoadObjectRequest::decode(StringRef Body) {
  WireReader R(Body.data(), Body.size());
  LoadObjectRequest Q;
  bool Ok = readHash(R, Q.Module);
  Q.Copy = R.u32();
  Q.CPU = R.str();
  Q.Entry = R.str();
  Q.Object = R.str();
  if (!Ok || !R.ok() || !R.atEnd() || Q.Entry.empty())
    return malformed();
  return Q;
}

Expected<LoadImageRequest> LoadImageRequest::decode(StringRef Body) {
  WireReader R(Body.data(), Body.size());
  LoadImageRequest Q;
  Q.Image = R.str();
  Q.Kernel = R.str();
  Q.Arch = readText(R);
  bool Ok = readFlag(R, Q.HasLayout);
  Ok = Ok && readAll(R, [&] {
         ImageParam P;
         P.Offset = R.u32();
         P.Size = R.u32();
         Q.Layout.push_back(P);
         return true;
       });
  Q.IR = R.str();
  Q.Options = R.str();
  if (!Ok || !R.ok() || !R.atEnd() || Q.Kernel.empty() || Q.Image.empty() ||
      !json::isUTF8(Q.Kernel))
    return malformed();
  return Q;
}

Expected<LoadLibraryRequest> LoadLibraryRequest::decode(StringRef Body) {
  WireReader R(Body.data(), Body.size());
  LoadLibraryRequest Q;
  bool Ok = readHash(R, Q.Module);
  Q.Library.Image = R.str();
  Q.Library.IR = R.str();
  Q.Library.Options = R.str();
  if (!Ok || !R.ok() || !R.atEnd() || Q.Library.Image.empty())
    return malformed();
  return Q;
}

/// Reads a grid or block. \returns false if a dimension is 0.
static bool readDims(WireReader &R, Dim3 &D) {
  D.X = R.u32();
  D.Y = R.u32();
  D.Z = R.u32();
  return D.X && D.Y && D.Z;
}

/// \returns whether \p Name is \p Final, a period, digits and periods. Such a
/// name is no path to another folder.
static bool isStagingName(StringRef Name, StringRef Final) {
  return Name.consume_front(Final) && Name.consume_front(".") &&
         !Name.empty() &&
         llvm::all_of(Name, [](char C) { return isDigit(C) || C == '.'; });
}

Expected<RecordedRequest> RecordedRequest::decode(StringRef Body) {
  WireReader R(Body.data(), Body.size());
  RecordedRequest Q;
  RecordedLaunch &L = Q.Launch;
  RecordedInstance &I = L.Instance;
  Digest128 Static;
  if (!readHash(R, Static))
    return malformed();
  L.StaticHash = toHexString(Static);
  I.DynamicHash = toHexString(R.u64());
  bool Ok = readDims(R, I.Grid);
  Ok = readDims(R, I.Block) && Ok;
  I.SharedMem = R.u64();
  Ok = readFlag(R, I.Cooperative) && Ok;
  Ok = readDims(R, I.Cluster) && Ok;
  Q.Prologue = R.str();
  Q.Epilogue = R.str();
  Ok = readFlag(R, Q.IsTentative) && Ok;
  Ok = readFlag(R, L.ChangesMemory) && Ok;
  L.ArenaBase = R.u64();
  L.ArenaSize = R.u64();
  L.StoredBytes = R.u64();
  L.RawBytes = R.u64();
  Ok = Ok && readAll(R, [&] {
         KernelGlobal G;
         G.Name = R.str();
         G.Address = R.u64();
         G.Size = R.u64();
         L.Globals.push_back(G);
         return json::isUTF8(G.Name) && isRange(G.Address, G.Size);
       });
  I.Device.Name = readText(R);
  I.Device.Arch = readText(R);
  I.Device.Driver = readText(R);
  I.Device.Runtime = readText(R);
  I.OmittedRegions = R.u64();
  I.OmittedBytes = R.u64();
  Ok = Ok && readAll(R, [&] {
         Digest128 Id;
         if (!readHash(R, Id))
           return false;
         L.PageFiles.push_back(PageFile::nameOf(Id));
         return true;
       });
  if (!Ok || !R.atEnd() || L.ArenaSize == 0 ||
      !isRange(L.ArenaBase, L.ArenaSize))
    return malformed();
  I.Prologue = snapshotName(/*Epilogue=*/false, L.StaticHash, I.DynamicHash);
  I.Epilogue = snapshotName(/*Epilogue=*/true, L.StaticHash, I.DynamicHash);
  if (!isStagingName(Q.Prologue, I.Prologue) ||
      !isStagingName(Q.Epilogue, I.Epilogue))
    return createStringError("unexpected names of snapshots: '" + Q.Prologue +
                             "', '" + Q.Epilogue + "'");
  return Q;
}

Expected<WithdrawRequest> WithdrawRequest::decode(StringRef Body) {
  WireReader R(Body.data(), Body.size());
  Digest128 Static;
  if (!readHash(R, Static))
    return malformed();
  WithdrawRequest Q = {toHexString(Static), toHexString(R.u64())};
  if (!R.ok() || !R.atEnd())
    return malformed();
  return Q;
}

Expected<ProcessSummary> llvm::mneme::decodeSummary(StringRef Body) {
  WireReader R(Body.data(), Body.size());
  ProcessSummary S;
  S.Seen = R.u64();
  S.Recorded = R.u64();
  S.Skipped = R.u64();
  bool Ok = readAll(R, [&] {
    ProcessSummary::Kernel K;
    std::string Static = R.str();
    Digest128 Hash;
    bool HasHash = Static.size() == Hash.size();
    if (HasHash) {
      llvm::copy(Static, Hash.begin());
      K.StaticHash = toHexString(Hash);
    }
    K.Name = readText(R);
    K.DynamicHash = toHexString(R.u64());
    K.Occurrences = R.u64();
    bool IsOk = readAll(R, [&] {
      K.VaryingArgs.push_back(R.u32());
      return true;
    });
    S.Kernels.push_back(std::move(K));
    return IsOk && (HasHash || Static.empty());
  });
  Ok = Ok && readAll(R, [&] {
         std::string Reason = readText(R);
         S.Reasons[Reason] += R.u64();
         return true;
       });
  S.Nanoseconds = R.u64();
  S.FinalWait = R.u64();
  if (!Ok || !R.ok() || !R.atEnd())
    return malformed();
  return S;
}

Expected<Profile> llvm::mneme::decodeProfile(StringRef Body) {
  WireReader R(Body.data(), Body.size());
  Profile P;
  P.Arch = readText(R);
  bool Ok = readAll(R, [&] {
    std::string Symbol = R.str();
    uint64_t Numbers[7];
    for (uint64_t &Number : Numbers)
      Number = R.u64();
    ProfiledShape S;
    ProfiledLaunches L;
    uint32_t *Dims[] = {&S.Grid.X,  &S.Grid.Y,  &S.Grid.Z,
                        &S.Block.X, &S.Block.Y, &S.Block.Z};
    for (auto [Dim, Number] : zip(Dims, Numbers)) {
      if (Number > UINT32_MAX)
        return false;
      *Dim = uint32_t(Number);
    }
    S.DynamicShared = Numbers[6];
    L.Registers = R.u32();
    L.StaticShared = R.u32();
    L.Local = R.u32();
    L.Nanoseconds = R.u64();
    if (!readAll(R, [&] {
          uint32_t Bucket = R.u32();
          L.Buckets[Bucket] += R.u64();
          return Bucket < ::mneme::NumTimeBuckets;
        }))
      return false;
    // Rows of a kernel follow each other.
    if (P.Kernels.empty() || P.Kernels.back().Symbol != Symbol)
      P.Kernels.push_back({Symbol, {}});
    return P.Kernels.back().Shapes.try_emplace(S, std::move(L)).second;
  });
  P.Copies = R.u64();
  P.CopyNanoseconds = R.u64();
  P.Lost = R.u64();
  if (!Ok || !R.ok() || !R.atEnd())
    return malformed();
  return P;
}
