//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/NewRecording.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Mneme/Record/Folder.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Runtime/SnapshotFile.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace llvm::mneme;

static void writeArgs(::mneme::SnapshotFile &F, const NewRecording &R) {
  MnemeArgsRecord Record = {static_cast<uint32_t>(R.Args.size()), 0};
  std::string Bytes;
  for (const KernelArg &A : R.Kernel.Args) {
    MnemeArgEntry Entry = {A.Size, A.Offset};
    Bytes.append(reinterpret_cast<char *>(&Entry), sizeof(Entry));
  }
  for (const std::string &A : R.Args)
    Bytes += A;
  F.record(MNEME_RECORD_ARGS, &Record, sizeof(Record), Bytes.data(),
           Bytes.size());
}

static void writeRegions(::mneme::SnapshotFile &F, const NewRecording &R) {
  for (const SnapshotRegion &Region : R.Regions)
    F.region({Region.Address, Region.Size, Region.Kind, Region.Id,
              static_cast<uint32_t>(Region.Name.size()), 0},
             Region.Name);
}

static void writeAnnotations(::mneme::SnapshotFile &F, const NewRecording &R) {
  for (const SnapshotAnnotation &A : R.Annotations) {
    MnemeAnnotationRecord Record = {
        A.Address,   A.Size, A.DType,
        A.Tolerance, A.Norm, static_cast<uint32_t>(A.Tag.size()),
        A.Value};
    F.record(MNEME_RECORD_ANNOTATION, &Record, sizeof(Record), A.Tag.data(),
             A.Tag.size());
  }
}

static void writeMemory(::mneme::SnapshotFile &F,
                        ArrayRef<MemoryRange> Ranges) {
  for (const MemoryRange &R : Ranges)
    F.data(R.Bytes.data(), R.Address, R.Bytes.size());
  F.close();
}

static Error writeSnapshots(StringRef Dir, const NewRecording &R,
                            const Digest128 &StaticHash, uint64_t DynamicHash) {
  const RecordedInstance &I = R.Kernel.Instances.front();
  MnemeSnapshotHeader Header = {};
  llvm::copy(StaticHash, Header.StaticHash);
  Header.DynamicHash = DynamicHash;
  Header.ArenaBase = R.ArenaBase;
  Header.ArenaSize = R.ArenaSize;
  ::mneme::PageIndex Known;
  ::mneme::PageFile Pages;
  Pages.open(Dir.str(), Known);
  ::mneme::SnapshotFile Before, After;
  Header.Kind = MNEME_SNAPSHOT_PROLOGUE;
  Before.open(pathIn(Dir, I.Prologue), Header, Pages);
  writeArgs(Before, R);
  writeRegions(Before, R);
  writeAnnotations(Before, R);
  writeMemory(Before, R.Before);
  Header.Kind = MNEME_SNAPSHOT_EPILOGUE;
  After.open(pathIn(Dir, I.Epilogue), Header, Pages);
  writeRegions(After, R);
  writeMemory(After, R.After);
  Pages.close();
  Before.write();
  After.write();
  for (const std::string &Problem :
       {Pages.error(), Before.error(), After.error()})
    if (!Problem.empty())
      return createStringError(Problem);
  Before.leave();
  After.leave();
  return Error::success();
}

Expected<RecordedKernel>
llvm::mneme::writeRecording(StringRef Dir, const Module &M, NewRecording R) {
  if (std::error_code EC = sys::fs::create_directories(Dir))
    return createFileError(Dir, EC);
  RecordedKernel &K = R.Kernel;
  assert(K.Instances.size() == 1 && "one launch");
  RecordedInstance &I = K.Instances.front();
  K.StaticHash = computeStaticHash(M);
  Digest128 StaticHash = *parseDigest128(K.StaticHash);
  // Other inputs of the dynamic hash are known to the application only.
  K.DynamicHashInputs.assign(std::begin(LaunchInputs), std::end(LaunchInputs));
  uint64_t DynamicHash = computeDynamicHash(StaticHash, I);
  I.DynamicHash = toHexString(DynamicHash);
  I.Prologue = snapshotName(/*Epilogue=*/false, K.StaticHash, I.DynamicHash);
  I.Epilogue = snapshotName(/*Epilogue=*/true, K.StaticHash, I.DynamicHash);
  K.Modules = {moduleName(K.StaticHash)};

  std::string Bitcode;
  raw_string_ostream OS(Bitcode);
  WriteBitcodeToFile(M, OS);
  K.ModuleDigests = {toHexString(digest128(Bitcode))};
  if (Error E = writeFileAtomically(pathIn(Dir, K.Modules.front()), Bitcode))
    return std::move(E);
  if (Error E = writeSnapshots(Dir, R, StaticHash, DynamicHash))
    return std::move(E);
  if (Error E = I.seal(pathIn(Dir, I.Prologue), pathIn(Dir, I.Epilogue)))
    return std::move(E);
  if (Error E = writeKernelFile(pathIn(Dir, K.StaticHash + ".json"), K))
    return std::move(E);
  return std::move(K);
}
