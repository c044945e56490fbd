//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitKernel.h"
#include "Jit.h"
#include "JitEntries.h"
#include "PayloadKernels.h"

#include <algorithm>

using namespace mneme;

/// Whether a field is within the arguments that the payload lists: a launch has
/// no others.
static bool isWithin(const MnemeJitField &F, const MnemePayloadArg *Args,
                     uint32_t NumArgs) {
  if (F.Arg >= NumArgs || F.Place != F.Arg)
    return false;
  uint64_t Size = Args[F.Arg].Size;
  switch (F.Kind) {
  case MNEME_JIT_VALUE:
    return uint64_t(F.Offset) + F.Size <= Size;
  case MNEME_JIT_ARRAY:
    return Size == sizeof(void *) &&
           (F.CountArg == MNEME_JIT_NO_ARG ||
            (F.CountArg < NumArgs && F.CountPlace == F.CountArg &&
             F.CountSize <= Args[F.CountArg].Size));
  }
  return false;
}

bool mneme::describeJitKernel(const void *HostPtr, const IndexEntry &Entry,
                              const DeviceModule &Module, JitTarget Target,
                              JitRequest &Q) {
  if (!Jit::get().isOn() || Entry.Payload->Flags & MNEME_PAYLOAD_SLIM)
    return false;
  const MnemeJitEntry *Annotation = findJitKernel(HostPtr);
  if (!Annotation && !Jit::get().selects(Entry.Name))
    return false;
  Q.Target = Target;
  Q.IsByName = !Annotation;
  Jit::get().complete(Q);
  const uint8_t *StaticHash = findStaticHash(*Entry.Payload, Entry.Name);
  Q.Code = StaticHash
               ? std::string(reinterpret_cast<const char *>(StaticHash), 16)
               : Module.Hash;
  Q.Unit = hashOf(*Entry.Payload);
  Q.Symbol = Entry.Name;
  uint32_t NumArgs = 0;
  const MnemePayloadArg *Args =
      findArguments(*Entry.Payload, Entry.Name, NumArgs);
  if (Annotation && Args)
    std::copy_if(Annotation->Fields, Annotation->Fields + Annotation->NumFields,
                 std::back_inserter(Q.Fields), [&](const MnemeJitField &F) {
                   return isWithin(F, Args, NumArgs);
                 });
  for (uint32_t I = 0; !Annotation && Args && I != NumArgs; ++I)
    if (Args[I].Kind == MNEME_ARG_VALUE &&
        Q.Fields.size() < MNEME_JIT_MAX_FIELDS)
      Q.Fields.push_back({MNEME_JIT_VALUE, /*Flags=*/0, /*Arg=*/I, /*Place=*/I,
                          /*Offset=*/0, Args[I].Size, /*Count=*/0,
                          MNEME_JIT_NO_ARG, /*CountPlace=*/0,
                          /*CountSize=*/0});
  return true;
}
