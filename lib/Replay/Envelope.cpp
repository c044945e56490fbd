//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Envelope.h"
#include "ElementTypes.h"
#include "MeasuredKernel.h"
#include "Variation.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

using namespace llvm;
using namespace llvm::mneme;

/// Launches after which a kernel that always verified does not vary.
static constexpr unsigned ProbeLaunches = 3;
/// The largest number and share of the last launches, which must verify under
/// the rules of those before.
static constexpr unsigned MaxConfirming = 5;
static constexpr double ConfirmingShare = 0.25;
/// Time after which no more than EnvelopeRule::MinReplays launches are made.
static constexpr double MaxEnvelopeSeconds = 20;
/// Limit of the outcomes that are kept.
static constexpr uint64_t MaxOutcomeBytes = uint64_t(1) << 30;
/// Counters are looked for in parts of at most this size.
static constexpr uint64_t MaxCounterBytes = 4096;

//===----------------------------------------------------------------------===//
// The rule
//===----------------------------------------------------------------------===//

Expected<EnvelopeRule> mneme::parseEnvelopeRule(StringRef Text) {
  EnvelopeRule R;
  if (Text == "auto")
    return R;
  if (Text == "off") {
    R.Replays = 0;
    return R;
  }
  unsigned Number = 0;
  if (Text.getAsInteger(10, Number) || Number < R.MinReplays ||
      Number > R.MaxReplays)
    return createStringError(
        formatv("invalid envelope '{0}': expected auto, off, or {1} to {2} "
                "replays",
                Text, R.MinReplays, R.MaxReplays)
            .str());
  R.Replays = Number;
  return R;
}

std::string mneme::printEnvelopeRule(const EnvelopeRule &R) {
  return R.isAuto() ? "auto" : R.isOff() ? "off" : utostr(*R.Replays);
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// By BufferVariation::KindTy.
static const char *const VariationNames[] = {"rounding", "order", "undecided",
                                             "constant"};

StringRef mneme::getVariationName(BufferVariation::KindTy K) {
  return VariationNames[K];
}

std::string BufferVariation::describeBuffer() const {
  std::string Text = "buffer " + utostr(Buffer);
  return Name.empty() ? Text : Text + " (" + Name + ")";
}

const BufferVariation *
EnvelopeSummary::find(BufferVariation::KindTy Kind) const {
  for (const BufferVariation &V : Buffers)
    if (V.Kind == Kind)
      return &V;
  return nullptr;
}

bool EnvelopeSummary::varies() const {
  return any_of(Buffers, [](const BufferVariation &V) {
    return V.Kind != BufferVariation::Constant;
  });
}

std::string EnvelopeSummary::describeSource() const {
  return formatCount(Replays, "replay") + " of the application's own code";
}

std::string EnvelopeSummary::describe() const {
  std::string Text = describeSource();
  Text += Buffers.empty() ? " left the recorded memory" : ": ";
  ListSeparator LS("; ");
  for (const BufferVariation &V : Buffers)
    Text += StringRef(LS).str() + V.describeBuffer() + ": " + V.Reason;
  return Limit.empty() ? Text : Text + " (" + Limit + ")";
}

json::Value mneme::toJSON(const EnvelopeSummary &S) {
  json::Array Buffers;
  for (const BufferVariation &V : S.Buffers)
    Buffers.push_back(
        json::Object{{"part", V.Part},
                     {"buffer", V.Buffer},
                     {"name", orNull(V.Name)},
                     {"kind", getVariationName(V.Kind)},
                     {"max_abs_error", V.MaxAbs},
                     {"max_ulp_error", V.MaxUlp},
                     {"record_size", V.RecordSize ? json::Value(V.RecordSize)
                                                  : json::Value(nullptr)},
                     {"ranges", V.Ranges},
                     {"reason", V.Reason}});
  return json::Object{{"replays", S.Replays},
                      {"confirming", S.Confirming},
                      {"limit", orNull(S.Limit)},
                      {"decided", !S.find(BufferVariation::Undecided)},
                      {"buffers", std::move(Buffers)}};
}

static bool fromJSON(const json::Value &V, BufferVariation &B, json::Path P) {
  json::ObjectMapper O(V, P);
  std::optional<std::string> Name;
  std::optional<uint32_t> RecordSize;
  std::string Kind;
  if (!O || !O.map("part", B.Part) || !O.map("buffer", B.Buffer) ||
      !O.map("name", Name) || !O.map("kind", Kind) ||
      !O.map("max_abs_error", B.MaxAbs) || !O.map("max_ulp_error", B.MaxUlp) ||
      !O.map("record_size", RecordSize) || !O.map("ranges", B.Ranges) ||
      !O.map("reason", B.Reason))
    return false;
  const char *const *It = llvm::find(VariationNames, Kind);
  if (It == std::end(VariationNames)) {
    P.field("kind").report("unknown value");
    return false;
  }
  B.Kind = static_cast<BufferVariation::KindTy>(It - VariationNames);
  B.Name = Name.value_or("");
  B.RecordSize = RecordSize.value_or(0);
  return true;
}

bool mneme::fromJSON(const json::Value &V, EnvelopeSummary &S, json::Path P) {
  json::ObjectMapper O(V, P);
  std::optional<std::string> Limit;
  if (!O || !O.map("replays", S.Replays) ||
      !O.map("confirming", S.Confirming) || !O.map("limit", Limit))
    return false;
  S.Limit = Limit.value_or("");
  const json::Array *Buffers = V.getAsObject()->getArray("buffers");
  if (!Buffers) {
    P.field("buffers").report("expected an array");
    return false;
  }
  S.Buffers.resize(Buffers->size());
  for (auto [I, One] : enumerate(*Buffers))
    if (!::fromJSON(One, S.Buffers[I], P.field("buffers").index(I)))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Between processes
//===----------------------------------------------------------------------===//

static json::Array rangesToJSON(ArrayRef<IndexRange> Ranges) {
  json::Array A;
  for (const IndexRange &R : Ranges) {
    A.push_back(R.Begin);
    A.push_back(R.End);
  }
  return A;
}

/// Reads ranges that are sorted and end at \p Limit at most.
static bool rangesFromJSON(const json::Object &O, StringRef Key, uint64_t Limit,
                           std::vector<IndexRange> &Ranges, json::Path P) {
  const json::Array *A = O.getArray(Key);
  uint64_t Last = 0;
  Ranges.clear();
  for (size_t I = 0; A && A->size() % 2 == 0 && I != A->size(); I += 2) {
    std::optional<uint64_t> Begin = (*A)[I].getAsUINT64();
    std::optional<uint64_t> End = (*A)[I + 1].getAsUINT64();
    if (!Begin || !End || *Begin < Last || *End < *Begin || *End > Limit)
      break;
    Ranges.push_back({*Begin, *End});
    Last = *End;
  }
  if (A && 2 * Ranges.size() == A->size())
    return true;
  P.field(Key).report("expected sorted ranges");
  return false;
}

json::Value mneme::toJSON(const Envelope &E) {
  json::Array Parts, Unordered, Indices;
  for (const ComparePart &P : E.Plan.Parts)
    Parts.push_back(json::Object{{"dtype", P.Rule.DType},
                                 {"tolerance", P.Rule.Tolerance},
                                 {"norm", P.Rule.Norm},
                                 {"value", P.Rule.Value},
                                 {"measured", P.Rule.Measured},
                                 {"skipped", rangesToJSON(P.Skipped)}});
  for (const UnorderedRecords &R : E.Plan.Unordered) {
    json::Array Columns;
    for (const UnorderedRecords::Column &C : R.Columns)
      Columns.push_back(json::Object{
          {"part", C.Part}, {"offset", C.Offset}, {"size", C.Size}});
    json::Object O{{"columns", std::move(Columns)},
                   {"ranges", rangesToJSON(R.Ranges)},
                   {"found", R.IsFound}};
    if (R.Counter)
      O["counter"] = json::Object{{"part", R.Counter->Part},
                                  {"offset", R.Counter->Offset},
                                  {"size", R.Counter->Size}};
    Unordered.push_back(std::move(O));
  }
  for (const RecordIndices &I : E.Plan.Indices)
    Indices.push_back(json::Object{{"part", I.Part},
                                   {"size", I.Size},
                                   {"ranges", rangesToJSON(I.Ranges)},
                                   {"records", I.Records}});
  return json::Object{{"parts", std::move(Parts)},
                      {"unordered", std::move(Unordered)},
                      {"indices", std::move(Indices)},
                      {"summary", toJSON(E.Summary)}};
}

namespace {
/// Reads an envelope and checks each number that is used as an index: the
/// sender ran a kernel, which may have overwritten its memory.
class EnvelopeReader {
public:
  EnvelopeReader(const json::Object &O, ComparePlan &Plan) : O(O), Plan(Plan) {}

  bool read(json::Path P);

private:
  const json::Object &O;
  ComparePlan &Plan;

  bool refuse(json::Path P, StringLiteral Why) {
    P.report(Why);
    return false;
  }
  bool readParts(json::Path P);
  bool readRecords(const json::Value &V, UnorderedRecords &R, json::Path P);
  bool readIndices(const json::Value &V, RecordIndices &I, json::Path P);
};
} // namespace

bool EnvelopeReader::readParts(json::Path P) {
  const json::Array *A = O.getArray("parts");
  if (!A || A->size() != Plan.Parts.size())
    return refuse(P, "expected one element per part");
  for (auto [I, V] : enumerate(*A)) {
    ComparePart &Part = Plan.Parts[I];
    json::ObjectMapper M(V, P.index(I));
    if (!M || !M.map("dtype", Part.Rule.DType) ||
        !M.map("tolerance", Part.Rule.Tolerance) ||
        !M.map("norm", Part.Rule.Norm) || !M.map("value", Part.Rule.Value) ||
        !M.map("measured", Part.Rule.Measured) ||
        !rangesFromJSON(*V.getAsObject(), "skipped", Part.Size, Part.Skipped,
                        P.index(I)))
      return false;
    if (Part.Rule.DType > MNEME_DTYPE_U64 ||
        Part.Rule.Tolerance > MNEME_TOLERANCE_ULP ||
        Part.Rule.Norm > MNEME_NORM_LINF)
      return refuse(P.index(I), "expected a rule");
  }
  return true;
}

bool EnvelopeReader::readRecords(const json::Value &V, UnorderedRecords &R,
                                 json::Path P) {
  const json::Object *Records = V.getAsObject();
  const json::Array *Columns = Records ? Records->getArray("columns") : nullptr;
  if (!Columns || Columns->empty())
    return refuse(P, "expected columns");
  uint64_t Count = UINT64_MAX;
  for (const json::Value &One : *Columns) {
    UnorderedRecords::Column C;
    json::ObjectMapper M(One, P.field("columns"));
    if (!M || !M.map("part", C.Part) || !M.map("offset", C.Offset) ||
        !M.map("size", C.Size))
      return false;
    if (C.Part >= Plan.Parts.size() || C.Size == 0 ||
        C.Offset > Plan.Parts[C.Part].Size)
      return refuse(P.field("columns"), "expected records in a part");
    Count = std::min(Count, (Plan.Parts[C.Part].Size - C.Offset) / C.Size);
    R.Columns.push_back(C);
  }
  R.IsFound = Records->getBoolean("found").value_or(false);
  if (const json::Value *Counter = Records->get("counter")) {
    UnorderedRecords::CounterPlace &C = R.Counter.emplace();
    json::ObjectMapper M(*Counter, P.field("counter"));
    if (!M || !M.map("part", C.Part) || !M.map("offset", C.Offset) ||
        !M.map("size", C.Size))
      return false;
    if (C.Part >= Plan.Parts.size() || (C.Size != 4 && C.Size != 8) ||
        C.Offset > Plan.Parts[C.Part].Size ||
        Plan.Parts[C.Part].Size - C.Offset < C.Size)
      return refuse(P.field("counter"), "expected a number in a part");
  }
  return rangesFromJSON(*Records, "ranges", Count, R.Ranges, P);
}

bool EnvelopeReader::readIndices(const json::Value &V, RecordIndices &I,
                                 json::Path P) {
  json::ObjectMapper M(V, P);
  if (!M || !M.map("part", I.Part) || !M.map("size", I.Size) ||
      !M.map("records", I.Records))
    return false;
  if (I.Part >= Plan.Parts.size() || (I.Size != 4 && I.Size != 8) ||
      I.Records >= Plan.Unordered.size())
    return refuse(P, "expected indices in a part");
  return rangesFromJSON(*V.getAsObject(), "ranges",
                        Plan.Parts[I.Part].Size / I.Size, I.Ranges, P);
}

bool EnvelopeReader::read(json::Path P) {
  const json::Array *Unordered = O.getArray("unordered");
  const json::Array *Indices = O.getArray("indices");
  if (!Unordered || !Indices)
    return refuse(P, "expected lists of records and indices");
  if (!readParts(P.field("parts")))
    return false;
  Plan.Unordered.resize(Unordered->size());
  for (auto [I, V] : enumerate(*Unordered)) {
    Plan.Unordered[I] = UnorderedRecords();
    if (!readRecords(V, Plan.Unordered[I], P.field("unordered").index(I)))
      return false;
  }
  Plan.Indices.resize(Indices->size());
  for (auto [I, V] : enumerate(*Indices))
    if (!readIndices(V, Plan.Indices[I], P.field("indices").index(I)))
      return false;
  return true;
}

bool mneme::fromJSON(const json::Value &V, const ComparePlan &Plan, Envelope &E,
                     json::Path P) {
  const json::Object *O = V.getAsObject();
  if (!O || !O->get("summary")) {
    P.report("expected an envelope");
    return false;
  }
  E.Plan = Plan;
  return EnvelopeReader(*O, E.Plan).read(P) &&
         fromJSON(*O->get("summary"), E.Summary, P.field("summary"));
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

namespace {
class EnvelopeMeter {
public:
  EnvelopeMeter(const ReplayPlan &Plan, Device &D, Replayer &Memory,
                function_ref<void(ReplayStage)> Report)
      : Plan(Plan), D(D), Memory(Memory), Report(Report),
        Outcomes(Plan.comparison().Parts.size()) {}

  Expected<std::shared_ptr<const Envelope>> run(bool OnlyIfVaries);

private:
  const ReplayPlan &Plan;
  Device &D;
  Replayer &Memory;
  function_ref<void(ReplayStage)> Report;
  std::unique_ptr<ReplayPlan> Own; ///< The recorded kernel.
  std::unique_ptr<DeviceKernel> Kernel;
  uint64_t MoreShared = 0; ///< GPUs: dynamic shared memory to limit occupancy.
  bool Probes = false;     ///< No launch has shown yet that results vary.
  bool IsOrdered = false;  ///< The launch fails in another order of blocks.

  /// The contents of a part after each launch; empty if equal to the recorded
  /// outcome.
  struct PartHistory {
    std::vector<std::vector<char>> Contents;
    bool Fails = false; ///< At least one launch did not verify.
  };
  std::vector<PartHistory> Outcomes; ///< By part.
  uint64_t OutcomeBytes = 0;
  unsigned NumLaunches = 0, NumConfirming = MaxConfirming;
  double LaunchSeconds = 0;
  std::string Limit;

  Error compile();
  LaunchConfig makeLaunch(unsigned Number) const;
  Error launch();
  Expected<bool> noteOutcome(const ComparePlan &Rules);
  unsigned chooseReplays() const;
  Expected<std::vector<CounterCandidate>> findCounters() const;
  Expected<Envelope> explain() const;
  bool agree() const;
  Expected<bool> collect(bool OnlyIfVaries);
  Expected<bool> confirm(Envelope &E);
};
} // namespace

/// Returns true if the kernel can read the size of its shared memory, which
/// then must be the recorded one.
static bool readsSharedSize(const Module &M) {
  return any_of(M.functions(), [](const Function &F) {
    return F.getName().contains("smem_size");
  });
}

Error EnvelopeMeter::compile() {
  Report(ReplayStage::Envelope);
  ReplayOptions O = getBaselineOptions(Plan.options());
  // The candidates' schedule determines the code that the host device runs.
  if (Plan.schedule().Order == HostSchedule::Random)
    O.HostSchedule = Plan.options().HostSchedule;
  O.LaunchTimeout = Plan.options().LaunchTimeout;
  if (Error E = Plan.vary(std::move(O)).moveInto(Own))
    return E;
  Expected<CompiledKernel> Code =
      compileVariant(*Own, D.asGPU() ? CodeTarget::GPU : CodeTarget::Host,
                     [&](ReplayStage) { Report(ReplayStage::Envelope); });
  if (!Code)
    return Code.takeError();
  if (Code->failed())
    return createStringError(Code->Error);
  LLVMContext Context;
  if (GPUDevice *GPU = D.asGPU();
      GPU && !readsSharedSize(*Own->cloneModule(Context))) {
    uint64_t Static = Code->Resources ? Code->Resources->Shared.value_or(0) : 0;
    uint64_t Used = Own->sharedMem() + Static;
    MoreShared = GPU->info().SharedPerBlock > Used
                     ? GPU->info().SharedPerBlock - Used
                     : 0;
  }
  return D.load(Code->Image, Own->globals()).moveInto(Kernel);
}

/// The first launches are those of a candidate. The others differ in the order
/// of the blocks, on a GPU by the number of resident blocks.
LaunchConfig EnvelopeMeter::makeLaunch(unsigned Number) const {
  LaunchConfig Config = Own->launch();
  Config.Schedule = Plan.schedule();
  if (Number == 0 || Probes || IsOrdered)
    return Config;
  if (!D.asGPU()) {
    // Code for random schedules also varies the order of threads.
    Config.Schedule = {Plan.schedule().Order == HostSchedule::Random
                           ? HostSchedule::Random
                           : HostSchedule::Shuffled,
                       Number};
    return Config;
  }
  // All blocks that fit; an eighth of the memory for each; ...; one at a time.
  static constexpr unsigned Eighths[] = {0, 1, 2, 4, 8};
  if (!Config.Cooperative)
    Config.DynamicShared += MoreShared / 8 * Eighths[Number % 5];
  return Config;
}

Error EnvelopeMeter::launch() {
  while (true) {
    LaunchConfig Config = makeLaunch(NumLaunches);
    Report(ReplayStage::Envelope);
    if (Error E = Memory.restore())
      return E;
    auto Begin = std::chrono::steady_clock::now();
    Expected<LaunchOutcome> Outcome = Memory.launch(*Kernel, Config);
    if (!Outcome)
      return Outcome.takeError();
    LaunchSeconds = std::max(LaunchSeconds, secondsSince(Begin));
    if (Outcome->Status == LaunchStatus::Ok) {
      ++NumLaunches;
      return Error::success();
    }
    Memory.markAllDirty();
    std::string Why = getLaunchStatusName(Outcome->Status).str();
    if (!Outcome->Message.empty())
      Why += ": " + Outcome->Message;
    if (NumLaunches == 0 || IsOrdered)
      return createStringError("the recorded code cannot be replayed (" + Why +
                               ")");
    IsOrdered = true;
    Limit = "in one order of blocks, as the recorded code fails in another (" +
            Why + ")";
  }
}

/// Keeps the contents of all parts that differ from the recorded outcome.
/// \returns whether the launch verifies.
Expected<bool> EnvelopeMeter::noteOutcome(const ComparePlan &Rules) {
  Report(ReplayStage::Envelope);
  Expected<MemoryComparison> C = Memory.compare(Rules);
  if (!C)
    return C.takeError();
  if (C->Stray)
    return createStringError("the recorded code writes memory that belongs to "
                             "no buffer");
  bool IsRight = true;
  for (auto [H, B] : zip_equal(Outcomes, C->Buffers)) {
    H.Fails |= !B.Stats.Pass;
    IsRight &= B.Stats.Pass;
    std::vector<char> &Contents = H.Contents.emplace_back();
    if (B.Stats.isIdentical() && B.Stats.Pass)
      continue;
    Contents.resize(B.Size);
    OutcomeBytes += B.Size;
    if (Error E = D.read(B.Address, Contents))
      return std::move(E);
  }
  return IsRight;
}

/// Returns the wanted number of launches, or fewer of long or large ones.
unsigned EnvelopeMeter::chooseReplays() const {
  unsigned Wanted = Plan.options().Envelope.replays();
  double InTime =
      LaunchSeconds > 0 ? MaxEnvelopeSeconds / LaunchSeconds : Wanted;
  uint64_t PerLaunch = NumLaunches ? OutcomeBytes / NumLaunches : 0;
  double InMemory = PerLaunch ? double(MaxOutcomeBytes) / PerLaunch : Wanted;
  double Most = std::max<double>(EnvelopeRule::MinReplays,
                                 std::min({double(Wanted), InTime, InMemory}));
  return std::min<double>(Wanted, Most);
}

/// Returns the numbers in small buffers that the launch changed.
Expected<std::vector<CounterCandidate>> EnvelopeMeter::findCounters() const {
  std::vector<CounterCandidate> Counters;
  const RecordedState &State = Plan.state();
  for (auto [Part, P] : enumerate(Plan.comparison().Parts)) {
    bool Differs = any_of(Outcomes[Part].Contents,
                          [](const auto &One) { return !One.empty(); });
    if (P.Size > MaxCounterBytes || Differs)
      continue;
    uint64_t Address = State.regions()[P.Region].Info.Address + P.Offset;
    uint64_t End = Address + P.Size;
    bool IsChanged = any_of(State.changed(), [&](const SnapshotData &Data) {
      return Data.Address < End && Address < Data.Address + Data.RawSize;
    });
    if (!IsChanged)
      continue;
    std::vector<char> Contents(P.Size);
    if (Error E = D.read(Address, Contents))
      return std::move(E);
    for (uint64_t At = 0; At + 4 <= P.Size; At += 4)
      if (uint32_t Value = support::endian::read32le(&Contents[At]))
        Counters.push_back({{Part, At, 4}, Value});
  }
  return Counters;
}

Expected<Envelope> EnvelopeMeter::explain() const {
  ElementTypes Types = inferElementTypes(Plan);
  Envelope E;
  E.Plan = Plan.comparison();
  ArrayRef<RecordedRegion> Regions = Plan.state().regions();
  // The recorded outcome, and those of the launches.
  std::vector<std::vector<char>> Recorded(Outcomes.size());
  std::vector<PartOutcomes> Parts(Outcomes.size());
  for (auto [I, H] : enumerate(Outcomes)) {
    const ComparePart &P = E.Plan.Parts[I];
    PartOutcomes &O = Parts[I];
    O.Buffer = Regions[P.Region].Info.Id;
    if (!H.Fails)
      continue;
    O.DType = P.Rule.DType != MNEME_DTYPE_BYTES ? P.Rule.DType
                                                : Types.OfRegion[P.Region];
    O.Stride = Types.StrideOfRegion[P.Region];
    // A GPU runs the application's code. The host device runs CPU code, which
    // is made from optimized IR here and from unoptimized IR while recording.
    O.MayRound = !D.asGPU() && !Types.Rounding.empty();
    auto Contents = Memory.readOutcomes(P.Region);
    if (!Contents)
      return Contents.takeError();
    Recorded[I].assign(Contents->first.begin() + P.Offset,
                       Contents->first.begin() + P.Offset + P.Size);
    O.All.push_back(Recorded[I]);
    for (const std::vector<char> &One : H.Contents)
      O.All.push_back(One.empty() ? Recorded[I] : One);
  }
  Expected<std::vector<CounterCandidate>> Counters = findCounters();
  if (!Counters)
    return Counters.takeError();
  explainOutcomes(E.Plan, Parts, *Counters, E.Summary.Buffers);
  for (BufferVariation &V : E.Summary.Buffers)
    V.Name = E.Plan.Parts[V.Part].Name;
  E.Summary.Replays = NumLaunches;
  E.Summary.Limit = Limit;
  return std::move(E);
}

/// Returns true if all launches left the same memory.
bool EnvelopeMeter::agree() const {
  return all_of(Outcomes, [](const PartHistory &H) {
    return all_of(H.Contents,
                  [&](const auto &One) { return One == H.Contents.front(); });
  });
}

/// Launches until the number of outcomes suffices for rules.
/// \returns false if a kernel that should vary does not.
Expected<bool> EnvelopeMeter::collect(bool OnlyIfVaries) {
  unsigned Wanted = Plan.options().Envelope.replays();
  Probes = OnlyIfVaries;
  do {
    if (Error E = launch())
      return std::move(E);
    Expected<bool> IsRight = noteOutcome(Plan.comparison());
    if (!IsRight)
      return IsRight.takeError();
    Probes &= *IsRight;
    if (Probes && NumLaunches == ProbeLaunches)
      return false;
    Wanted = chooseReplays();
    NumConfirming =
        std::clamp<unsigned>(Wanted * ConfirmingShare, 2, MaxConfirming);
    // Results that are always wrong do not vary.
    if (NumLaunches == 2 * ProbeLaunches && agree()) {
      NumConfirming = 2;
      return true;
    }
  } while (NumLaunches + NumConfirming < Wanted);
  if (Wanted < Plan.options().Envelope.replays() && Limit.empty())
    Limit = "fewer, as they take long or much memory";
  return true;
}

/// Launches until a launch contradicts the rules or enough confirm them.
/// \returns whether they are confirmed.
Expected<bool> EnvelopeMeter::confirm(Envelope &E) {
  BitVector Undecided(E.Plan.Parts.size());
  for (const BufferVariation &V : E.Summary.Buffers)
    if (V.Kind == BufferVariation::Undecided ||
        V.Kind == BufferVariation::Constant)
      Undecided.set(V.Part);
  for (E.Summary.Confirming = 0; E.Summary.Confirming != NumConfirming;
       ++E.Summary.Confirming) {
    if (Error Failed = launch())
      return std::move(Failed);
    E.Summary.Replays = NumLaunches;
    Expected<MemoryComparison> C = Memory.compare(E.Plan);
    if (!C)
      return C.takeError();
    Expected<bool> IsRecorded = noteOutcome(Plan.comparison());
    if (!IsRecorded)
      return IsRecorded.takeError();
    bool IsPredicted = true;
    for (auto [Part, B] : enumerate(C->Buffers))
      IsPredicted &= B.Stats.Pass || Undecided.test(Part);
    if (!IsPredicted)
      return false;
  }
  return true;
}

Expected<std::shared_ptr<const Envelope>>
EnvelopeMeter::run(bool OnlyIfVaries) {
  if (Error E = compile())
    return std::move(E);
  Expected<bool> Goes = collect(OnlyIfVaries);
  if (!Goes)
    return Goes.takeError();
  if (!*Goes)
    return nullptr;
  const unsigned Most = 2 * (NumLaunches + NumConfirming);
  while (true) {
    Expected<Envelope> E = explain();
    if (!E)
      return E.takeError();
    Expected<bool> IsConfirmed = confirm(*E);
    if (!IsConfirmed)
      return IsConfirmed.takeError();
    if (!*IsConfirmed && NumLaunches < Most)
      continue;
    // A constant result that changes in the end is one that varies.
    if (!*IsConfirmed)
      for (BufferVariation &V : E->Summary.Buffers) {
        V.Kind = BufferVariation::Undecided;
        V.Reason = formatv("each of {0} replays still left results that those "
                           "before it do not explain",
                           NumLaunches)
                       .str();
      }
    return std::make_shared<const Envelope>(std::move(*E));
  }
}

Expected<std::shared_ptr<const Envelope>>
mneme::measureEnvelope(const ReplayPlan &Plan, Device &D, Replayer &Memory,
                       bool OnlyIfVaries,
                       function_ref<void(ReplayStage)> Report) {
  return EnvelopeMeter(Plan, D, Memory, Report).run(OnlyIfVaries);
}
