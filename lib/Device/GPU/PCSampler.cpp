//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PCSampler.h"
#include <cstdlib>

using namespace llvm;
using namespace llvm::mneme;
using namespace cupti;

void PCSampler::Buffer::allocate(size_t Count, size_t NumReasons) {
  PCs.resize(Count);
  Stalls.resize(Count * NumReasons);
  for (size_t I = 0; I != Count; ++I)
    PCs[I].Stalls = &Stalls[I * NumReasons];
  Data.Capacity = Count;
  Data.PCs = PCs.data();
}

//===----------------------------------------------------------------------===//
// Opening and closing
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<PCSampler>>
PCSampler::create(void *Context, ArrayRef<char> Image, unsigned LogPeriod) {
  std::unique_ptr<PCSampler> S(new PCSampler(Context, Image));
  std::string Problem;
  if (!S->F.load(Problem))
    return createStringError(Problem);
  ImageCRCParams Digest;
  Digest.Image = Image.data();
  Digest.ImageSize = Image.size();
  if (Error E = S->check(S->F.GetImageCRC(&Digest), "identify the code"))
    return std::move(E);
  S->CRC = Digest.CRC;
  SamplingParams Enable;
  Enable.Context = Context;
  if (Error E = S->check(S->F.Enable(&Enable), "sample the device"))
    return std::move(E);
  S->IsEnabled = true;
  if (Error E = S->readReasons())
    return std::move(E);
  if (Error E = S->configure(LogPeriod))
    return std::move(E);
  return std::move(S);
}

Error PCSampler::disable() {
  if (!std::exchange(IsEnabled, false))
    return Error::success();
  SamplingParams Disable;
  Disable.Context = Context;
  return check(F.Disable(&Disable), "end the sampling");
}

PCSampler::~PCSampler() { consumeError(disable()); }

/// Each reason has a twin for samples in which the scheduler issued nothing at
/// all, which the first counts, too.
Error PCSampler::readReasons() {
  size_t Count = 0;
  NumStallReasonsParams Number;
  Number.Context = Context;
  Number.Count = &Count;
  if (Error E = check(F.GetNumStallReasons(&Number), "list stall reasons"))
    return E;
  std::vector<uint32_t> Indices(Count);
  std::vector<char> Text(Count * StallReasonLength);
  std::vector<char *> Names;
  for (size_t I = 0; I != Count; ++I)
    Names.push_back(&Text[I * StallReasonLength]);
  StallReasonsParams List;
  List.Context = Context;
  List.Count = Count;
  List.Indices = Indices.data();
  List.Names = Names.data();
  if (Error E = check(F.GetStallReasons(&List), "list stall reasons"))
    return E;
  for (auto [Index, Chars] : zip_equal(Indices, Names)) {
    StringRef Name = Chars;
    if (Name.ends_with("_not_issued"))
      continue;
    Name.consume_front("smsp__pcsamp_warps_issue_stalled_");
    if (Reasons.size() <= Index)
      Reasons.resize(Index + 1);
    Reasons[Index] = Name.str();
  }
  constexpr size_t PCs = 4096;
  Current.allocate(PCs, Count);
  Rest.allocate(PCs, Count);
  return Error::success();
}

Error PCSampler::configure(unsigned LogPeriod) {
  std::vector<uint32_t> Wanted;
  for (size_t I = 0; I != Reasons.size(); ++I)
    if (!Reasons[I].empty())
      Wanted.push_back(I);
  SamplingAttribute Attributes[7];
  Attributes[0].Attribute = CUPTI_PC_SAMPLING_ATTR_COLLECTION_MODE;
  Attributes[0].Number = CUPTI_PC_SAMPLING_CONTINUOUS;
  Attributes[1].Attribute = CUPTI_PC_SAMPLING_ATTR_PERIOD;
  Attributes[1].Number = LogPeriod;
  Attributes[2].Attribute = CUPTI_PC_SAMPLING_ATTR_STALL_REASON;
  Attributes[2].Reasons = {Wanted.size(), Wanted.data()};
  Attributes[3].Attribute = CUPTI_PC_SAMPLING_ATTR_SCRATCH_BUFFER_SIZE;
  Attributes[3].Bytes = size_t(16) << 20;
  Attributes[4].Attribute = CUPTI_PC_SAMPLING_ATTR_HARDWARE_BUFFER_SIZE;
  Attributes[4].Bytes = size_t(128) << 20;
  // Without it, what is launched to prepare a launch would be sampled, too.
  Attributes[5].Attribute = CUPTI_PC_SAMPLING_ATTR_START_STOP_CONTROL;
  Attributes[5].Number = 1;
  Attributes[6].Attribute = CUPTI_PC_SAMPLING_ATTR_DATA_BUFFER;
  Attributes[6].Buffer = &Rest.Data;
  SamplingConfigParams Config;
  Config.Context = Context;
  Config.Count = std::size(Attributes);
  Config.Attributes = Attributes;
  return check(F.Configure(&Config), "configure the sampling");
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

Error PCSampler::beginPass() {
  SamplingParams Start;
  Start.Context = Context;
  return check(F.Start(&Start), "start sampling");
}

Error PCSampler::endPass() {
  SamplingParams Stop;
  Stop.Context = Context;
  if (Error E = check(F.Stop(&Stop), "stop sampling"))
    return E;
  do {
    SamplingDataParams Get;
    Get.Context = Context;
    Get.Data = &Current.Data;
    if (Error E = check(F.GetData(&Get), "read the samples"))
      return E;
    take(Current);
  } while (Current.Data.Remaining && Current.Data.Count);
  return Error::success();
}

/// Leaks the names of functions, which several records may share.
void PCSampler::take(const Buffer &B) {
  Dropped += B.Data.Dropped;
  for (const SampledPC &PC : ArrayRef(B.PCs).take_front(B.Data.Count)) {
    if (PC.ImageCRC != CRC || !PC.Function)
      continue;
    StringMap<uint64_t> &Stalls = Samples[{PC.Function, PC.Offset}];
    for (const StallSamples &S : ArrayRef(PC.Stalls, PC.NumStalls))
      if (S.Reason < Reasons.size() && S.Samples) {
        Stalls[Reasons[S.Reason]] += S.Samples;
        NumSamples += S.Samples;
      }
  }
}

Error PCSampler::finish(PCReading &Reading) {
  if (Error E = disable())
    return E;
  take(Rest);
  Reading.Dropped = Dropped;
  for (auto &[Place, Stalls] : Samples) {
    SourceLineParams Line;
    Line.Image = Image.data();
    Line.ImageSize = Image.size();
    Line.Function = Place.first.c_str();
    Line.Offset = Place.second;
    // Not all instructions have one.
    if (F.GetSourceLine(&Line))
      Line.Line = 0;
    free(Line.File);
    free(Line.Folder);
    Reading.Samples.push_back(
        {Place.first, Place.second, Line.Line, std::move(Stalls)});
  }
  return Error::success();
}
