//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A process draws the inputs, one after the other, and launches the recorded
// code after each. An input that the recorded code cannot work with is drawn
// again, or keeps its recorded contents.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Perturb.h"
#include "ElementTypes.h"
#include "InputSource.h"
#include "MoveBuffers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Replay/Session.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <cstring>

using namespace llvm;
using namespace llvm::mneme;

/// Attempts to draw an input. Each one is more timid than the one before.
static constexpr unsigned Attempts = 3;
/// No further input is drawn after this time.
static constexpr double MaxPerturbSeconds = 20;
/// Limit of a launch with drawn inputs, as a multiple of the recorded launch,
/// but at least this many seconds.
static constexpr double MaxSlowdown = 20, MinLimit = 1;

/// On a GPU, a second launch is in another order, too.
static constexpr HostSchedule OtherOrder = {HostSchedule::Shuffled, 1};

/// Random schedules that show whether threads write to the same elements.
static constexpr unsigned CollisionSchedules = 4;

static constexpr StringLiteral NotesName = "changes.json";

//===----------------------------------------------------------------------===//
// The process
//===----------------------------------------------------------------------===//

namespace {
using Memory = std::vector<std::vector<char>>; ///< By region.

/// How an input differs from the recorded one.
enum class Change {
  None,
  Partly, ///< Only the order of elements, or some members of records.
  Values,
};

/// The change that was found for an input.
struct Outcome {
  Change Kind = Change::None;
  std::string Why; ///< Why it is not Values.
};

/// An argument that is drawn.
struct Scalar {
  size_t Arg;
  uint32_t DType;
  std::string Name;
  int64_t Recorded = 0; ///< Of an integer.
  Outcome Found;
};

/// Draws the inputs of a launch and writes the recording.
class Perturber {
public:
  Perturber(const ReplayPlan &Plan, const PerturbOptions &O,
            function_ref<void(ReplayStage)> Report)
      : Plan(Plan), State(Plan.state()), O(O), Report(Report),
        Source(O.Seed, Plan.options().Device), Args(State.args().vec()),
        Values(O.Values) {}

  Error run(StringRef Dir);

private:
  const ReplayPlan &Plan;
  const RecordedState &State;
  const PerturbOptions &O;
  function_ref<void(ReplayStage)> Report;
  InputSource Source;
  std::unique_ptr<ReplaySession> Session;
  std::unique_ptr<DeviceKernel> Kernel;
  /// For random schedules; null if not needed, or if the recorded results
  /// depend on them.
  std::unique_ptr<DeviceKernel> Interleaved;
  ElementTypes Types;
  Memory Before, After; ///< Of the inputs drawn so far.
  std::vector<std::string> Args;
  std::vector<bool> IsChanged; ///< By region: in a launch, or by the code.
  uint64_t NonFinite = 0;      ///< In the recorded outcome.
  DrawnValues Values;
  bool Varies = false; ///< The recorded outcome depends on the order of blocks.
  double LaunchSeconds = 0;
  std::chrono::steady_clock::time_point Begin =
      std::chrono::steady_clock::now();
  json::Array Changed, Partly, Unread, Unchanged;

  Error prepare();
  Expected<std::unique_ptr<DeviceKernel>> compile(const ReplayPlan &P);
  Error prepareInterleaved();
  Expected<std::string> launch(const Memory &From,
                               ArrayRef<std::string> ArgBytes, Memory &To,
                               HostSchedule Order = {});
  std::string findFault(const Memory &From, const Memory &To) const;
  uint64_t countNonFinite(const Memory &M) const;
  Expected<std::string> findOrderFault(const Memory &From,
                                       ArrayRef<std::string> ArgBytes,
                                       const Memory &To, bool MayCollide);
  Expected<Outcome> tryInput(
      function_ref<Change(Memory &, std::vector<std::string> &, unsigned)> Draw,
      bool IsTest = true, bool MayCollide = false);
  void note(const Twine &Name, const Outcome &O);
  bool isReachable(size_t Region) const;
  std::string nameOf(size_t Region) const;
  Error drawUnread(size_t Region);
  void drawElements(MutableArrayRef<char> Contents, uint32_t DType,
                    const LoadedValues &Facts, unsigned Attempt);
  bool mayCollide(const LoadedValues &Facts, uint32_t DType) const {
    return Facts.FindsWrites && !isFloatType(DType);
  }
  Error drawBuffer(size_t Region);
  Error drawPieces(size_t Region);
  Error drawRecords(size_t Region);
  std::vector<Scalar> listScalars();
  void drawScalars(ArrayRef<const Scalar *> Scalars, bool KeepsRelations,
                   unsigned Attempt, std::vector<std::string> &New);
  Error tryScalars(ArrayRef<Scalar *> Scalars, bool KeepsRelations);
  Error tryPairs(ArrayRef<Scalar *> Scalars);
  Error drawAllScalars();
  Error write(StringRef Dir);
};
} // namespace

Error Perturber::prepare() {
  if (Error E = ReplaySession::create(Plan, Report).moveInto(Session))
    return E;
  if (Error E = Session->prepare(Report))
    return E;
  if (Error E = compile(Plan).moveInto(Kernel))
    return E;
  Types = inferElementTypes(Plan, /*FollowsValues=*/true);
  for (auto [I, Region] : enumerate(State.regions())) {
    Before.emplace_back(Region.Info.Size);
    if (Error E = State.readRegion(I, /*After=*/false, Before.back()))
      return E;
  }
  auto Start = std::chrono::steady_clock::now();
  Expected<std::string> Fault = launch(Before, Args, After);
  if (!Fault)
    return Fault.takeError();
  if (!Fault->empty())
    return createStringError("the recorded code fails: " + *Fault);
  LaunchSeconds = secondsSince(Start);
  // The code shows more than the launch: errors that it never reported.
  for (auto [I, Old, New] : enumerate(Before, After))
    IsChanged.push_back(Types.IsWritten[I] || Old != New ||
                        (Types.WritesUnknown && !isReachable(I)));
  NonFinite = countNonFinite(After);
  Memory Again;
  if (Error E = launch(Before, Args, Again, OtherOrder).moveInto(*Fault))
    return E;
  Varies = Again != After;
  // Errors of rounding grow with the values.
  bool IsExact = Plan.options().Tolerances.empty() &&
                 Plan.options().Unordered.empty() && !Varies &&
                 all_of(State.annotations(), [](const SnapshotAnnotation &A) {
                   return A.Tolerance == MNEME_TOLERANCE_EXACT;
                 });
  if (!IsExact || Types.PromisesFinite)
    Values = DrawnValues::Near;
  return prepareInterleaved();
}

Expected<std::unique_ptr<DeviceKernel>>
Perturber::compile(const ReplayPlan &P) {
  Expected<CompiledKernel> Code = Session->compile(P, Report);
  if (!Code)
    return Code.takeError();
  if (Code->failed())
    return createStringError(Code->Error);
  return Session->device()->load(Code->Image, P.globals());
}

/// Where integers decide where the kernel writes, drawn ones can make threads
/// of a block write to the same element.
Error Perturber::prepareInterleaved() {
  if (O.OnlyOrder || Varies || Plan.options().Device != "host" ||
      none_of(Types.OfLoads,
              [](const LoadedValues &V) { return V.FindsWrites; }))
    return Error::success();
  ReplayOptions Options = Plan.options();
  HostSchedule Random = {HostSchedule::Random, 1};
  Options.HostSchedule = Random.toString();
  Expected<std::unique_ptr<ReplayPlan>> P = Plan.vary(std::move(Options));
  if (!P)
    return P.takeError();
  if (Error E = compile(**P).moveInto(Interleaved)) {
    consumeError(std::move(E));
    return Error::success();
  }
  Memory Again;
  Expected<std::string> Fault = launch(Before, Args, Again, Random);
  if (!Fault)
    return Fault.takeError();
  if (!Fault->empty() || Again != After)
    Interleaved.reset();
  return Error::success();
}

/// \returns the reason if the launch failed.
Expected<std::string> Perturber::launch(const Memory &From,
                                        ArrayRef<std::string> ArgBytes,
                                        Memory &To, HostSchedule Order) {
  Report(ReplayStage::Launch);
  Device &D = *Session->device();
  for (auto [Region, Bytes] : zip_equal(State.regions(), From))
    if (Error E = D.write(Region.Info.Address, Bytes))
      return std::move(E);
  LaunchConfig Config = Plan.launch();
  Config.Schedule = Order;
  if (LaunchSeconds > 0) {
    double Limit = std::max(MinLimit, MaxSlowdown * LaunchSeconds);
    Config.TimeoutSeconds = Config.TimeoutSeconds > 0
                                ? std::min(Limit, Config.TimeoutSeconds)
                                : Limit;
  }
  // Types may be aligned to more than texts are.
  BumpPtrAllocator Bytes;
  SmallVector<void *, 16> Pointers;
  for (const std::string &A : ArgBytes) {
    Pointers.push_back(Bytes.Allocate(A.size(), Align(128)));
    llvm::copy(A, static_cast<char *>(Pointers.back()));
  }
  bool IsRandom = Order.Order == HostSchedule::Random;
  Expected<LaunchOutcome> Outcome =
      D.launch(IsRandom ? *Interleaved : *Kernel, Config, Pointers);
  if (!Outcome)
    return Outcome.takeError();
  if (Outcome->Status != LaunchStatus::Ok)
    return Outcome->describe();
  To.resize(From.size());
  for (auto [Region, Bytes] : zip_equal(State.regions(), To)) {
    Bytes.resize(Region.Info.Size);
    if (Error E = D.read(Region.Info.Address, Bytes))
      return std::move(E);
  }
  return std::string();
}

uint64_t Perturber::countNonFinite(const Memory &M) const {
  uint64_t Count = 0;
  for (auto [DType, Bytes] : zip_equal(Types.OfRegion, M))
    Count += ::countNonFinite(Bytes, DType);
  return Count;
}

/// Returns why an outcome is of no use; empty if it is.
std::string Perturber::findFault(const Memory &From, const Memory &To) const {
  for (size_t I = 0; I != From.size(); ++I)
    if (!IsChanged[I] && From[I] != To[I])
      return formatv("it writes to buffer {0}", State.regions()[I].Info.Id)
          .str();
  if (Values == DrawnValues::Near && countNonFinite(To) > NonFinite)
    return "it computes infinities or NaNs";
  return "";
}

/// Returns why results with drawn inputs depend on the order of blocks, or of
/// threads if \p MayCollide; empty if they do not.
Expected<std::string> Perturber::findOrderFault(const Memory &From,
                                                ArrayRef<std::string> ArgBytes,
                                                const Memory &To,
                                                bool MayCollide) {
  std::vector<HostSchedule> Orders;
  // A size that is too small for the grid makes blocks write to the same
  // elements.
  if (!Varies)
    Orders.push_back(OtherOrder);
  if (MayCollide)
    for (unsigned N = 0; N != CollisionSchedules; ++N)
      Orders.push_back({HostSchedule::Random, N + 1});
  for (HostSchedule Order : Orders) {
    Memory Again;
    Expected<std::string> Fault = launch(From, ArgBytes, Again, Order);
    if (!Fault || !Fault->empty())
      return Fault;
    if (Again != To)
      return Order.Order == HostSchedule::Random
                 ? "its results depend on the order of threads"
                 : "its results depend on the order of blocks";
  }
  return std::string();
}

/// Changes one input by \p Draw, and keeps the change if the recorded code
/// works with it.
/// \param IsTest  false for an input that the recorded code does not read.
/// \param MayCollide  a change of values decides where threads write.
Expected<Outcome> Perturber::tryInput(
    function_ref<Change(Memory &, std::vector<std::string> &, unsigned)> Draw,
    bool IsTest, bool MayCollide) {
  Outcome Best;
  Memory GoodBefore, GoodAfter;
  std::vector<std::string> GoodArgs;
  for (unsigned Attempt = 0; Attempt != Attempts; ++Attempt) {
    if (secondsSince(Begin) > MaxPerturbSeconds) {
      Best.Why = "no time was left";
      break;
    }
    Memory NewBefore = Before, NewAfter;
    std::vector<std::string> NewArgs = Args;
    Change Kind = Draw(NewBefore, NewArgs, Attempt);
    if (Kind == Change::None || (NewBefore == Before && NewArgs == Args)) {
      Best.Why = "there is nothing to change";
      continue;
    }
    Expected<std::string> Fault = launch(NewBefore, NewArgs, NewAfter);
    if (!Fault)
      return Fault.takeError();
    if (Fault->empty())
      *Fault = findFault(NewBefore, NewAfter);
    if (Fault->empty())
      if (Error E = findOrderFault(NewBefore, NewArgs, NewAfter,
                                   MayCollide && Kind == Change::Values)
                        .moveInto(*Fault))
        return std::move(E);
    if (!Fault->empty()) {
      Best.Why = "the recorded code fails with other contents: " + *Fault;
      continue;
    }
    // A change that matters is better than one that does not.
    bool Matters = false;
    for (size_t I = 0; I != After.size(); ++I)
      Matters |= IsChanged[I] && NewAfter[I] != After[I];
    if (Best.Kind != Change::None && (!Matters || Kind < Best.Kind))
      continue;
    Best.Kind = Kind;
    GoodBefore = std::move(NewBefore);
    GoodAfter = std::move(NewAfter);
    GoodArgs = std::move(NewArgs);
    if (Matters || !IsTest)
      break;
  }
  if (Best.Kind == Change::None)
    return Best;
  Before = std::move(GoodBefore);
  After = std::move(GoodAfter);
  Args = std::move(GoodArgs);
  return Best;
}

void Perturber::note(const Twine &Name, const Outcome &Found) {
  if (Found.Kind == Change::Values) {
    Changed.push_back(Name.str());
    return;
  }
  if (Found.Kind == Change::Partly)
    Partly.push_back(Name.str());
  if (!O.OnlyOrder || Found.Kind == Change::None)
    Unchanged.push_back((Name + ": " + Found.Why).str());
}

/// Whether other code may find a buffer: by an argument, or by name.
bool Perturber::isReachable(size_t Region) const {
  auto LeadsThere = [&](StringRef Arg) {
    for (size_t At = 0; At + 8 <= Arg.size(); At += 8)
      if (State.findRegionOf(support::endian::read64le(Arg.data() + At)) ==
          Region)
        return true;
    return false;
  };
  return State.regions()[Region].Info.IsGlobal ||
         any_of(State.args(), LeadsThere);
}

/// Other code may read what the recorded code does not, and must not depend on
/// it.
Error Perturber::drawUnread(size_t Region) {
  uint32_t DType = Types.OfAccess[Region];
  uint32_t Size = std::max(1u, getDTypeSize(DType));
  if (Before[Region].empty())
    return Error::success();
  Outcome Found = {Change::None, "it contains addresses or handles"};
  if (!holdsPlaces(State, Before[Region]))
    if (Error E =
            tryInput(
                [&](Memory &M, std::vector<std::string> &, unsigned Attempt) {
                  MutableArrayRef<char> Contents = M[Region];
                  bool IsWhole = Contents.size() >= Size;
                  if (isFloatType(DType) && IsWhole && Attempt == 0)
                    Source.drawFloats(Contents, DType, DrawnValues::Near,
                                      Attempt);
                  else
                    Source.drawAny(Contents, IsWhole ? Size : 1);
                  return Change::Values;
                },
                /*IsTest=*/false)
                .moveInto(Found))
      return E;
  if (Found.Kind == Change::Values)
    Unread.push_back(nameOf(Region));
  else
    Unchanged.push_back(nameOf(Region) + ": " + Found.Why);
  return Error::success();
}

std::string Perturber::nameOf(size_t Region) const {
  const SnapshotRegion &Info = State.regions()[Region].Info;
  return Info.IsGlobal ? "variable " + Info.Name
                       : formatv("buffer {0}", Info.Id).str();
}

/// Changes values, less and less with each attempt.
void Perturber::drawElements(MutableArrayRef<char> Contents, uint32_t DType,
                             const LoadedValues &Facts, unsigned Attempt) {
  size_t Size = getDTypeSize(DType);
  if (isFloatType(DType)) {
    Source.drawFloats(Contents, DType,
                      Facts.findMemory() ? DrawnValues::Near : Values, Attempt);
    return;
  }
  bool IsFree = Attempt == 0 && !Facts.findMemory() && !Facts.EndsLoops;
  if (IsFree && Values != DrawnValues::Near)
    Source.drawAny(Contents, Size);
  else if (isUniform(Contents, Size))
    Source.drawEqual(Contents, Size, IsFree, Attempt);
  else
    Source.drawInRange(Contents, Size, Attempt);
  if (Facts.Range)
    Source.drawWithin(Contents, Size, *Facts.Range);
}

Error Perturber::drawBuffer(size_t Region) {
  if (!Types.IsRead[Region])
    return Error::success();
  uint32_t DType = Types.OfAccess[Region];
  uint32_t Size = getDTypeSize(DType);
  const RecordLayout &Records = Types.Records[Region];
  bool IsRecord =
      Records.Members.size() > 1 &&
      (DType == MNEME_DTYPE_BYTES || Records.Size < Before[Region].size());
  if (holdsPlaces(State, Before[Region])) {
    note(nameOf(Region), {Change::None, "it contains addresses or handles"});
    return Error::success();
  }
  if (IsRecord)
    return drawRecords(Region);
  if (DType == MNEME_DTYPE_BYTES)
    return drawPieces(Region);
  const LoadedValues &Facts = Types.OfLoads[Region];
  bool MayCollide = mayCollide(Facts, DType);
  auto Draw = [&](Memory &M, std::vector<std::string> &, unsigned Attempt) {
    MutableArrayRef<char> Contents = M[Region];
    if (Contents.size() < Size)
      return Change::None;
    bool IsConstant = isUniform(Contents, Size);
    if (!IsConstant)
      Source.permute(Contents, Size);
    else if (O.OnlyOrder)
      return Change::None;
    if (O.OnlyOrder ||
        (!IsConstant && (Attempt == 2 || (MayCollide && !Interleaved))))
      return Change::Partly;
    std::vector<char> Moved = Contents.vec();
    drawElements(Contents, DType, Facts, Attempt);
    return Contents == ArrayRef(Moved) ? Change::Partly : Change::Values;
  };
  Expected<Outcome> Found =
      tryInput(Draw, /*IsTest=*/true, MayCollide && Interleaved);
  if (!Found)
    return Found.takeError();
  if (Found->Kind == Change::Partly)
    Found->Why = "only its order changed" +
                 (Found->Why.empty() ? "" : ": " + Found->Why);
  note(nameOf(Region), *Found);
  return Error::success();
}

/// Puts elements of unknown types in another order: each is in one piece.
Error Perturber::drawPieces(size_t Region) {
  constexpr size_t Size = 16;
  Expected<Outcome> Found =
      tryInput([&](Memory &M, std::vector<std::string> &, unsigned) {
        if (isUniform(M[Region], Size))
          return Change::None;
        Source.permute(M[Region], Size);
        return Change::Partly;
      });
  if (!Found)
    return Found.takeError();
  Found->Why = "its elements have several types";
  note(nameOf(Region), *Found);
  return Error::success();
}

/// Returns a member of all records.
static std::vector<char> getColumn(ArrayRef<char> Contents, uint32_t Record,
                                   const RecordMember &M) {
  std::vector<char> Column;
  for (size_t At = M.Offset; At + M.Size <= Contents.size(); At += Record)
    append_range(Column, Contents.slice(At, M.Size));
  return Column;
}

static void putColumn(MutableArrayRef<char> Contents, uint32_t Record,
                      const RecordMember &M, ArrayRef<char> Column) {
  for (size_t At = M.Offset; At + M.Size <= Contents.size(); At += Record) {
    llvm::copy(Column.take_front(M.Size), &Contents[At]);
    Column = Column.drop_front(M.Size);
  }
}

/// Returns the bytes between the members that the kernel reads. Other code may
/// read them.
static std::vector<RecordMember> findUnread(const RecordLayout &L) {
  std::vector<RecordMember> Unread;
  uint32_t Begin = 0;
  auto AddTo = [&](uint32_t End) {
    if (Begin < End)
      Unread.push_back(
          {Begin, End - Begin, MNEME_DTYPE_BYTES, /*IsRead=*/false, {}});
  };
  for (const RecordMember &M : L.Members)
    if (M.IsRead) {
      AddTo(M.Offset);
      Begin = std::max(Begin, M.Offset + M.Size);
    }
  AddTo(L.Size);
  return Unread;
}

/// Changes the members one after the other, and those that the kernel does not
/// read all at once.
Error Perturber::drawRecords(size_t Region) {
  const RecordLayout &L = Types.Records[Region];
  Expected<Outcome> Moved =
      tryInput([&](Memory &M, std::vector<std::string> &, unsigned) {
        if (isUniform(M[Region], L.Size))
          return Change::None;
        Source.permute(M[Region], L.Size);
        return Change::Partly;
      });
  if (!Moved)
    return Moved.takeError();
  if (O.OnlyOrder) {
    note(nameOf(Region), *Moved);
    return Error::success();
  }
  Outcome All = {Change::Values, ""};
  bool IsAny = Moved->Kind != Change::None;
  auto Note = [&](const RecordMember &M, const Outcome &Found) {
    IsAny |= Found.Kind != Change::None;
    if (Found.Kind == Change::None && All.Why.empty())
      All.Why = formatv("bytes {0} to {1} of its {2}-byte records are as "
                        "recorded: {3}",
                        M.Offset, M.Offset + M.Size - 1, L.Size, Found.Why);
  };
  for (const RecordMember &M : L.Members) {
    if (!M.IsRead)
      continue;
    bool MayCollide = mayCollide(M.Values, M.DType);
    Outcome Found;
    Found.Why = "they have several types";
    if (MayCollide && !Interleaved)
      Found.Why = "they decide where the kernel writes";
    else if (M.DType != MNEME_DTYPE_BYTES)
      if (Error E = tryInput(
                        [&](Memory &New, std::vector<std::string> &,
                            unsigned Attempt) {
                          std::vector<char> Column =
                              getColumn(New[Region], L.Size, M);
                          if (Column.empty())
                            return Change::None;
                          drawElements(Column, M.DType, M.Values, Attempt);
                          putColumn(New[Region], L.Size, M, Column);
                          return Change::Values;
                        },
                        /*IsTest=*/true, MayCollide)
                        .moveInto(Found))
        return E;
    Note(M, Found);
  }
  std::vector<RecordMember> Unread = findUnread(L);
  erase_if(Unread, [&](const RecordMember &M) {
    return getColumn(Before[Region], L.Size, M).empty();
  });
  if (!Unread.empty()) {
    Expected<Outcome> Found = tryInput(
        [&](Memory &New, std::vector<std::string> &, unsigned) {
          for (const RecordMember &M : Unread) {
            std::vector<char> Column = getColumn(New[Region], L.Size, M);
            Source.drawAny(Column, MinAlign(M.Offset | M.Size, 4));
            putColumn(New[Region], L.Size, M, Column);
          }
          return Change::Values;
        },
        /*IsTest=*/false);
    if (!Found)
      return Found.takeError();
    Note(Unread.front(), *Found);
  }
  if (!All.Why.empty())
    All.Kind = IsAny ? Change::Partly : Change::None;
  note(nameOf(Region), All);
  return Error::success();
}

static uint32_t getScalarType(StringRef Type) {
  return StringSwitch<uint32_t>(Type)
      .Case("float", MNEME_DTYPE_F32)
      .Case("double", MNEME_DTYPE_F64)
      .Case("half", MNEME_DTYPE_F16)
      .Case("bfloat", MNEME_DTYPE_BF16)
      .Case("i64", MNEME_DTYPE_I64)
      .Case("i32", MNEME_DTYPE_I32)
      .Case("i16", MNEME_DTYPE_I16)
      .Case("i8", MNEME_DTYPE_I8)
      .Default(MNEME_DTYPE_BYTES);
}

/// Returns the scalars that can be drawn, and notes why others cannot.
std::vector<Scalar> Perturber::listScalars() {
  std::vector<Scalar> Scalars;
  for (auto [I, A] : enumerate(Plan.kernel().Args)) {
    if (A.Kind == MNEME_ARG_POINTER)
      continue;
    Scalar S;
    S.Arg = I;
    S.DType = getScalarType(A.Type);
    S.Name = formatv("argument {0}", I).str();
    if (!A.Name.empty())
      S.Name += " (" + A.Name + ")";
    size_t Size = Args[I].size();
    if (S.DType == MNEME_DTYPE_BYTES || Size != getDTypeSize(S.DType)) {
      note(S.Name, {Change::None, "its type is " + A.Type});
      continue;
    }
    if (holdsPlaces(State, {Args[I].data(), Size})) {
      note(S.Name, {Change::None, "it contains an address or a handle"});
      continue;
    }
    if (!isFloatType(S.DType))
      S.Recorded = SignExtend64(getElementBits(Args[I].data(), Size), 8 * Size);
    Scalars.push_back(std::move(S));
  }
  return Scalars;
}

/// Returns a new value for an integer that is what it was to \p Others, lesser
/// ones with their new values; unset if it was nothing to them.
static std::optional<int64_t>
drawRelated(int64_t Old, ArrayRef<std::pair<int64_t, int64_t>> Others) {
  if (Old < 2)
    return std::nullopt;
  for (auto [I, A] : enumerate(Others))
    for (auto [B, NewB] : Others.drop_front(I + 1))
      if (A.first > 1 && B > 1 && Old / B == A.first && Old % B == 0)
        return A.second * NewB;
  for (auto [A, NewA] : llvm::reverse(Others))
    if (A > 1 && Old % A == 0)
      return NewA * (Old / A);
  for (auto [A, NewA] : Others)
    if (Old - A == 1 || A - Old == 1)
      return std::max<int64_t>(NewA + (Old - A), 1);
  return std::nullopt;
}

/// Draws scalars at once.
/// \param KeepsRelations  for DrawnScalars::Related.
void Perturber::drawScalars(ArrayRef<const Scalar *> Scalars,
                            bool KeepsRelations, unsigned Attempt,
                            std::vector<std::string> &New) {
  uint64_t Threads = Plan.block().count(), Blocks = Plan.grid().count();
  SmallVector<uint64_t, 5> Units;
  if (O.RoundScalars)
    Units = {1, Plan.block().X, Threads, Blocks, Threads * Blocks};
  // The least first: others are their multiples.
  SmallVector<const Scalar *> Sorted(Scalars);
  llvm::sort(Sorted, [](const Scalar *A, const Scalar *B) {
    return std::pair(A->Recorded, A->Arg) < std::pair(B->Recorded, B->Arg);
  });
  SmallVector<std::pair<int64_t, int64_t>> Drawn;
  for (const Scalar *S : Sorted) {
    char *Bytes = New[S->Arg].data();
    if (isFloatType(S->DType)) {
      double Old = getFloatElement(Bytes, S->DType).convertToDouble();
      putFloatElement(Bytes, S->DType,
                      Source.drawFloat(Old, DrawnValues::Near, Attempt));
      continue;
    }
    std::optional<int64_t> Value;
    if (KeepsRelations)
      Value = drawRelated(S->Recorded, Drawn);
    if (!Value)
      Value = Source.drawInteger(S->Recorded, Attempt, Units);
    Drawn.push_back({S->Recorded, *Value});
    std::memcpy(Bytes, &*Value, New[S->Arg].size());
  }
}

Error Perturber::tryScalars(ArrayRef<Scalar *> Scalars, bool KeepsRelations) {
  Outcome Found;
  if (Error E = tryInput([&](Memory &, std::vector<std::string> &New,
                             unsigned Attempt) {
                  drawScalars(Scalars, KeepsRelations, Attempt, New);
                  return Change::Values;
                }).moveInto(Found))
    return E;
  for (Scalar *S : Scalars)
    if (S->Found.Kind == Change::None)
      S->Found = Found;
  return Error::success();
}

/// Draws those together that the recorded code does not work with one by one.
Error Perturber::tryPairs(ArrayRef<Scalar *> Scalars) {
  constexpr unsigned MaxPairs = 16;
  unsigned Pairs = 0;
  for (Scalar *S : Scalars) {
    auto IsLeft = [&] { return S->Found.Kind == Change::None; };
    // Others may have changed after it.
    if (IsLeft() && any_of(Scalars, [](const Scalar *Other) {
          return Other->Found.Kind != Change::None;
        }))
      if (Error E = tryScalars(S, /*KeepsRelations=*/false))
        return E;
    for (Scalar *Other : Scalars)
      if (Other != S && IsLeft() && Pairs++ < MaxPairs)
        if (Error E = tryScalars({S, Other}, /*KeepsRelations=*/true))
          return E;
  }
  return Error::success();
}

Error Perturber::drawAllScalars() {
  std::vector<Scalar> Known = listScalars();
  SmallVector<Scalar *> Chosen;
  for (Scalar &S : Known)
    Chosen.push_back(&S);
  if (O.Scalars == DrawnScalars::Some && Chosen.size() > 1) {
    for (size_t I = Chosen.size(); I > 1; --I)
      std::swap(Chosen[I - 1], Chosen[Source.next() % I]);
    // One alone in half of these launches.
    size_t Count =
        Source.next() % 2 ? 1 : 1 + Source.next() % (Chosen.size() - 1);
    Chosen.truncate(Count);
    llvm::sort(Chosen); // as without a choice
  }
  if (O.Scalars == DrawnScalars::Related && Chosen.size() > 1)
    if (Error E = tryScalars(Chosen, /*KeepsRelations=*/true))
      return E;
  for (Scalar *S : Chosen)
    if (S->Found.Kind == Change::None)
      if (Error E = tryScalars(S, /*KeepsRelations=*/false))
        return E;
  if (Error E = tryPairs(Chosen))
    return E;
  for (Scalar *S : Chosen)
    note(S->Name, S->Found);
  return Error::success();
}

/// Returns the ranges of whole pages in which \p To differs from \p From.
static void addChanges(uint64_t Address, ArrayRef<char> From, ArrayRef<char> To,
                       std::vector<MemoryRange> &Ranges) {
  constexpr size_t Page = MNEME_SNAPSHOT_PAGE;
  for (size_t At = 0; At < To.size(); At += Page) {
    size_t Size = std::min(Page, To.size() - At);
    if (std::memcmp(&To[At], &From[At], Size) == 0)
      continue;
    MemoryRange R;
    R.Address = Address + At;
    R.Bytes.assign(To.begin() + At, To.begin() + At + Size);
    Ranges.push_back(std::move(R));
  }
}

Error Perturber::write(StringRef Dir) {
  NewRecording R;
  R.Kernel = Plan.kernel();
  R.ArenaBase = State.arenaBase();
  R.ArenaSize = State.arenaSize();
  R.Args = Args;
  R.Annotations = State.annotations().vec();
  RecordedInstance I = Plan.instance();
  I.Occurrences = 1;
  bool OnHost = Plan.options().Device == "host";
  if (OnHost)
    I.Device = {};
  R.Kernel.Device = OnHost ? "host" : "cuda";
  R.Kernel.Instances = {std::move(I)};
  for (auto [Region, Old, New] : zip_equal(State.regions(), Before, After)) {
    R.Regions.push_back(Region.Info);
    if (any_of(Old, [](char C) { return C != 0; }))
      R.Before.push_back({Region.Info.Address, Old});
    addChanges(Region.Info.Address, Old, New, R.After);
  }
  bool HasDistances =
      R.Regions.size() > 1 && any_of(R.Regions, [](const SnapshotRegion &Info) {
        return !Info.IsGlobal;
      });
  if (O.MovesBuffers && HasDistances) {
    std::string Why = moveBuffers(R, [&] { return Source.next(); });
    if (Why.empty())
      Changed.push_back(BufferDistances);
    else
      Unchanged.push_back((BufferDistances + ": " + Why).str());
  }
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  if (Error E = writeRecording(Dir, *M, std::move(R)).takeError())
    return E;
  json::Object Notes{{"changed", std::move(Changed)},
                     {"partly", std::move(Partly)},
                     {"unread", std::move(Unread)},
                     {"unchanged", std::move(Unchanged)}};
  return writeFileAtomically(
      pathIn(Dir, NotesName),
      formatv("{0}", json::Value(std::move(Notes))).str());
}

Error Perturber::run(StringRef Dir) {
  if (Error E = prepare())
    return E;
  // Values first: the sizes among the scalars decide how much of them is used.
  for (bool Floats : {true, false})
    for (size_t I = 0; I != Before.size(); ++I)
      if (bool(isFloatType(Types.OfAccess[I])) == Floats)
        if (Error E = drawBuffer(I))
          return E;
  if (Types.ReadsUnknown)
    Unchanged.push_back(
        "other memory: the kernel reads it by pointers that are "
        "attributed to no buffer");
  if (O.Scalars != DrawnScalars::None)
    if (Error E = drawAllScalars())
      return E;
  // Last: they test less.
  for (size_t I = 0; I != Before.size(); ++I)
    if (!Types.IsRead[I] && isReachable(I))
      if (Error E = drawUnread(I))
        return E;
  if (Changed.empty() && Partly.empty()) {
    std::string Text = "no input of launch " + Plan.instance().DynamicHash +
                       " can be changed";
    for (const json::Value &Why : Unchanged)
      Text += (Text.back() == 'd' ? ": " : ", ") + Why.getAsString()->str();
    return createStringError(Text);
  }
  return write(Dir);
}

//===----------------------------------------------------------------------===//
// The parent
//===----------------------------------------------------------------------===//

static std::vector<std::string> getTexts(const json::Object &O, StringRef Key) {
  std::vector<std::string> Texts;
  if (const json::Array *A = O.getArray(Key))
    for (const json::Value &V : *A)
      Texts.push_back(V.getAsString().value_or("").str());
  return Texts;
}

Expected<PerturbedLaunch> mneme::writePerturbed(const ReplayPlan &Plan,
                                                StringRef Dir,
                                                const PerturbOptions &O) {
  ReplayOptions Options = Plan.options();
  Options.Poison = false;
  Options.Verify = false;
  Options.Untrusted = false;
  Options.Envelope.Replays = 0;
  Options.Compared = Baseline::None;
  Expected<std::unique_ptr<ReplayPlan>> Own = Plan.vary(std::move(Options));
  if (!Own)
    return Own.takeError();
  auto Body =
      [&](function_ref<void(ReplayStage)> Report) -> Expected<ReplayResult> {
    if (Error E = Perturber(**Own, O, Report).run(Dir))
      return std::move(E);
    return ReplayResult();
  };
  Expected<ReplayResult> R = runIsolated(**Own, Body);
  if (!R)
    return R.takeError();
  if (R->failed())
    return createStringError("the recorded code fails with other inputs of "
                             "launch " +
                             Plan.instance().DynamicHash + ": " + R->Error);
  Expected<std::unique_ptr<MemoryBuffer>> Notes =
      readFile(pathIn(Dir, NotesName));
  if (!Notes)
    return Notes.takeError();
  Expected<json::Value> V = parseJSON((*Notes)->getBuffer());
  if (!V)
    return V.takeError();
  Expected<std::vector<std::string>> Files = findKernelFiles(Dir);
  if (!Files)
    return Files.takeError();
  PerturbedLaunch L;
  L.File = Files->front();
  L.Changed = getTexts(*V->getAsObject(), "changed");
  L.Partly = getTexts(*V->getAsObject(), "partly");
  L.Unread = getTexts(*V->getAsObject(), "unread");
  L.Unchanged = getTexts(*V->getAsObject(), "unchanged");
  return std::move(L);
}
