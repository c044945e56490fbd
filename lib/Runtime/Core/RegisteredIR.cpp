//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegisteredIR.h"

#include <algorithm>
#include <new>

using namespace mneme;

RegisteredIRs &RegisteredIRs::get() {
  // Never destroyed, because applications may use it while they exit.
  alignas(RegisteredIRs) static char Storage[sizeof(RegisteredIRs)];
  static RegisteredIRs &R = *new (Storage) RegisteredIRs;
  return R;
}

void RegisteredIRs::add(std::string Digest, const std::string &Symbol,
                        RegisteredIR IR) {
  std::lock_guard<std::mutex> Guard(Lock);
  All.try_emplace({std::move(Digest), Symbol}, std::move(IR));
}

const RegisteredIR *RegisteredIRs::find(const std::string &Digest,
                                        const std::string &Symbol) {
  std::lock_guard<std::mutex> Guard(Lock);
  for (const std::string &Name : {Symbol, std::string()}) {
    auto I = All.find({Digest, Name});
    if (I != All.end())
      return &I->second;
  }
  return nullptr;
}

std::vector<const RegisteredIR *>
RegisteredIRs::findAll(const std::string &Digest) {
  std::lock_guard<std::mutex> Guard(Lock);
  std::vector<const RegisteredIR *> Found;
  for (auto I = All.lower_bound({Digest, ""});
       I != All.end() && I->first.first == Digest; ++I)
    Found.push_back(&I->second);
  return Found;
}

bool RegisteredIRs::isRegistered(const std::string &Symbol) {
  std::lock_guard<std::mutex> Guard(Lock);
  return std::any_of(All.begin(), All.end(), [&](const auto &Entry) {
    return Entry.first.second == Symbol;
  });
}
