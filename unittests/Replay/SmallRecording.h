//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef LLVM_MNEME_UNITTESTS_REPLAY_SMALLRECORDING_H
#define LLVM_MNEME_UNITTESTS_REPLAY_SMALLRECORDING_H

#include "../Record/SnapshotBuilder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/Path.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gtest/gtest.h"

namespace llvm {
namespace mneme {

constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;
constexpr uint64_t Base = SnapshotBuilder::Base;

/// A recording of a kernel that adds its argument to the first byte of a buffer
/// of three pages; a variable of 8 bytes is beside it.
class SmallRecording : public testing::Test {
protected:
  SmallRecording() : Dir("mneme-replay", /*Unique=*/true) {
    K.KernelName = "add";
    K.StaticHash = std::string(32, '1');
    K.Triple = "nvptx64-nvidia-cuda";
    K.Arch = "sm_90";
    K.OptLevel = "2";
    K.Device = "host";
    K.Toolchain = "clang 22.1.8";
    K.Modules = {"RecordedIR_" + K.StaticHash + ".bc"};
    K.VAddr = Base;
    K.VASize = MNEME_ARENA_SIZE;
    K.Args = {{8, 0, MNEME_ARG_POINTER, "p", "ptr"},
              {4, 8, MNEME_ARG_VALUE, "n", "i32"}};
    RecordedInstance &Instance = K.Instances.emplace_back();
    Instance.DynamicHash = "0000000000000022";
    Instance.Grid = {1, 1, 1};
    Instance.Block = {32, 1, 1};
    Instance.Prologue = "p";
    Instance.Epilogue = "e";
    Before = Builder(MNEME_SNAPSHOT_PROLOGUE)
                 .args({SnapshotBuilder::bytes(Base),
                        SnapshotBuilder::bytes(uint32_t(5))})
                 .region(0, 3 * Page, 0)
                 .region(4 * Page, 8, 1, "counter")
                 .annotation(Page, 16, MNEME_DTYPE_F32, MNEME_TOLERANCE_ABS,
                             MNEME_NORM_NONE, 0.5, "out")
                 .data(0, std::string(1, 10))
                 .data(4 * Page, std::string(8, 1))
                 .close();
    After = Builder(MNEME_SNAPSHOT_EPILOGUE)
                .region(0, 3 * Page, 0)
                .region(4 * Page, 8, 1, "counter")
                .data(0, std::string(1, 15) + std::string(Page - 1, 0))
                .close();
  }
  SnapshotBuilder Builder(uint32_t Kind) {
    return SnapshotBuilder(Kind, &PageFiles);
  }

  std::string path(StringRef Name) {
    SmallString<128> P(Dir.path());
    sys::path::append(P, Name);
    return std::string(P);
  }
  void writePageFiles() {
    for (const auto &[Name, Contents] : PageFiles)
      ASSERT_THAT_ERROR(writeFileAtomically(path(Name), Contents), Succeeded());
  }
  void writeAll() {
    ASSERT_THAT_ERROR(writeKernelFile(path(K.StaticHash + ".json"), K),
                      Succeeded());
    ASSERT_THAT_ERROR(writeFileAtomically(path(K.Modules[0]), IR), Succeeded());
    writePageFiles();
    ASSERT_THAT_ERROR(writeFileAtomically(path("p"), Before), Succeeded());
    ASSERT_THAT_ERROR(writeFileAtomically(path("e"), After), Succeeded());
  }
  Expected<std::unique_ptr<ReplayPlan>> plan(ReplayOptions O = {}) {
    writeAll();
    O.Device = "host"; // also where there is a GPU
    return ReplayPlan::create(Dir.path(), std::move(O));
  }
  std::string planError(ReplayOptions O = {}) {
    auto P = plan(std::move(O));
    return P ? "no error" : toString(P.takeError());
  }
  RecordedState state() {
    writeAll();
    return cantFail(RecordedState::load(Dir.path(), K, K.Instances[0]));
  }

  unittest::TempDir Dir;
  RecordedKernel K;
  std::string Before, After;
  SnapshotBuilder::FileMap PageFiles;
  std::string IR = R"(
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @add(ptr %p, i32 %n) "target-cpu"="sm_90" {
  %v = load i32, ptr %p
  %s = add i32 %v, %n
  store i32 %s, ptr %p
  ret void
}
)";
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_UNITTESTS_REPLAY_SMALLRECORDING_H
