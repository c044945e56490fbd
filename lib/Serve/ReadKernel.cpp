//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadKernel.h"
#include "IRTables.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Replay/Capture.h"
#include "llvm/Support/raw_ostream.h"
#include <sys/mman.h>

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::serve;

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static StringRef getArgKind(uint32_t Kind) {
  switch (Kind) {
  case MNEME_ARG_VALUE:
    return "value";
  case MNEME_ARG_POINTER:
    return "pointer";
  default:
    return "aggregate";
  }
}

static StringRef getRegionKind(uint32_t Kind) {
  switch (Kind) {
  case MNEME_REGION_GLOBAL:
    return "variable";
  case MNEME_REGION_MANAGED:
    return "managed";
  case MNEME_REGION_PINNED:
    return "pinned";
  case MNEME_REGION_TEXTURE:
    return "texture";
  default:
    return "heap";
  }
}

message::Launch serve::describeLaunch(const ReplayPlan &Plan) {
  message::Launch L;
  L.RecordId = Plan.instance().DynamicHash;
  for (auto [Arg, Bytes] : zip_equal(Plan.kernel().Args, Plan.state().args()))
    L.Args.push_back({Arg.Name, Arg.Type, getArgKind(Arg.Kind).str(),
                      toHex(Bytes, /*LowerCase=*/true)});
  for (const RecordedRegion &R : Plan.state().regions())
    L.Buffers.push_back({R.Info.Id, R.Info.Name,
                         getRegionKind(R.Info.Kind).str(), R.Info.Address,
                         R.Info.Size});
  for (const SnapshotAnnotation &A : Plan.state().annotations()) {
    CompareRule Rule;
    Rule.Tolerance = A.Tolerance;
    Rule.Value = A.Value;
    L.Annotations.push_back({A.Address, A.Size, getDTypeName(A.DType).str(),
                             getToleranceText(Rule), A.Tag});
  }
  return L;
}

//===----------------------------------------------------------------------===//
// IR
//===----------------------------------------------------------------------===//

Expected<std::string> serve::readIRForm(const ReplayPlan &Plan, bool Optimized,
                                        IRForm Form) {
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  if (Optimized) {
    CompileResult Ignored;
    if (Error E = Plan.compiler().optimize(M, Ignored))
      return std::move(E);
  }
  std::string Result;
  raw_string_ostream OS(Result);
  if (Form == IRForm::Tables) {
    writeTables(*M, OS);
    return Result;
  }
  OS << "{}\n";
  if (Form == IRForm::Bitcode)
    WriteBitcodeToFile(*M, OS);
  else
    M->print(OS, nullptr);
  return Result;
}

std::pair<json::Object, std::string> serve::splitIRForm(std::string Form) {
  size_t End = Form.find('\n');
  json::Value Head =
      cantFail(json::parse(StringRef(Form).take_front(End)));
  Form.erase(0, End + 1);
  return {std::move(*Head.getAsObject()), std::move(Form)};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Calls \p Fill with the contents of a memory file.
static Error withMapping(int FD, uint64_t Size,
                         function_ref<Error(MutableArrayRef<char>)> Fill) {
  if (Size == 0)
    return Error::success();
  void *Memory =
      ::mmap(nullptr, Size, PROT_READ | PROT_WRITE, MAP_SHARED, FD, 0);
  if (Memory == MAP_FAILED)
    return systemError("cannot map the memory of a buffer");
  scope_exit Unmap([&] { ::munmap(Memory, Size); });
  return Fill({static_cast<char *>(Memory), Size});
}

Error serve::fillRecorded(const RecordedState &State, size_t Region, bool After,
                          int FD) {
  return withMapping(FD, State.regions()[Region].Info.Size,
                     [&](MutableArrayRef<char> Contents) {
                       return State.readRegion(Region, After, Contents);
                     });
}

Error serve::fillResult(const ReplayPlan &Plan, StringRef Device, size_t Region,
                        int FD) {
  ReplayOptions O = Plan.options();
  O.Device = Device.str();
  O.Poison = false;
  O.Envelope.Replays = 0;
  O.Iterations = 0;
  O.Warmup = 0;
  Expected<std::unique_ptr<ReplayPlan>> Once = Plan.vary(std::move(O));
  if (!Once)
    return Once.takeError();
  // Memory that the kernel does not write keeps its recorded contents: a farm's
  // plan would poison it.
  Expected<CapturedReplay> R = captureReplay(*(*Once)->withPoison(nullptr));
  if (!R)
    return R.takeError();
  if (R->Result.failed())
    return createStringError(R->Result.Error);
  const SnapshotRegion &Info = Plan.state().regions()[Region].Info;
  return withMapping(FD, Info.Size, [&](MutableArrayRef<char> Contents) -> Error {
    if (Error E = Plan.state().readRegion(Region, /*After=*/false, Contents))
      return E;
    for (const MemoryRange &Range : R->Changed)
      if (Range.Address >= Info.Address &&
          Range.Address < Info.Address + Info.Size)
        llvm::copy(Range.Bytes,
                   Contents.begin() + (Range.Address - Info.Address));
    return Error::success();
  });
}
