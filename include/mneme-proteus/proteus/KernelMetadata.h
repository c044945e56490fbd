//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Descriptions of annotated kernels, as Proteus gives them. The bitcode is
/// that of the kernel's source file.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_PROTEUS_KERNELMETADATA_H
#define MNEME_PROTEUS_KERNELMETADATA_H

#include <cstdint>
#include <cstring>
#include <mneme/jit.h>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace proteus {
namespace runtime {

struct GlobalMetadata {
  const void *HostAddr = nullptr;
  const void *DevAddr = nullptr;
  uint64_t VarSize = 0;
};

using GlobalMetadataMap = std::unordered_map<std::string, GlobalMetadata>;

class KernelMetadata {
public:
  KernelMetadata(std::string Name, uint64_t StaticHash,
                 std::vector<char> Bitcode, GlobalMetadataMap Globals)
      : Name(std::move(Name)), StaticHash(StaticHash),
        Bitcode(std::move(Bitcode)), Globals(std::move(Globals)) {}

  const std::string &getName() const { return Name; }
  uint64_t getStaticHash() const { return StaticHash; }
  const std::vector<char> &getBitcode() const { return Bitcode; }
  const GlobalMetadataMap &getGlobals() const { return Globals; }

private:
  std::string Name;
  uint64_t StaticHash;
  std::vector<char> Bitcode;
  GlobalMetadataMap Globals;
};

/// Returns nothing for a kernel that is not annotated.
inline std::optional<KernelMetadata> captureKernelMetadata(const void *Kernel) {
  std::string Name;
  uint64_t Hash = 0;
  std::vector<char> Code;
  GlobalMetadataMap Globals;
  bool Known = mneme::jit_describe(
      Kernel,
      [&](const char *TheName, const uint8_t *TheHash, const void *Bitcode,
          size_t Size) {
        Name = TheName;
        std::memcpy(&Hash, TheHash, sizeof(Hash));
        const char *Bytes = static_cast<const char *>(Bitcode);
        Code.assign(Bytes, Bytes + Size);
      },
      [&](const char *Variable, const void *Host, const void *Device,
          size_t Size) { Globals[Variable] = {Host, Device, Size}; });
  if (!Known)
    return std::nullopt;
  return KernelMetadata(std::move(Name), Hash, std::move(Code),
                        std::move(Globals));
}

} // namespace runtime
} // namespace proteus

#endif // MNEME_PROTEUS_KERNELMETADATA_H
