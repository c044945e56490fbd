//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A farm that replays a small recording on the host device.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_UNITTESTS_FARM_REPLAYFARMTEST_H
#define LLVM_MNEME_UNITTESTS_FARM_REPLAYFARMTEST_H

#include "../Replay/SmallRecording.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"
#include <chrono>
#include <map>

namespace llvm {
namespace mneme {

/// The kernel adds as it was recorded where a block has one thread; with more,
/// other things happen.
inline const char *ManyFacesIR = R"(
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.trap()
define ptx_kernel void @add(ptr %p, i32 %n) "target-cpu"="sm_90" {
entry:
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  switch i32 %block, label %good [
    i32 2, label %wrong
    i32 3, label %forever
    i32 4, label %far
    i32 5, label %trap
    i32 6, label %nan
  ]
good:
  %v = load i32, ptr %p
  %s = add i32 %v, %n
  store i32 %s, ptr %p
  ret void
wrong:
  store i32 77, ptr %p
  ret void
forever:
  %f = load volatile i32, ptr %p
  br label %forever
far:
  store volatile i32 1, ptr inttoptr (i64 64 to ptr)
  ret void
trap:
  call void @llvm.trap()
  ret void
nan:
  store i32 15, ptr %p
  %out = getelementptr i8, ptr %p, i64 4096
  store float 0x7FF8000000000000, ptr %out
  ret void
}
)";

/// As llvm::json::Object, to be written in a call.
struct Conf : json::Object {
  Conf(std::initializer_list<KV> L) : json::Object(L) {}
};

class ReplayFarmTest : public SmallRecording {
protected:
  ReplayFarmTest() {
    K.Instances[0].Block = {1, 1, 1};
    IR = ManyFacesIR;
    Options.Database = Dir.path().str();
    Options.Devices = {"host"};
    // Slow machines are not what this is about.
    Options.LaunchTimeout = 60;
    Options.CompileTimeout = 300;
    Options.CompileJobs = 2;
  }

  void start() {
    writeAll();
    Expected<std::unique_ptr<ReplayFarm>> Created = ReplayFarm::create(Options);
    ASSERT_THAT_EXPECTED(Created, Succeeded());
    Farm = std::move(*Created);
  }
  void submit(uint64_t Id, Conf C, double LaunchTimeout = 0) {
    ASSERT_THAT_ERROR(Farm->submit(request(Id, std::move(C), LaunchTimeout)),
                      Succeeded());
    ++Pending;
  }
  static EvaluationRequest request(uint64_t Id, Conf C,
                                   double LaunchTimeout = 0) {
    EvaluationRequest R;
    R.Id = Id;
    R.Config = std::move(C);
    R.LaunchTimeout = LaunchTimeout;
    return R;
  }
  std::map<uint64_t, Evaluation> collect() {
    std::map<uint64_t, Evaluation> All;
    auto Deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (Pending) {
      Expected<std::vector<Evaluation>> Some = Farm->wait(1);
      if (!Some) {
        ADD_FAILURE() << toString(Some.takeError());
        break;
      }
      Pending -= Some->size();
      for (Evaluation &E : *Some)
        All[E.Id] = std::move(E);
      if (std::chrono::steady_clock::now() > Deadline) {
        ADD_FAILURE() << "something is lost";
        break;
      }
    }
    return All;
  }

  FarmOptions Options;
  std::unique_ptr<ReplayFarm> Farm;
  size_t Pending = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_UNITTESTS_FARM_REPLAYFARMTEST_H
