//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernel.h"
#include "LauncherLink.h"

using namespace mneme;

static const char Malformed[] = "the launcher sent a malformed answer";

/// Maximum size in bytes: large payloads have many variables, and kernels may
/// have much code.
static constexpr uint64_t MaxLongAnswer = 2ull << 30;

/// In bytes; more than any kernel's parameters take.
static constexpr uint32_t MaxParameters = 1u << 16;

std::string mneme::bringModule(const DeviceModule &Module,
                               std::vector<ModuleVariable> &Variables) {
  WireWriter Request;
  Request.str(Module.Hash);
  Request.u32(Module.Payloads.size());
  for (const MnemePayloadHeader *P : Module.Payloads)
    Request.bytes(P, P->TotalSize);
  std::string Answer;
  std::string Error = LauncherLink::get().request(
      MNEME_WIRE_LOAD_MODULE, Request, Answer, MaxLongAnswer);
  if (!Error.empty())
    return Error;
  WireReader R = LauncherLink::reader(Answer);
  return readModuleVariables(R, Variables) && R.atEnd() ? "" : Malformed;
}

bool mneme::readModuleVariables(WireReader &R,
                                std::vector<ModuleVariable> &Variables) {
  for (uint32_t N = R.u32(); N && R.ok(); --N) {
    ModuleVariable V;
    V.Name = R.str();
    V.Size = R.u64();
    R.u64(); // The alignment; pages are aligned sufficiently.
    V.Constant = R.u32() & 1;
    Variables.push_back(std::move(V));
  }
  return R.ok();
}

std::string mneme::bringLibrary(const LibraryRequest &Q, LibraryFacts &Facts) {
  WireWriter Request;
  Request.str(Q.Hash);
  Request.str(*Q.Image);
  Request.str(Q.IR ? *Q.IR : "");
  Request.str(Q.Options ? *Q.Options : "");
  std::string Answer;
  std::string Error = LauncherLink::get().request(
      MNEME_WIRE_LOAD_LIBRARY, Request, Answer, MaxLongAnswer);
  if (!Error.empty())
    return Error;
  WireReader R = LauncherLink::reader(Answer);
  Facts.Payload = R.str();
  for (uint32_t N = R.u32(); N && R.ok(); --N)
    Facts.Kernels.push_back(R.str());
  return readModuleVariables(R, Facts.Variables) && R.atEnd() ? "" : Malformed;
}

std::string mneme::requestKernel(const KernelRequest &Q, bool ForHost,
                                 KernelFacts &Facts, std::string &Answer,
                                 WireReader &Rest) {
  WireWriter Request;
  Request.str(Q.Module.first);
  Request.u32(Q.Module.second);
  Request.str(Q.Payload);
  Request.str(Q.Name);
  Request.u32(ForHost);
  std::string Error = LauncherLink::get().request(
      MNEME_WIRE_LOAD_KERNEL, Request, Answer, MaxLongAnswer);
  if (!Error.empty())
    return Error;
  Rest = LauncherLink::reader(Answer);
  return readKernelFacts(Rest, Facts) && (ForHost || Rest.atEnd()) ? ""
                                                                   : Malformed;
}

std::string mneme::requestImageKernel(const ImageRequest &Q, KernelFacts &Facts,
                                      std::vector<ModuleVariable> &Variables) {
  WireWriter Request;
  Request.bytes(Q.Data, Q.Size);
  Request.str(Q.Kernel);
  Request.str(Q.Arch);
  Request.u32(Q.HasLayout);
  Request.u32(Q.Layout.size());
  for (const ImageParameter &P : Q.Layout) {
    Request.u32(P.Offset);
    Request.u32(P.Size);
  }
  Request.str(Q.IR ? *Q.IR : "");
  Request.str(Q.Options ? *Q.Options : "");
  std::string Answer;
  std::string Error = LauncherLink::get().request(
      MNEME_WIRE_LOAD_IMAGE, Request, Answer, MaxLongAnswer);
  if (!Error.empty())
    return Error;
  WireReader R = LauncherLink::reader(Answer);
  return readKernelFacts(R, Facts) && readModuleVariables(R, Variables) &&
                 R.atEnd()
             ? ""
             : Malformed;
}

bool mneme::readKernelFacts(WireReader &R, KernelFacts &Facts) {
  Facts.StaticHash = R.str();
  for (uint32_t N = R.u32(); N && R.ok(); --N) {
    KernelArg A;
    A.Size = R.u32();
    A.Offset = R.u32();
    A.Kind = R.u32();
    // The size and offset determine reads from the application's arguments.
    if (A.Size > MaxParameters || A.Offset > MaxParameters - A.Size)
      return false;
    Facts.Args.push_back(A);
  }
  for (uint32_t N = R.u32(); N && R.ok(); --N)
    Facts.Reached.push_back(R.str());
  Facts.Obstacle = R.str();
  Facts.Handles = readHandles(R);
  for (uint32_t N = R.u32(); N && R.ok(); --N)
    Facts.HeldLaunches.push_back(R.u64());
  return R.ok() && Facts.StaticHash.size() == 16;
}
