//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "llvm/Mneme/Compile/SideEffects.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Compile/Targets.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <fcntl.h>
#include <set>
#include <unistd.h>
#include <vector>

using namespace llvm;
using namespace llvm::mneme;
using testing::IsEmpty;

namespace {
/// Options of LLVM that take any text as a value, or sound as if they drew
/// graphs, and reach nothing outside of the compilation: names of functions,
/// symbols, sections, passes, targets and attributes; patterns; colors.
const StringSet<> Harmless = {
    "aa-pipeline",
    "alloc-token-prefix",
    "amdgpu-sched-strategy",
    "amdgpu-use-native",
    "asan-debug-func",
    "asan-memory-access-callback-prefix",
    "bbsections-cold-text-prefix",
    "binutils-version",
    "break-anti-dependencies",
    "cfg-func-name",
    "check-functions-filter",
    "cphoistfn",
    "ctx-prof-skip-callsite-instr",
    "default-gcov-version",
    "dfsan-combine-taint-lookup-table",
    "dot-cfg-after-color",
    "dot-cfg-before-color",
    "dot-cfg-common-color",
    "dot-ddg-only",
    "dot-mcfg-only",
    "emscripten-cxx-exceptions-allowed",
    "expandvp-override-evl-transform",
    "expandvp-override-mask-transform",
    "filter-passes",
    "filter-print-funcs",
    "force-attribute",
    "force-remove-attribute",
    "hotcoldsplit-cold-section-name",
    "hwasan-memory-access-callback-prefix",
    "icp-ignored-base-types",
    "internalize-public-api-list",
    "lto-pass-remarks-filter",
    "lto-pass-remarks-format",
    "mcfg-func-name",
    "memprof-debug-func",
    "memprof-dot-alloc-id",
    "memprof-dot-context-id",
    "memprof-dot-scope",
    "memprof-memory-access-callback-prefix",
    "mips32-function-mask",
    "ml-inliner-model-selector",
    "ms-secure-hotpatch-functions-list",
    "nsan-shadow-type-mapping",
    "nvptx-lower-global-ctor-dtor-id",
    "nvvm-reflect-add",
    "opt-bisect",
    "opt-disable",
    "pass-remarks",
    "pass-remarks-analysis",
    "pass-remarks-missed",
    "pgo-trace-func-hash",
    "polly-context",
    "polly-debug-func",
    "polly-ignore-func",
    "polly-isl-arg",
    "polly-only-func",
    "polly-only-region",
    "polly-opt-maximize-bands",
    "polly-opt-optimize-only",
    "polly-opt-outer-coincidence",
    "polly-opt-simplify-deps",
    "polly-view-all",
    "polly-view-only",
    "print-after",
    "print-before",
    "print-bfi-func-name",
    "print-bpi-func-name",
    "print-import-failures",
    "print-imports",
    "profile-context-root",
    "rename-exclude-alias-prefixes",
    "rename-exclude-function-prefixes",
    "rename-exclude-global-prefixes",
    "rename-exclude-struct-prefixes",
    "renumber-blocks-before-view",
    "reserve-regs-for-regalloc",
    "rng-seed",
    "sbvec-allow-files",
    "sbvec-collect-seeds",
    "sbvec-passes",
    "spv-allow-unknown-intrinsics",
    "start-after",
    "start-before",
    "stop-after",
    "stop-before",
    "sve-tail-folding",
    "target-abi",
    "trap-func",
    "verify-pseudo-probe-funcs",
    "view-bfi-func-name",
    "view-hot-freq-percent",
    "vplan-print-in-dot-format",
    "wholeprogramdevirt-skip",
    "x86-align-branch",
    "x86-lvi-load-dot-verify",
};

/// Rules of instruction combiners, three options for each.
bool isRuleOption(StringRef Name) {
  return Name.ends_with("-disable-rule") || Name.ends_with("-only-enable-rule");
}

bool isOfTest(StringRef Name) {
  return Name.starts_with("gtest") || Name.starts_with("mneme-");
}

using Options = std::vector<std::pair<StringRef, cl::Option *>>;

/// Writes a byte for each of \p All from \p First on: does it take a value that
/// is neither a number nor one of a list?
[[noreturn]] void tryInChild(const Options &All, size_t First, int FD) {
  for (size_t I = First; I != All.size(); ++I) {
    auto [Name, O] = All[I];
    bool Refused = O->getValueExpectedFlag() == cl::ValueDisallowed ||
                   O->addOccurrence(0, Name, "./no-such/file:x");
    if (::write(FD, Refused ? "n" : "y", 1) != 1)
      break;
  }
  ::_exit(0);
}

/// Some options end the process.
std::string findThoseThatTakeAnyText(const Options &All) {
  std::string Answers;
  while (Answers.size() != All.size()) {
    Pipe Ends = cantFail(Pipe::create());
    int FD = Ends.Write.get();
    ChildOptions O;
    O.Err = NullStream; // LLVM says there which values it does not take
    O.Kept = {FD};
    Child C =
        cantFail(Child::fork([&] { tryInChild(All, Answers.size(), FD); }, O));
    Ends.Write.reset();
    Answers += readToEnd(Ends.Read.get());
    C.wait();
    if (Answers.size() != All.size())
      Answers += 'n';
  }
  return Answers;
}
} // namespace

TEST(SideEffectsTest, ListHasEveryOptionThatCanNameAFile) {
  initializeTargets();
  Regex Draws("(^|-)(dot|view|viewbfi|graphs|export|time-trace)(-|$)");
  Options Others;
  for (const auto &[Name, Option] : cl::getRegisteredOptions()) {
    bool IsGeneric = llvm::any_of(Option->Categories, [](auto *C) {
      return C->getName() == "Generic Options";
    });
    if (!IsGeneric && !isOfTest(Name) && !isRuleOption(Name) &&
        !Harmless.contains(Name) &&
        getLLVMOptionEffect(Name) == SideEffect::None)
      Others.push_back({Name, Option});
  }
  EXPECT_GT(Others.size(), 500u);
  std::string TakesAnyText = findThoseThatTakeAnyText(Others);
  std::set<std::string> Missing;
  for (auto [O, Takes] : zip_equal(Others, TakesAnyText))
    if (Takes == 'y' || Draws.match(O.first))
      Missing.insert(O.first.str());
  EXPECT_THAT(Missing, IsEmpty());
}

TEST(SideEffectsTest, ListHasEveryPassThatDraws) {
  std::string Text;
  raw_string_ostream OS(Text);
  PassBuilder().printPassNames(OS);
  Regex Draws("^(dot|view)-");
  unsigned Count = 0;
  for (StringRef Line : split(Text, '\n')) {
    StringRef Name = Line.trim().take_until([](char C) { return C == '<'; });
    if (!Draws.match(Name))
      continue;
    ++Count;
    EXPECT_EQ(findPassEffect(Name).Name, Name.str());
  }
  EXPECT_GT(Count, 10u);
}

TEST(SideEffectsTest, Options) {
  EXPECT_EQ(getLLVMOptionEffect("exec-on-ir-change"), SideEffect::RunsPrograms);
  EXPECT_EQ(getLLVMOptionEffect("load-pass-plugin"), SideEffect::LoadsPlugins);
  EXPECT_EQ(getLLVMOptionEffect("sample-profile-file"), SideEffect::ReadsFiles);
  EXPECT_EQ(getLLVMOptionEffect("ir-dump-directory"), SideEffect::WritesFiles);
  EXPECT_EQ(getLLVMOptionEffect("unroll-threshold"), SideEffect::None);
  EXPECT_EQ(getLLVMOptionEffect("no-such-option"), SideEffect::None);
}

TEST(SideEffectsTest, Passes) {
  auto Find = [](StringRef Pipeline) { return findPassEffect(Pipeline).Name; };
  EXPECT_EQ(Find("default<O3>"), "");
  EXPECT_EQ(Find("function(gvn,dot-cfg-only),dce"), "dot-cfg-only");
  EXPECT_EQ(Find("memprof-use<profile-filename=/x>"), "memprof-use");
  EXPECT_EQ(Find("insert-gcov-profiling"), "insert-gcov-profiling");
  // Only the whole name.
  EXPECT_EQ(Find("print<view-cfgs>,my-dot-cfg,dot-cfg_2"), "");
  EXPECT_EQ(Find(""), "");
}

TEST(SideEffectsTest, PassesOfSpaces) {
  auto Find = [](StringRef Space) {
    return findPassEffect(cantFail(PipelineSpace::parse(Space))).Name;
  };
  EXPECT_EQ(Find("function(seq<1..9>(gvn|dce)),default<{O1|O2}>"), "");
  EXPECT_EQ(Find("{gvn|view-cfg}?"), "view-cfg");
  EXPECT_EQ(Find("$a={cfg|dom};function({dot|print}-$a)"), "dot-cfg");
}

TEST(SideEffectsTest, PtxasOptions) {
  auto Find = [](std::vector<std::string> Words) {
    return findPtxasEffect(Words).Name;
  };
  EXPECT_EQ(Find({}), "");
  EXPECT_EQ(Find({"-O3", "-v", "--maxrregcount=32", "-dlcm", "cg", "-O", "1",
                  "--fmad=false", "-Werror", "--verbose"}),
            "");
  EXPECT_EQ(Find({"-O1", "-o", "/tmp/x"}), "-o");
  EXPECT_EQ(Find({"--output-file=/tmp/x"}), "--output-file=/tmp/x");
  EXPECT_EQ(Find({"-optf", "/tmp/x"}), "-optf");
  EXPECT_EQ(Find({"--options-file", "/tmp/x"}), "--options-file");
  EXPECT_EQ(Find({"-v", "other.ptx"}), "other.ptx");
  // An option is not the value of the one before it.
  EXPECT_EQ(Find({"--entry", "-o"}), "-o");
  EXPECT_EQ(Find({"--knob", "x"}), "--knob");
  EXPECT_EQ(findPtxasEffect({"-O42"}).Effect, SideEffect::Unknown);
}
