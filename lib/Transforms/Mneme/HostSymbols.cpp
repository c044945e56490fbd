//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostSymbols.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Frontend/Offloading/Utility.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/OffloadBinary.h"

using namespace llvm;
using namespace llvm::mneme;

/// Calls \p Read for each call of __cuda<Function> and __hip<Function>.
static void readRegistrations(const Module &M, StringRef Function,
                              function_ref<void(const CallBase &)> Read) {
  for (StringRef Vendor : {"__cuda", "__hip"}) {
    const llvm::Function *F = M.getFunction((Vendor + Function).str());
    if (!F)
      continue;
    for (const User *U : F->users())
      if (auto *Call = dyn_cast<CallBase>(U);
          Call && Call->getCalledOperand() == F)
        Read(*Call);
  }
}

static uint64_t getIntOperand(const Value *V) {
  auto *C = dyn_cast<ConstantInt>(V);
  return C ? C->getZExtValue() : 0;
}

static void readRegistrationCalls(const Module &M,
                                  std::vector<HostSymbol> &Symbols) {
  auto Add = [&](const CallBase &Call, unsigned NameArg) -> HostSymbol * {
    StringRef Name;
    auto *Pointer = dyn_cast<Constant>(Call.getArgOperand(1));
    if (!Pointer || !getConstantStringInfo(Call.getArgOperand(NameArg), Name))
      return nullptr;
    Symbols.push_back({Pointer, Name.str()});
    return &Symbols.back();
  };
  // (handle, host function, name, device name, thread limit, ...)
  readRegistrations(M, "RegisterFunction", [&](const CallBase &Call) {
    if (Call.arg_size() >= 4)
      Add(Call, 3);
  });
  // (handle, host variable, name, device name, extern, size, constant, global)
  readRegistrations(M, "RegisterVar", [&](const CallBase &Call) {
    HostSymbol *S = Call.arg_size() >= 8 ? Add(Call, 3) : nullptr;
    if (!S)
      return;
    S->Kind = MNEME_INDEX_VARIABLE;
    S->Size = getIntOperand(Call.getArgOperand(5));
    if (getIntOperand(Call.getArgOperand(6)))
      S->Flags = MNEME_VARIABLE_CONSTANT;
  });
  // (handle, pointer to the variable's address, initial value, name, size,
  // align)
  readRegistrations(M, "RegisterManagedVar", [&](const CallBase &Call) {
    HostSymbol *S = Call.arg_size() >= 6 ? Add(Call, 3) : nullptr;
    if (!S)
      return;
    S->Kind = MNEME_INDEX_VARIABLE;
    S->Size = getIntOperand(Call.getArgOperand(4));
    S->Flags = MNEME_VARIABLE_MANAGED;
  });
}

/// With -fgpu-rdc, kernels and variables are registered through entries in a
/// section that the linker collects, not through calls.
static void readOffloadEntries(const Module &M,
                               std::vector<HostSymbol> &Symbols) {
  enum Field { Kind = 2, Flags, Address, Name, Size, NumFields = 9 };
  for (const GlobalVariable &G : M.globals()) {
    if (G.getSection() != "llvm_offload_entries" || !G.hasInitializer())
      continue;
    auto *Entry = dyn_cast<ConstantStruct>(G.getInitializer());
    if (!Entry || Entry->getNumOperands() != NumFields)
      continue;
    uint64_t Language = getIntOperand(Entry->getOperand(Kind));
    if (Language != object::OFK_Cuda && Language != object::OFK_HIP)
      continue;
    uint32_t EntryFlags = getIntOperand(Entry->getOperand(Flags));
    uint32_t EntryKind = EntryFlags & 7;
    StringRef SymbolName;
    if ((EntryKind != offloading::OffloadGlobalEntry &&
         EntryKind != offloading::OffloadGlobalManagedEntry) ||
        !getConstantStringInfo(Entry->getOperand(Name), SymbolName))
      continue;
    HostSymbol S = {cast<Constant>(Entry->getOperand(Address)),
                    SymbolName.str()};
    S.Size = getIntOperand(Entry->getOperand(Size));
    if (S.Size)
      S.Kind = MNEME_INDEX_VARIABLE;
    if (EntryKind == offloading::OffloadGlobalManagedEntry)
      S.Flags = MNEME_VARIABLE_MANAGED;
    else if (EntryFlags & offloading::OffloadGlobalConstant)
      S.Flags = MNEME_VARIABLE_CONSTANT;
    Symbols.push_back(std::move(S));
  }
}

std::vector<HostSymbol> mneme::readHostSymbols(const Module &M) {
  std::vector<HostSymbol> Symbols;
  readRegistrationCalls(M, Symbols);
  readOffloadEntries(M, Symbols);
  return Symbols;
}
