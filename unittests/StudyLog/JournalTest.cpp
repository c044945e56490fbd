//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/StudyLog/Journal.h"
#include "../Report/SampleStudy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <csignal>
#include <fcntl.h>
#include <functional>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// Called once, before the next file is renamed.
static std::function<void()> BeforeRename;
/// As on a file system without RENAME_EXCHANGE.
static bool CannotExchange = false;

// These replace the functions of the C library in this program.
extern "C" int renameat2(int OldFolder, const char *Old, int NewFolder,
                         const char *New, unsigned Flags) noexcept {
  if (Flags && CannotExchange) {
    errno = EINVAL;
    return -1;
  }
  if (auto Call = std::exchange(BeforeRename, nullptr))
    Call();
  return ::syscall(SYS_renameat2, OldFolder, Old, NewFolder, New, Flags);
}
extern "C" int rename(const char *Old, const char *New) noexcept {
  return renameat2(AT_FDCWD, Old, AT_FDCWD, New, 0);
}

namespace {

class JournalTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("mneme-journal", Folder));
    Path = (Folder + "/study.log").str();
  }
  void TearDown() override { sys::fs::remove_directories(Folder); }

  std::unique_ptr<Journal> create() {
    return cantFail(Journal::create(Path, Header, Space));
  }
  std::unique_ptr<Journal> resume() {
    return cantFail(Journal::resume(Path, Header, Space));
  }
  /// A journal with some trials that ended and some that run.
  void writeSample(unsigned Ended, unsigned Running) {
    std::unique_ptr<Journal> J = create();
    for (unsigned I = 0; I < Ended + Running; ++I)
      cantFail(J->beginTrials(makeSampleTrial(Space, I)));
    for (unsigned I = 0; I < Ended; ++I)
      cantFail(J->addTrial(endSampleTrial(Space, makeSampleTrial(Space, I))));
  }
  std::string read() const {
    return (*MemoryBuffer::getFile(Path))->getBuffer().str();
  }
  void write(StringRef Text) const {
    std::error_code EC;
    raw_fd_ostream(Path, EC) << Text;
  }
  unsigned repair() const {
    return cantFail(repairJournal(Path, Header, Space)).NumDropped;
  }
  /// Expects resume() to refuse the journal and to leave it unchanged.
  void expectRefused(StringRef Message) const {
    std::string Before = read();
    EXPECT_THAT_EXPECTED(Journal::resume(Path, Header, Space),
                         FailedWithMessage(testing::HasSubstr(Message.str())));
    EXPECT_EQ(read(), Before);
  }
  /// Returns the journal with the \p N-th line that has \p Part replaced.
  std::string replaceLine(StringRef Part, unsigned N, StringRef By) const {
    std::string Text = read(), Changed;
    for (StringRef Line : split(StringRef(Text).drop_back(), '\n')) {
      bool IsIt = Line.contains(Part) && N-- == 0;
      Changed += IsIt ? By.str() : (Line + "\n").str();
    }
    return Changed;
  }
  /// Returns the \p N-th line that has \p Part.
  std::string getLine(StringRef Part, unsigned N) const {
    std::string Text = read();
    for (StringRef Line : split(StringRef(Text).drop_back(), '\n'))
      if (Line.contains(Part) && N-- == 0)
        return Line.str();
    return "";
  }
  /// A line of another program.
  void add(StringRef Line) const {
    std::error_code EC;
    raw_fd_ostream(Path, EC, sys::fs::OF_Append) << Line << '\n';
  }

  SmallString<128> Folder;
  std::string Path;
  SearchSpace Space = makeSampleSpace();
  JournalHeader Header = makeSampleHeader();
};

std::string print(const json::Value &V) {
  std::string Text;
  raw_string_ostream(Text) << V;
  return Text;
}

std::map<std::string, double> sorted(const StringMap<double> &M) {
  std::map<std::string, double> Sorted;
  for (const auto &[Name, V] : M)
    Sorted[Name.str()] = V;
  return Sorted;
}

/// Everything, to the last bit.
void expectEqual(const Trial &A, const Trial &B) {
  EXPECT_EQ(A.Number, B.Number);
  EXPECT_EQ(A.Kind, B.Kind);
  EXPECT_EQ(A.State, B.State);
  EXPECT_EQ(A.P, B.P);
  EXPECT_EQ(print(json::Object(A.Config)), print(json::Object(B.Config)));
  EXPECT_EQ(A.Values, B.Values);
  EXPECT_EQ(A.Failure, B.Failure);
  EXPECT_EQ(A.Error, B.Error);
  EXPECT_EQ(A.Level, B.Level);
  EXPECT_EQ(sorted(A.Metrics), sorted(B.Metrics));
  EXPECT_EQ(A.Samples, B.Samples);
  EXPECT_EQ(A.BaselineNanoseconds, B.BaselineNanoseconds);
  EXPECT_EQ(A.IRHash, B.IRHash);
  EXPECT_EQ(A.AssemblyHash, B.AssemblyHash);
  EXPECT_EQ(A.CodeHash, B.CodeHash);
  EXPECT_EQ(A.DuplicateKind, B.DuplicateKind);
  EXPECT_EQ(A.DuplicateOf, B.DuplicateOf);
  EXPECT_EQ(A.CompileSeconds, B.CompileSeconds);
  EXPECT_EQ(A.RunSeconds, B.RunSeconds);
  EXPECT_EQ(A.Started, B.Started);
  EXPECT_EQ(A.Ended, B.Ended);
  EXPECT_EQ(A.Worker, B.Worker);
  EXPECT_EQ(A.Device, B.Device);
  EXPECT_EQ(A.Suspect, B.Suspect);
}

TEST_F(JournalTest, KeepsEverything) {
  writeSample(60, 3);
  std::string Text = read();
  std::unique_ptr<Journal> J = resume();
  std::vector<Trial> Trials = J->takeTrials();
  ASSERT_EQ(Trials.size(), 63u);
  for (unsigned I = 0; I < 63; ++I) {
    Trial Expected = makeSampleTrial(Space, I);
    if (I < 60)
      Expected = endSampleTrial(Space, std::move(Expected));
    expectEqual(Trials[I], Expected);
  }
  // Going on leaves what is there as it is.
  EXPECT_EQ(read(), Text);
}

TEST_F(JournalTest, WritesTrialsThatNeverBegan) {
  {
    std::unique_ptr<Journal> J = create();
    for (unsigned I : {3, 1, 2})
      ASSERT_THAT_ERROR(
          J->addTrial(endSampleTrial(Space, makeSampleTrial(Space, I))),
          Succeeded());
  }
  // A line each.
  EXPECT_EQ(StringRef(read()).count("\"op_code\":4"), 3u);
  EXPECT_EQ(StringRef(read()).count("\"op_code\":6"), 0u);
  std::vector<Trial> Trials = resume()->takeTrials();
  ASSERT_EQ(Trials.size(), 3u);
  EXPECT_EQ(Trials[0].Number, 3u);
  expectEqual(Trials[1], endSampleTrial(Space, makeSampleTrial(Space, 1)));
}

TEST_F(JournalTest, OrdersTrialsByTheirEnds) {
  {
    std::unique_ptr<Journal> J = create();
    std::vector<Trial> Begun;
    for (unsigned I = 0; I < 5; ++I)
      Begun.push_back(makeSampleTrial(Space, I));
    cantFail(J->beginTrials(Begun));
    for (unsigned I : {3, 0, 2})
      cantFail(J->addTrial(endSampleTrial(Space, Begun[I])));
  }
  std::vector<uint64_t> Numbers;
  for (const Trial &T : resume()->takeTrials())
    Numbers.push_back(T.Number);
  EXPECT_EQ(Numbers, (std::vector<uint64_t>{3, 0, 2, 1, 4}));
}

TEST_F(JournalTest, KeepsTwoObjectives) {
  SearchSpace Two = makeSampleSpace(true);
  JournalHeader H = makeSampleHeader(true);
  H.Objectives[1].Dir = Direction::Maximize;
  {
    std::unique_ptr<Journal> J = cantFail(Journal::create(Path, H, Two));
    cantFail(J->addTrial(endSampleTrial(Two, makeSampleTrial(Two, 1))));
    cantFail(J->beginTrials(makeSampleTrial(Two, 2)));
    cantFail(J->addTrial(endSampleTrial(Two, makeSampleTrial(Two, 2))));
  }
  EXPECT_TRUE(StringRef(read()).contains("\"directions\":[1,2]"));
  std::vector<Trial> Trials =
      cantFail(Journal::resume(Path, H, Two))->takeTrials();
  ASSERT_EQ(Trials.size(), 2u);
  expectEqual(Trials[0], endSampleTrial(Two, makeSampleTrial(Two, 1)));
  expectEqual(Trials[1], endSampleTrial(Two, makeSampleTrial(Two, 2)));
  H.Objectives[1].Dir = Direction::Minimize;
  EXPECT_THAT_EXPECTED(Journal::resume(Path, H, Two),
                       FailedWithMessage(testing::HasSubstr("objectives")));
}

TEST_F(JournalTest, GoesOnAfterAnInterruption) {
  writeSample(4, 2);
  {
    std::unique_ptr<Journal> J = resume();
    J->takeTrials();
    // One that was running ends, under its old number, and a new one.
    cantFail(J->addTrial(endSampleTrial(Space, makeSampleTrial(Space, 5))));
    cantFail(J->beginTrials(makeSampleTrial(Space, 6)));
    cantFail(J->addTrial(endSampleTrial(Space, makeSampleTrial(Space, 6))));
  }
  EXPECT_EQ(StringRef(read()).count("\"op_code\":4"), 7u);
  std::vector<Trial> Trials = resume()->takeTrials();
  ASSERT_EQ(Trials.size(), 7u);
  expectEqual(Trials[4], endSampleTrial(Space, makeSampleTrial(Space, 5)));
  expectEqual(Trials[5], endSampleTrial(Space, makeSampleTrial(Space, 6)));
  expectEqual(Trials[6], makeSampleTrial(Space, 4));
}

TEST_F(JournalTest, KeepsBaselinesAndAttributes) {
  {
    std::unique_ptr<Journal> J = create();
    for (unsigned I = 0; I < 12; ++I)
      cantFail(J->addBaseline({I % 2, 1e9 + I, 100.0 / 3 + I, 33, 34,
                               I % 3 ? "node/GPU-1" : ""}));
    cantFail(J->setAttribute("outcome", json::Object{{"a", 1}}));
    cantFail(J->setAttribute("outcome", json::Object{{"a", 2}}));
  }
  std::unique_ptr<Journal> J = resume();
  std::vector<BaselineSample> B = J->takeBaselines();
  ASSERT_EQ(B.size(), 12u);
  for (unsigned I = 0; I < 12; ++I) {
    EXPECT_EQ(B[I].Instance, I % 2);
    EXPECT_EQ(B[I].When, 1e9 + I);
    EXPECT_EQ(B[I].Nanoseconds, 100.0 / 3 + I);
    EXPECT_EQ(B[I].Device, I % 3 ? "node/GPU-1" : "");
  }
  ASSERT_TRUE(J->getAttribute("outcome"));
  EXPECT_EQ(print(*J->getAttribute("outcome")), "{\"a\":2}");
  EXPECT_EQ(J->getAttribute("none"), nullptr);
  cantFail(J->addBaseline({0, 1, 2, 1, 3}));
  J.reset();
  EXPECT_EQ(resume()->takeBaselines().size(), 13u);
}

TEST_F(JournalTest, DropsATornEndAtEveryOffset) {
  writeSample(2, 1);
  std::string Whole = read();
  std::vector<Trial> All = resume()->takeTrials();
  // The lines of the header are one piece; the study is there behind them.
  size_t Begin = StringRef(Whole).find("{\"op_code\":4");
  // Any state of the file is one of a journal that goes on, with the trials that
  // ended in whole lines. Every offset near the ends of lines, and some others.
  for (size_t Size = Begin; Size <= Whole.size(); ++Size) {
    StringRef Near = StringRef(Whole).substr(Size - 2, 4);
    if (Size % 23 && !Near.contains('\n'))
      continue;
    write(StringRef(Whole).take_front(Size));
    StringRef Kept = StringRef(Whole).take_front(
        StringRef(Whole).take_front(Size).rfind('\n') + 1);
    Expected<std::unique_ptr<Journal>> J =
        Journal::resume(Path, Header, Space);
    ASSERT_THAT_EXPECTED(J, Succeeded());
    EXPECT_EQ(read(), Kept);
    EXPECT_EQ((*J)->takeWarnings().size(), Size == Kept.size() ? 0u : 1u);
    unsigned Ended = 0;
    for (const Trial &T : (*J)->takeTrials()) {
      if (T.State == TrialState::Running)
        expectEqual(T, makeSampleTrial(Space, T.Number));
      else {
        ++Ended;
        expectEqual(T, All[T.Number]);
      }
    }
    EXPECT_EQ(Ended, Kept.count("\"op_code\":6"));
      ASSERT_THAT_ERROR(
        (*J)->addTrial(endSampleTrial(Space, makeSampleTrial(Space, 3))),
        Succeeded());
    EXPECT_TRUE(StringRef(read()).starts_with(Kept));
    if (HasFailure())
      break;
  }
}

TEST_F(JournalTest, ClosedTrialsRunAgain) {
  {
    std::unique_ptr<Journal> J = create();
    for (unsigned I = 0; I != 3; ++I)
      cantFail(J->beginTrials(makeSampleTrial(Space, I)));
    cantFail(J->addTrial(endSampleTrial(Space, makeSampleTrial(Space, 0))));
    for (unsigned I : {1, 2}) {
      Trial Closed = makeSampleTrial(Space, I);
      Closed.State = TrialState::Failed;
      Closed.Failure = FailureKind::Cancelled;
      cantFail(J->addTrial(Closed));
    }
  }
  // Each state is an end: 1 is COMPLETE, 3 is FAIL.
  EXPECT_EQ(StringRef(read()).count("\"op_code\":6"), 3u);
  {
    std::unique_ptr<Journal> J = resume();
    std::vector<Trial> Trials = J->takeTrials();
    ASSERT_EQ(Trials.size(), 3u);
    expectEqual(Trials[0], endSampleTrial(Space, makeSampleTrial(Space, 0)));
    expectEqual(Trials[1], makeSampleTrial(Space, 1));
    expectEqual(Trials[2], makeSampleTrial(Space, 2));
    cantFail(J->addTrial(endSampleTrial(Space, makeSampleTrial(Space, 1))));
  }
  std::vector<Trial> Trials = resume()->takeTrials();
  ASSERT_EQ(Trials.size(), 3u);
  expectEqual(Trials[1], endSampleTrial(Space, makeSampleTrial(Space, 1)));
  expectEqual(Trials[2], makeSampleTrial(Space, 2));
}

TEST_F(JournalTest, ForgetsWhatATornEndLeft) {
  Trial T = makeSampleTrial(Space, 4), Failed = endSampleTrial(Space, T);
  ASSERT_EQ(Failed.State, TrialState::Failed);
  {
    std::unique_ptr<Journal> J = create();
    cantFail(J->beginTrials(T));
    cantFail(J->addTrial(Failed));
  }
  // All but the state.
  std::string Whole = read();
  write(StringRef(Whole).take_front(StringRef(Whole).find("{\"op_code\":6")));
  Trial Good = T;
  Good.State = TrialState::Complete;
  Good.Values = {5};
  cantFail(resume()->addTrial(Good));
  std::vector<Trial> Trials = resume()->takeTrials();
  ASSERT_EQ(Trials.size(), 1u);
  expectEqual(Trials[0], Good);
}

TEST_F(JournalTest, RefusesDamage) {
  writeSample(3, 0);
  std::string Text = read();
  size_t At = StringRef(Text).find("{\"op_code\":4");
  unsigned Line = StringRef(Text).take_front(At).count('\n') + 1;
  for (StringRef Damage :
       {"\x01\x02", "{\"op_code\":4}", "[1]", "", "{\"op_code\":6}",
        "{\"op_code\":0,\"study_name\":3}"}) {
    write(Text.substr(0, At) + Damage.str() + "\n" + Text.substr(At));
    EXPECT_THAT_EXPECTED(
        Journal::resume(Path, Header, Space),
        FailedWithMessage(testing::StartsWith(
            Path + ":" + std::to_string(Line) + ": damaged line: ")));
    EXPECT_THAT_EXPECTED(readJournalHeader(Path), Failed());
  }
}

TEST_F(JournalTest, RepairsDamage) {
  writeSample(3, 1);
  std::string Text = read();
  EXPECT_EQ(repair(), 0u);
  EXPECT_EQ(read(), Text);
  // The line that begins trial 1, at its last comma; a line that says nothing;
  // a torn one.
  size_t At = StringRef(Text).find("{\"op_code\":4", Text.find("\"op_code\":4") + 9);
  std::string Damaged = Text;
  Damaged[Damaged.rfind(',', Damaged.find('\n', At))] = '"';
  Damaged += "nothing\n{\"op_code\":";
  write(Damaged);
  EXPECT_EQ(repair(), 3u);
  EXPECT_EQ((*MemoryBuffer::getFile(Path + ".damaged"))->getBuffer(), Damaged);
  // The others are what they were: no number has moved.
  std::vector<Trial> Trials = resume()->takeTrials();
  ASSERT_EQ(Trials.size(), 3u);
  expectEqual(Trials[0], endSampleTrial(Space, makeSampleTrial(Space, 0)));
  expectEqual(Trials[1], endSampleTrial(Space, makeSampleTrial(Space, 2)));
  expectEqual(Trials[2], makeSampleTrial(Space, 3));
}

TEST_F(JournalTest, KeepsAllDamagedFiles) {
  writeSample(2, 0);
  std::string Good = read();
  std::vector<std::string> Damaged;
  for (unsigned N = 0; N != 3; ++N) {
    write(Good + "damage " + std::to_string(N) + "\n");
    Damaged.push_back(read());
    JournalRepair R = cantFail(repairJournal(Path, Header, Space));
    EXPECT_EQ(R.Backup, Path + ".damaged" + (N ? "." + std::to_string(N) : ""));
    EXPECT_EQ(read(), Good);
  }
  for (unsigned N = 0; N != 3; ++N) {
    std::string Backup = Path + ".damaged" + (N ? "." + std::to_string(N) : "");
    EXPECT_EQ((*MemoryBuffer::getFile(Backup))->getBuffer(), Damaged[N]);
  }
}

TEST_F(JournalTest, RepairsOnlyToAStudy) {
  writeSample(2, 1);
  // Without the line that creates the study, there is none.
  write("x" + read());
  std::string Before = read();
  EXPECT_THAT_EXPECTED(
      repairJournal(Path, Header, Space),
      FailedWithMessage(testing::HasSubstr("cannot be repaired: without ")));
  EXPECT_THAT_EXPECTED(
      readJournalHeader(Path, /*SkipsDamaged=*/true),
      FailedWithMessage(Path + ":1: cannot be repaired: no study is left "
                               "without the damaged lines"));
  EXPECT_EQ(read(), Before);
  EXPECT_FALSE(sys::fs::exists(Path + ".damaged"));
  // Nor is another study's journal repaired.
  write(StringRef(Before).drop_front().str() + "damage\n");
  Before = read();
  JournalHeader Other = Header;
  Other.Identity["seed"] = 8;
  EXPECT_THAT_EXPECTED(repairJournal(Path, Other, Space),
                       FailedWithMessage(testing::HasSubstr("'seed': 7 in")));
  EXPECT_EQ(read(), Before);
  EXPECT_FALSE(sys::fs::exists(Path + ".damaged"));
  EXPECT_EQ(repair(), 1u);
}

TEST_F(JournalTest, ChangesNothingIfRefused) {
  writeSample(2, 1);
  add("{\"op_code\": 10");
  write(StringRef(read()).drop_back()); // A torn line.
  Header.Identity["seed"] = 8;
  expectRefused("'seed': 7 in the journal, 8 now");
  Header.Identity = makeSampleHeader().Identity;
  Header.Name = "other";
  expectRefused("there is no study 'other'");
}

/// The lines of 3 trials that ended and of one that runs, without the line that
/// creates the second, or with that line twice.
TEST_F(JournalTest, RefusesTrialsWithoutTheirLines) {
  writeSample(3, 1);
  std::string Text = read(), Create = getLine("\"op_code\":4", 1) + "\n";
  std::vector<Trial> All = resume()->takeTrials();

  write(replaceLine("\"op_code\":4", 1, ""));
  expectRefused("damaged line: it ends trial 1, but its 'trial_id' is that of "
                "trial 2; --repair leaves it out");
  EXPECT_THAT_EXPECTED(repairJournal(Path, Header, Space), Succeeded());
  // Nothing has the results of another trial.
  for (const Trial &T : resume()->takeTrials()) {
    if (T.State == TrialState::Running)
      expectEqual(T, makeSampleTrial(Space, T.Number));
    else
      expectEqual(T, All[T.Number]);
  }

  write(Text);
  write(replaceLine("\"op_code\":4", 1, Create + Create));
  expectRefused("damaged line: it repeats trial 1; --repair leaves it out");
  EXPECT_EQ(repair(), 1u);
  EXPECT_EQ(read(), Text);

  // Journals of earlier versions do not name the trials that end.
  size_t At;
  while ((At = Text.find(",\"mneme_number\":")) != std::string::npos)
    Text.erase(At, Text.find('}', At) - At);
  write(Text);
  EXPECT_EQ(resume()->takeTrials().size(), 4u);
  write(replaceLine("\"op_code\":4", 1, ""));
  add("{\"op_code\": 8, \"worker_id\": \"w\", \"trial_id\": 3, "
      "\"user_attr\": {\"a\": 1}}");
  expectRefused("damaged line: no line creates trial 3");
  std::string Before = read();
  EXPECT_THAT_EXPECTED(
      repairJournal(Path, Header, Space),
      FailedWithMessage(testing::HasSubstr("do not name their trials")));
  EXPECT_EQ(read(), Before);
}

TEST_F(JournalTest, RefusesTimesThatCannotBe) {
  writeSample(3, 0);
  std::string Text = read();
  // Each is in the lines of trial 0, which runs again after a repair.
  for (auto [Key, Op] : {std::pair("\"values\":[", 6),
                         {"\"samples_ns\":[", 8},
                         {"\"baseline_ns\":", 8},
                         {"\"time\":", 8}})
    for (StringRef Bad : {"-1", "0", "1e999", "\"x\""}) {
      write(Text);
      std::string Line = getLine(Key, 0);
      if (Line.empty())
        continue;
      size_t At = Line.find(Key) + StringRef(Key).size();
      Line.replace(At, Line.find_first_of(",]}", At) - At, Bad.str());
      write(replaceLine(Key, 0, Line + "\n"));
      expectRefused("expected a time above 0, got ");
      EXPECT_EQ(repair(), 1u) << Key << Bad.str();
      EXPECT_THAT_EXPECTED(Journal::resume(Path, Header, Space), Succeeded());
    }
}

TEST_F(JournalTest, RefusesAnotherStudy) {
  writeSample(1, 0);
  auto Refused = [&](StringRef Message) {
    EXPECT_THAT_EXPECTED(Journal::resume(Path, Header, Space),
                         FailedWithMessage(testing::HasSubstr(Message.str())));
    Header = makeSampleHeader();
  };
  Header.Identity["seed"] = 8;
  Refused(
      "the journal belongs to another study: 'seed': 7 in the journal, 8 now");
  Header.Identity["study"] = "study sample {\n  a\n  c\n}\n";
  Refused("'study': line 3 is 'b' in the journal, 'c' now");
  Header.Identity["study"] = "study sample {\n  a\n  b\n}\nmore\n";
  Refused("'study': line 5 is '' in the journal, 'more' now");
  Header.Identity["record_ids"] = json::Array{"1"};
  Refused("'record_ids': [\"1\",\"2\"] in the journal, [\"1\"] now");
  Header.Identity["new"] = 1;
  Refused("another study: it has no 'new'");
  Header.Name = "other";
  Refused("there is no study 'other'");
  // What may differ does.
  Header.Info["mneme"] = "0.2.0";
  ASSERT_THAT_EXPECTED(Journal::resume(Path, Header, Space), Succeeded());
  Expected<JournalHeader> H = readJournalHeader(Path);
  ASSERT_THAT_EXPECTED(H, Succeeded());
  EXPECT_EQ(H->Info.getString("mneme"), StringRef("0.2.0"));
  EXPECT_EQ(H->Info.getInteger("seed"), 7);
  EXPECT_EQ(H->Name, "sample/0123456789abcdef");
  ASSERT_EQ(H->Objectives.size(), 1u);
  EXPECT_EQ(H->Objectives[0].Metric, "time");
}

TEST_F(JournalTest, RefusesWhatIsThereOrNot) {
  EXPECT_THAT_EXPECTED(Journal::resume(Path, Header, Space),
                       FailedWithMessage(testing::HasSubstr("study.log")));
  writeSample(1, 0);
  EXPECT_THAT_EXPECTED(
      Journal::create(Path, Header, Space),
      FailedWithMessage(testing::HasSubstr("a study already exists")));
  EXPECT_THAT_EXPECTED(Journal::create((Folder + "/no/x.log").str(), Header,
                                       Space),
                       FailedWithMessage(testing::HasSubstr("no/x.log")));
  std::unique_ptr<Journal> J = resume();
  EXPECT_THAT_EXPECTED(
      Journal::resume(Path, Header, Space),
      FailedWithMessage(
          testing::HasSubstr("in use by another llvm-mneme-tune")));
  EXPECT_THAT_EXPECTED(repairJournal(Path, Header, Space), Failed());
}

TEST_F(JournalTest, RefusesWhatIsNotFinite) {
  std::unique_ptr<Journal> J = create();
  std::string Before = read();
  Trial T = endSampleTrial(Space, makeSampleTrial(Space, 1));
  T.Values[0] = std::nan("");
  EXPECT_THAT_ERROR(J->addTrial(T),
                    FailedWithMessage(testing::HasSubstr("not finite")));
  EXPECT_EQ(read(), Before);
  // What is no objective is left out.
  T.Values[0] = 1;
  T.Metrics["time"] = INFINITY;
  T.Samples.push_back(std::nan(""));
  ASSERT_THAT_ERROR(J->addTrial(T), Succeeded());
  std::string Whole = read();
  EXPECT_EQ(StringRef(Whole).find("nan"), StringRef::npos);
  EXPECT_EQ(StringRef(Whole).find("inf"), StringRef::npos);
  J.reset();
  std::vector<Trial> Trials = resume()->takeTrials();
  ASSERT_EQ(Trials.size(), 1u);
  EXPECT_EQ(Trials[0].Samples.size(), 7u);
  EXPECT_FALSE(Trials[0].Metrics.count("time"));
}

//===----------------------------------------------------------------------===//
// Other programs
//===----------------------------------------------------------------------===//

/// Trials as Optuna would add them; test/Tune has the real one do it.
class ForeignTest : public JournalTest {
protected:
  static std::string replace(std::string Text, StringRef What, StringRef By) {
    size_t At = Text.find(What.str());
    EXPECT_NE(At, std::string::npos) << What.str();
    return Text.replace(At, What.size(), By.str());
  }
  /// A line that makes a complete trial of the first trial's point.
  std::string makeComplete() const {
    std::string Text = read();
    StringRef First = StringRef(Text).substr(Text.find("{\"op_code\":4"));
    json::Value V = cantFail(json::parse(First.split('\n').first));
    json::Object &O = *V.getAsObject();
    O["worker_id"] = "optuna";
    O["state"] = 1;
    O["value"] = 812.5;
    O["datetime_start"] = "2026-11-20T14:05:48+00:00";
    O["datetime_complete"] = "2026-11-20T16:05:49.25+02:00";
    O["user_attrs"] = json::Object();
    return print(V);
  }
  static std::string makeWaiting(StringRef Fixed) {
    return ("{\"op_code\": 4, \"worker_id\": \"w\", \"study_id\": 0, "
            "\"datetime_start\": null, \"state\": 4, \"value\": null, "
            "\"values\": null, \"distributions\": {}, \"params\": {}, "
            "\"user_attrs\": {}, \"system_attrs\": {\"fixed_params\": " +
            Fixed + "}, \"intermediate_values\": {}}")
        .str();
  }
};

TEST_F(ForeignTest, ImportsTrials) {
  writeSample(2, 1);
  std::string Line = makeComplete();
  add(replace(Line, "812.5", "-Infinity"));         // Not used.
  add(replace(Line, "\"state\":1", "\"state\":3")); // Failed: not used.
  add(replace(Line, "\"user_attrs\":{}", "\"user_attrs\":{\"NaN\": NaN}"));
  add("{\"op_code\": 10, \"worker_id\": \"rust\"}"); // Only some know it.
  std::unique_ptr<Journal> J = resume();
  std::vector<Trial> Trials = J->takeTrials();
  ASSERT_EQ(Trials.size(), 4u);
  const Trial &T = Trials.back();
  EXPECT_EQ(T.Kind, TrialKind::Imported);
  EXPECT_EQ(T.State, TrialState::Complete);
  EXPECT_EQ(T.Number, 3u);
  EXPECT_EQ(T.P, Space.defaultPoint());
  EXPECT_EQ(T.Values, std::vector<double>{812.5});
  EXPECT_EQ(T.Metrics.lookup("time"), 812.5);
  EXPECT_EQ(T.Ended - T.Started, 1.25);
  EXPECT_EQ(print(json::Object(T.Config)),
            print(cantFail(Space.configure(Space.defaultPoint()))));
  EXPECT_EQ(
      J->takeWarnings(),
      std::vector<std::string>{
          "trial 3 of another program is ignored: it has 0 finite values"});
  // Ours go on behind it, and its number stays.
  cantFail(J->beginTrials(makeSampleTrial(Space, 4)));
  add(Line);
  cantFail(J->addTrial(endSampleTrial(Space, makeSampleTrial(Space, 4))));
  J.reset();
  for (int Time = 0; Time < 2; ++Time) {
    std::vector<uint64_t> Numbers;
    for (const Trial &Again : resume()->takeTrials())
      Numbers.push_back(Again.Number);
    EXPECT_EQ(Numbers, (std::vector<uint64_t>{0, 1, 4, 2, 3, 5}));
  }
}

TEST_F(ForeignTest, ImportsWhatFitsOnly) {
  writeSample(1, 0);
  std::string Line = makeComplete();
  // "block.x": 256, the recorded one.
  add(replace(Line, "\"block.x\":256", "\"block.x\":250"));
  add(replace(Line, "\"block.x\":256", "\"block.x\":96"));
  add(replace(Line, "\"block.x\":256,", ""));
  add(replace(Line, "\"block.x\":256", "\"block.x\":128"));
  std::unique_ptr<Journal> J = resume();
  EXPECT_EQ(J->takeTrials().size(), 2u);
  std::vector<std::string> Warnings = J->takeWarnings();
  ASSERT_EQ(Warnings.size(), 3u);
  EXPECT_NE(Warnings[0].find("'block.x' cannot be 250"), std::string::npos);
  EXPECT_NE(Warnings[1].find("no three warps"), std::string::npos);
  EXPECT_NE(Warnings[2].find("'block.x' is missing"), std::string::npos);
}

TEST_F(ForeignTest, TakesEnqueuedTrials) {
  writeSample(1, 0);
  std::unique_ptr<Journal> J = resume();
  EXPECT_THAT_EXPECTED(J->takeEnqueued(), HasValue(testing::IsEmpty()));
  std::string Before = read();
  add(makeWaiting("{\"block.x\": 64, \"specialize\": true, \"threshold\": 2}"));
  add(makeWaiting("{\"block.x\": 65}"));
  add(makeWaiting("{\"block.x\": 96}"));
  add(makeWaiting("{\"grid\": 96}"));
  add(makeWaiting("{\"passes\": \"module(default<O2>,function(gvn,"
                  "loop-unroll<full-unroll-max=4>,sroa,dse,adce))\"}"));
  Expected<std::vector<Point>> Points = J->takeEnqueued();
  ASSERT_THAT_EXPECTED(Points, Succeeded());
  ASSERT_EQ(Points->size(), 2u);
  StringMap<Value> V = Space.values((*Points)[0]);
  EXPECT_EQ(std::get<int64_t>(V["block.x"]), 64);
  EXPECT_EQ(std::get<bool>(V["specialize"]), true);
  EXPECT_EQ(std::get<double>(V["threshold"]), 2.0);
  V = Space.values((*Points)[1]);
  EXPECT_EQ(std::get<std::string>(V["passes"]),
            "module(default<O2>,function(gvn,loop-unroll<full-unroll-max=4>,"
            "sroa,dse,adce))");
  std::vector<std::string> Warnings = J->takeWarnings();
  ASSERT_EQ(Warnings.size(), 3u);
  EXPECT_EQ(Warnings[0],
            "enqueued trial 2 cannot be run: 'block.x' cannot be 65");
  // Nothing is taken twice.
  EXPECT_THAT_EXPECTED(J->takeEnqueued(), HasValue(testing::IsEmpty()));

  // It runs under the number that it has in the file.
  Trial T = makeSampleTrial(Space, 1);
  T.Kind = TrialKind::Enqueued;
  T.P = (*Points)[0];
  T.Config = cantFail(Space.configure(T.P));
  cantFail(J->beginTrials(T));
  cantFail(J->addTrial(endSampleTrial(Space, T)));
  EXPECT_EQ(StringRef(read()).count("\"op_code\":4"), 1u);
  // The other one was taken and did not begin: it is there again.
  J = nullptr;
  J = resume();
  std::vector<Trial> Trials = J->takeTrials();
  ASSERT_EQ(Trials.size(), 2u);
  expectEqual(Trials[1], endSampleTrial(Space, T));
  EXPECT_THAT_EXPECTED(J->takeEnqueued(),
                       HasValue(testing::ElementsAre((*Points)[1])));
}

TEST_F(ForeignTest, KeepsResultsOfTrialsThatOthersGaveUp) {
  writeSample(0, 1);
  std::unique_ptr<Journal> J = resume();
  J->takeTrials();
  add("{\"op_code\": 6, \"worker_id\": \"w\", \"trial_id\": 0, \"state\": 3, "
      "\"values\": null, \"datetime_complete\": \"2026-11-20T14:05:48\"}");
  Trial T = endSampleTrial(Space, makeSampleTrial(Space, 0));
  cantFail(J->addTrial(T));
  J.reset();
  bool Found = false;
  for (const Trial &Read : resume()->takeTrials())
    if (Read.State == TrialState::Complete) {
      Found = true;
      expectEqual(Read, T);
    }
  EXPECT_TRUE(Found);
}

TEST_F(ForeignTest, SaysThatTheStudyIsGone) {
  writeSample(1, 0);
  std::unique_ptr<Journal> J = resume();
  add("{\"op_code\": 1, \"worker_id\": \"w\", \"study_id\": 0}");
  EXPECT_THAT_ERROR(
      J->addTrial(endSampleTrial(Space, makeSampleTrial(Space, 1))),
      FailedWithMessage(testing::HasSubstr("the study was deleted")));
}

TEST_F(ForeignTest, FindsItsStudyAmongOthers) {
  add("{\"op_code\": 0, \"worker_id\": \"w\", \"study_name\": \"a\", "
      "\"directions\": [1]}");
  std::string First = read();
  sys::fs::remove(Path);
  writeSample(2, 0);
  std::string Own = read();
  for (size_t At = 0; (At = Own.find("\"study_id\":0", At)) != std::string::npos;)
    Own[At + 11] = '1';
  write(First + Own);
  EXPECT_EQ(resume()->takeTrials().size(), 2u);
}

//===----------------------------------------------------------------------===//
// Locks and disks
//===----------------------------------------------------------------------===//

TEST_F(JournalTest, WaitsForOtherWriters) {
  std::unique_ptr<Journal> J = create();
  std::string Lock = Path + ".lock";
  ASSERT_EQ(::symlink(Path.c_str(), Lock.c_str()), 0);
  std::thread Other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    add("{\"op_code\": 2, \"worker_id\": \"w\", \"study_id\": 0, "
        "\"user_attr\": {\"other\": 1}}");
    ::unlink(Lock.c_str());
  });
  cantFail(J->setAttribute("mine", 2));
  Other.join();
  std::string Text = read();
  EXPECT_LT(Text.find("\"other\""), Text.find("\"mine\""));
  EXPECT_FALSE(sys::fs::exists(Lock));
  ASSERT_TRUE(J->getAttribute("other"));
}

TEST_F(JournalTest, GivesUpWaiting) {
  JournalOptions Options;
  Options.LockTimeout = 0.05;
  std::unique_ptr<Journal> J =
      cantFail(Journal::create(Path, Header, Space, Options));
  std::string Lock = Path + ".lock";
  // As JournalFileOpenLock makes it.
  ::close(::open(Lock.c_str(), O_CREAT | O_EXCL, 0600));
  EXPECT_THAT_ERROR(J->setAttribute("a", 1),
                    FailedWithMessage(testing::HasSubstr("has kept '" + Lock)));
  EXPECT_TRUE(sys::fs::exists(Lock));
}

/// On file systems with and without RENAME_EXCHANGE.
class JournalLockTest : public JournalTest,
                        public testing::WithParamInterface<bool> {
protected:
  void SetUp() override {
    JournalTest::SetUp();
    CannotExchange = GetParam();
  }
  void TearDown() override {
    CannotExchange = false;
    JournalTest::TearDown();
  }
};

INSTANTIATE_TEST_SUITE_P(FileSystems, JournalLockTest, testing::Bool());

TEST_P(JournalLockTest, BreaksStaleLocks) {
  JournalOptions Options;
  Options.StaleLock = 0.05;
  std::unique_ptr<Journal> J =
      cantFail(Journal::create(Path, Header, Space, Options));
  ASSERT_EQ(::symlink("nowhere", (Path + ".lock").c_str()), 0);
  EXPECT_THAT_ERROR(J->setAttribute("a", 1), Succeeded());
  std::error_code EC;
  unsigned Files = 0;
  for (sys::fs::directory_iterator I(Folder, EC), E; I != E && !EC;
       I.increment(EC))
    ++Files;
  EXPECT_EQ(Files, 1u);
}

TEST_P(JournalLockTest, LeavesTheLockOfAFasterProcess) {
  JournalOptions Options;
  Options.StaleLock = 0.5;
  Options.LockTimeout = 0.6;
  std::unique_ptr<Journal> J =
      cantFail(Journal::create(Path, Header, Space, Options));
  std::string Lock = Path + ".lock";
  ASSERT_EQ(::symlink("nowhere", Lock.c_str()), 0);
  // Another process sees the stale lock, too, and breaks it first.
  BeforeRename = [&] {
    ::unlink(Lock.c_str());
    EXPECT_EQ(::symlink("other", Lock.c_str()), 0);
  };
  EXPECT_THAT_ERROR(J->setAttribute("a", 1),
                    FailedWithMessage(testing::HasSubstr("has kept '" + Lock)));
  EXPECT_FALSE(BeforeRename);
  char Target[16] = {};
  EXPECT_EQ(::readlink(Lock.c_str(), Target, sizeof(Target) - 1), 5);
  EXPECT_STREQ(Target, "other");
}

/// Bytes of files of this process for as long as the object lives.
class FileSizeLimit {
public:
  explicit FileSizeLimit(uint64_t Bytes) {
    OldHandler = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &Old);
    struct rlimit New = Old;
    New.rlim_cur = Bytes;
    ::setrlimit(RLIMIT_FSIZE, &New);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &Old);
    std::signal(SIGXFSZ, OldHandler);
  }

private:
  struct rlimit Old;
  void (*OldHandler)(int);
};

TEST_F(JournalTest, LeavesNothingOfWhatDoesNotFit) {
  writeSample(2, 1);
  std::unique_ptr<Journal> J = resume();
  J->takeTrials();
  std::string Before = read();
  for (unsigned Room : {0, 1, 100, 500}) {
    FileSizeLimit Limit(Before.size() + Room);
    EXPECT_THAT_ERROR(
        J->addTrial(endSampleTrial(Space, makeSampleTrial(Space, 2))),
        FailedWithMessage(testing::HasSubstr("study.log")));
    EXPECT_THAT_ERROR(J->beginTrials(makeSampleTrial(Space, 3)),
                      FailedWithMessage(testing::HasSubstr("study.log")));
  }
  EXPECT_EQ(read(), Before);
  // There is room again.
  cantFail(J->beginTrials(makeSampleTrial(Space, 3)));
  cantFail(J->addTrial(endSampleTrial(Space, makeSampleTrial(Space, 2))));
  J.reset();
  std::vector<Trial> Trials = resume()->takeTrials();
  ASSERT_EQ(Trials.size(), 4u);
  expectEqual(Trials[2], endSampleTrial(Space, makeSampleTrial(Space, 2)));
  expectEqual(Trials[3], makeSampleTrial(Space, 3));
}

TEST_F(JournalTest, SurvivesKills) {
  for (unsigned Delay : {1, 5, 9, 14, 20}) {
    sys::fs::remove(Path);
    int Pipe[2];
    ASSERT_EQ(::pipe(Pipe), 0);
    pid_t Child = ::fork();
    if (Child == 0) {
      std::unique_ptr<Journal> J = create();
      for (uint64_t I = 0;; ++I) {
        cantFail(J->beginTrials(makeSampleTrial(Space, I)));
        cantFail(J->addTrial(endSampleTrial(Space, makeSampleTrial(Space, I))));
        if (::write(Pipe[1], &I, sizeof(I)) != sizeof(I))
          ::_exit(1);
      }
    }
    ::close(Pipe[1]);
    // What it has said to be in the file is.
    uint64_t Said = 0, Count = 0;
    for (; Count < Delay; ++Count)
      ASSERT_EQ(::read(Pipe[0], &Said, sizeof(Said)), ssize_t(sizeof(Said)));
    ::kill(Child, SIGKILL);
    ::waitpid(Child, nullptr, 0);
    while (::read(Pipe[0], &Said, sizeof(Said)) == sizeof(Said))
      ++Count;
    ::close(Pipe[0]);
    JournalOptions Options;
    Options.StaleLock = 0.2; // It may have died with the lock.
    Expected<std::unique_ptr<Journal>> J =
        Journal::resume(Path, Header, Space, Options);
    ASSERT_THAT_EXPECTED(J, Succeeded());
    std::vector<Trial> Trials = (*J)->takeTrials();
    ASSERT_GE(Trials.size(), Count);
    for (uint64_t I = 0; I < Count; ++I)
      expectEqual(Trials[I], endSampleTrial(Space, makeSampleTrial(Space, I)));
  }
}
} // namespace
