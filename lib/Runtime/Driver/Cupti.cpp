//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/Cupti.h"

#include <cstdlib>
#include <dlfcn.h>
#include <type_traits>
#include <vector>

using namespace cupti;

void *cupti::openCupti() {
  static const char *const Names[] = {"libcupti.so.13", "libcupti.so.12",
                                      "libcupti.so"};
  for (const char *Name : Names)
    if (void *Library = dlopen(Name, RTLD_NOW | RTLD_LOCAL))
      return Library;
  std::vector<std::string> Roots;
  for (const char *Variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *Root = getenv(Variable))
      Roots.push_back(Root);
  Roots.push_back("/usr/local/cuda");
  for (const std::string &Root : Roots)
    for (const char *Folder : {"/extras/CUPTI/lib64/", "/lib64/", "/lib/"})
      for (const char *Name : Names)
        if (void *Library =
                dlopen((Root + Folder + Name).c_str(), RTLD_NOW | RTLD_LOCAL))
          return Library;
  return nullptr;
}

const char *cupti::describeMissingCupti() {
  return "no CUPTI: cannot load libcupti.so (LD_LIBRARY_PATH may name its "
         "folder)";
}

bool CuptiFunctions::load(std::string &Error) {
  void *Library = openCupti();
  if (!Library) {
    Error = describeMissingCupti();
    return false;
  }
  const char *Missing = nullptr;
  auto Find = [&](auto &Function, const char *Symbol) {
    Function = reinterpret_cast<std::decay_t<decltype(Function)>>(
        dlsym(Library, Symbol));
    if (!Function && !Missing)
      Missing = Symbol;
  };
  Find(ActivityEnable, "cuptiActivityEnable");
  Find(ActivityDisable, "cuptiActivityDisable");
  Find(ActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks");
  Find(ActivityFlushAll, "cuptiActivityFlushAll");
  Find(ActivityGetNextRecord, "cuptiActivityGetNextRecord");
  Find(ActivityGetNumDroppedRecords, "cuptiActivityGetNumDroppedRecords");
  Find(GetResultString, "cuptiGetResultString");
  if (Missing)
    Error = std::string("CUPTI has no ") + Missing;
  return !Missing;
}

std::string CuptiFunctions::describe(CUptiResult R) const {
  const char *Text = nullptr;
  if (GetResultString(R, &Text) || !Text)
    return "CUPTI error " + std::to_string(R);
  return Text;
}
