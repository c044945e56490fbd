//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PayloadKernels.h"

#include <cstddef>
#include <cstring>

using namespace mneme;

/// Returns \p Count entries of a table at \p Offset; null if they are not in
/// the payload.
template <typename T>
static const T *tableAt(const MnemePayloadHeader &P, uint64_t Offset,
                        uint64_t Count) {
  if (Offset > P.TotalSize || Offset % alignof(T) ||
      Count > (P.TotalSize - Offset) / sizeof(T))
    return nullptr;
  return reinterpret_cast<const T *>(reinterpret_cast<const char *>(&P) +
                                     Offset);
}

static const MnemePayloadKernel *findKernel(const MnemePayloadHeader &P,
                                            const std::string &Name) {
  auto *Kernels = tableAt<MnemePayloadKernel>(P, P.KernelsOffset, P.NumKernels);
  size_t Size = Name.size() + 1;
  for (uint32_t I = 0; Kernels && I != P.NumKernels; ++I) {
    const char *Text = tableAt<char>(P, Kernels[I].NameOffset, Size);
    if (Text && !memcmp(Text, Name.c_str(), Size))
      return &Kernels[I];
  }
  return nullptr;
}

bool mneme::haveSameArguments(const MnemePayloadHeader &P,
                              const std::string &Kernel,
                              PackageRange<MnemePackageArg> Args) {
  const MnemePayloadKernel *K = findKernel(P, Kernel);
  if (!K || K->NumArgs != Args.size())
    return false;
  auto *Own = tableAt<MnemePayloadArg>(P, K->ArgsOffset, K->NumArgs);
  if (!Own)
    return false;
  for (size_t I = 0; I != Args.size(); ++I)
    if (Own[I].Size != Args[I].Size || Own[I].Offset != Args[I].Offset)
      return false;
  return true;
}

const uint8_t *mneme::findStaticHash(const MnemePayloadHeader &P,
                                     const std::string &Kernel) {
  const MnemePayloadKernel *K = findKernel(P, Kernel);
  constexpr size_t HashSize = sizeof(MnemePackageKernel::StaticHash);
  return K && K->StaticHashOffset
             ? tableAt<uint8_t>(P, K->StaticHashOffset, HashSize)
             : nullptr;
}

const MnemePayloadArg *mneme::findArguments(const MnemePayloadHeader &P,
                                            const std::string &Kernel,
                                            uint32_t &Count) {
  const MnemePayloadKernel *K = findKernel(P, Kernel);
  Count = K ? K->NumArgs : 0;
  return Count ? tableAt<MnemePayloadArg>(P, K->ArgsOffset, Count) : nullptr;
}
