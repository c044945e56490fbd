//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The AMD GPUs that code runs on. For the runtime and the tools.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_AMDPROCESSORS_H
#define LLVM_MNEME_RUNTIME_AMDPROCESSORS_H

#include <string_view>

namespace mneme {

/// A processor whose code runs on several others.
struct GenericProcessor {
  std::string_view Name;
  std::string_view Members; ///< Separated by spaces.
};

/// https://llvm.org/docs/AMDGPUUsage.html, as of LLVM 22.
inline constexpr GenericProcessor GenericProcessors[] = {
    {"gfx9-generic", "gfx900 gfx902 gfx904 gfx906 gfx909 gfx90c"},
    {"gfx9-4-generic", "gfx942 gfx950"},
    {"gfx10-1-generic", "gfx1010 gfx1011 gfx1012 gfx1013"},
    {"gfx10-3-generic",
     "gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036"},
    {"gfx11-generic",
     "gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153"},
    {"gfx12-generic", "gfx1200 gfx1201"},
};

/// Returns the part of \p List before \p Separator, and removes both.
inline std::string_view takeFront(std::string_view &List, char Separator) {
  std::string_view Front = List.substr(0, List.find(Separator));
  List.remove_prefix(Front.size() + (Front.size() != List.size()));
  return Front;
}

/// Returns whether \p List contains \p Word.
inline bool hasWord(std::string_view List, char Separator,
                    std::string_view Word) {
  while (!List.empty())
    if (takeFront(List, Separator) == Word)
      return true;
  return false;
}

/// Returns null if \p Processor is not generic.
inline const GenericProcessor *
findGenericProcessor(std::string_view Processor) {
  for (const GenericProcessor &G : GenericProcessors)
    if (G.Name == Processor)
      return &G;
  return nullptr;
}

/// Returns whether code for \p Code, a processor and the settings that the code
/// needs ("gfx90a:xnack-", "gfx11-generic"), runs on \p Device, a processor and
/// all of its settings ("gfx90a:sramecc+:xnack-").
inline bool isForAMDDevice(std::string_view Code, std::string_view Device) {
  std::string_view Processor = takeFront(Code, ':');
  std::string_view Own = takeFront(Device, ':');
  const GenericProcessor *G = findGenericProcessor(Processor);
  if (Processor != Own && !(G && hasWord(G->Members, ' ', Own)))
    return false;
  while (!Code.empty())
    if (!hasWord(Device, ':', takeFront(Code, ':')))
      return false;
  return true;
}

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_AMDPROCESSORS_H
