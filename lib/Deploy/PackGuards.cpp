//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackGuards.h"
#include "BufferBounds.h"
#include "CodeGrade.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetOperations.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/Mneme/Deploy/CompileAhead.h"
#include "llvm/Mneme/Deploy/LaunchShape.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Transforms/Deployable.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// Eight bytes of an argument that point into recorded memory.
struct PointerWord {
  unsigned Arg, Offset;
  uint64_t Value;
  const SnapshotRegion *Buffer;
};

/// Derives the guards of one variant.
class GuardMaker {
public:
  GuardMaker(const ReplayPlan &Plan, const MeasuredWinner &Winner,
             const PackOptions &O, ArrayRef<MnemePackageArg> Args,
             PackagedVariant &V)
      : Plan(Plan), Winner(Winner), O(O), Args(Args), V(V), F(V.Fields),
        Recorded(Plan.instance()), M(Plan.cloneModule(Context)),
        Specialize(Plan.compiler().options().Specialize) {}

  Error run();

private:
  bool changesShape() const {
    return Plan.grid() != Recorded.Grid || Plan.block() != Recorded.Block;
  }
  bool changesShared() const { return Plan.sharedMem() != Recorded.SharedMem; }
  bool keepsThreads() const;

  Error chooseLaunch();
  void setFixed(uint32_t Grade);
  Error chooseCode();
  Error findOwnUse();
  Error describeCompiled();
  const TestedLaunch *getTests() const;
  const TestedArgument *findTested(unsigned Index) const;
  Error guardWords(unsigned Arg, StringRef Bytes,
                   const std::set<unsigned> &Pointers,
                   std::vector<PointerWord> &Found);
  Error guardBuffers();
  Error guardPlace(const PointerWord &P);
  void guardVariables();
  void guardMeasured();
  Error refuseUnguarded(const Twine &Why) const {
    return make_error<PackRefusal>(
        Basis + ", and " + Why +
        ": if it is right for all launches, pack it with " +
        (F.Code == MNEME_CODE_PROVEN ? "--launch-shape" : "--code") +
        "=unproven");
  }

  void add(uint16_t What, unsigned Index, uint64_t Low, uint64_t High,
           bool IsSoft = false);
  void addExact(uint16_t What, unsigned Index, uint64_t Value,
                bool IsSoft = false) {
    add(What, Index, Value, Value, IsSoft);
  }
  void addShape(bool IsSoft);

  const ReplayPlan &Plan;
  const MeasuredWinner &Winner;
  const PackOptions &O;
  ArrayRef<MnemePackageArg> Args;
  PackagedVariant &V;
  MnemePackageVariant &F;
  const RecordedInstance &Recorded;
  LLVMContext Context;
  std::unique_ptr<Module> M;
  const SpecializeOptions &Specialize;
  MemoryUse Use; ///< By another version and by the recorded code.
  /// What is known of code or a launch that is not proven, for a refusal.
  std::string Basis;
};
} // namespace

//===----------------------------------------------------------------------===//
// Guards
//===----------------------------------------------------------------------===//

/// A launch that a hard guard admits exactly needs no soft guard.
static void addGuard(PackagedVariant &V, uint16_t What, unsigned Index,
                     uint64_t Low, uint64_t High, bool IsSoft = false) {
  for (const PackagedGuard &G : V.Guards)
    if (G.Fields.What == What && G.Fields.Index == Index &&
        G.Fields.Low == Low && G.Fields.High == High)
      return;
  PackagedGuard &G = V.Guards.emplace_back();
  G.Fields.What = What;
  G.Fields.Test = MNEME_TEST_RANGE;
  G.Fields.Flags = IsSoft ? MNEME_GUARD_SOFT : 0;
  G.Fields.Index = Index;
  G.Fields.Low = Low;
  G.Fields.High = High;
}

void GuardMaker::add(uint16_t What, unsigned Index, uint64_t Low, uint64_t High,
                     bool IsSoft) {
  addGuard(V, What, Index, Low, High, IsSoft);
}

/// \param Begin  of \p Bytes in the argument.
static void addBytes(PackagedVariant &V, unsigned Arg, StringRef Bytes,
                     unsigned Begin = 0) {
  for (size_t At = 0; At != Bytes.size();) {
    unsigned Size = 8;
    while (Size > Bytes.size() - At)
      Size /= 2;
    char Raw[8] = {};
    llvm::copy(Bytes.substr(At, Size), Raw);
    uint64_t Value = support::endian::read64le(Raw);
    PackagedGuard &G = V.Guards.emplace_back();
    G.Fields.What = MNEME_GUARD_ARG;
    G.Fields.Test = MNEME_TEST_RANGE;
    G.Fields.Index = Arg;
    G.Fields.Offset = Begin + At;
    G.Fields.Size = Size;
    G.Fields.Low = G.Fields.High = Value;
    At += Size;
  }
}

void GuardMaker::addShape(bool IsSoft) {
  for (unsigned Axis = 0; Axis != 3; ++Axis)
    addExact(MNEME_GUARD_GRID, Axis, Recorded.Grid[Axis], IsSoft);
  for (unsigned Axis = 0; Axis != 3; ++Axis)
    addExact(MNEME_GUARD_BLOCK, Axis, Recorded.Block[Axis], IsSoft);
  addExact(MNEME_GUARD_SHARED, 0, Recorded.SharedMem, IsSoft);
}

/// The values of arguments that the code contains as constants.
static void addSpecializedArgs(const Function &Kernel,
                               const SpecializeOptions &S,
                               ArrayRef<MnemePackageArg> Args,
                               PackagedVariant &V) {
  for (auto [Index, Value] : S.Args) {
    const Argument *A = Kernel.getArg(Index);
    if (A->use_empty() || A->getPointeeInMemoryValueType())
      continue;
    char Raw[8];
    support::endian::write64le(Raw, Value);
    addBytes(V, Index, StringRef(Raw, Args[Index].Size));
  }
}

void mneme::addSpecialized(const Module &M, StringRef Kernel,
                           const SpecializeOptions &S, const WinnerLaunch &L,
                           ArrayRef<MnemePackageArg> Args, PackagedVariant &V) {
  addSpecializedArgs(*M.getFunction(Kernel), S, Args, V);
  if (!S.Block || !S.Grid)
    return;
  // If the launch is changed, the dimensions are those of the changed launch.
  const Dim3 &Grid = L.RecordedGrid, &Block = L.RecordedBlock;
  bool Changes = L.Grid != Grid || L.Block != Block;
  for (auto [Register, Axis] : findLaunchRegisters(M)) {
    bool IsIndex = Register == LaunchRegister::ThreadIndex ||
                   Register == LaunchRegister::BlockIndex;
    if (IsIndex ? !S.Ranges : !S.Constants)
      continue;
    bool IsBlock = Register == LaunchRegister::ThreadIndex ||
                   Register == LaunchRegister::BlockSize;
    if (Changes) {
      // The rule sets the block, so only the number of threads matters.
      if (IsBlock)
        continue;
      addGuard(V, MNEME_GUARD_GRID, Axis, Grid[Axis], Grid[Axis]);
      addGuard(V, MNEME_GUARD_BLOCK, Axis, Block[Axis], Block[Axis]);
    } else {
      uint16_t What = IsBlock ? MNEME_GUARD_BLOCK : MNEME_GUARD_GRID;
      uint32_t Size = IsBlock ? Block[Axis] : Grid[Axis];
      addGuard(V, What, Axis, IsIndex ? 1 : Size, Size);
    }
  }
}

static void addBufferGuard(PackagedVariant &V, uint16_t What,
                           const PointerWord &P, uint64_t Value,
                           const PointerWord *Other = nullptr) {
  PackagedGuard &G = V.Guards.emplace_back();
  G.Fields.What = What;
  G.Fields.Test = MNEME_TEST_RANGE;
  G.Fields.Index = P.Arg;
  G.Fields.Offset = P.Offset;
  G.Fields.Low = G.Fields.High = Value;
  if (Other) {
    G.Fields.Other = Other->Arg;
    G.Fields.Size = Other->Offset;
  }
}

static void addVariable(const SharedVariable &Variable, uint64_t Slot,
                        PackagedVariant &V) {
  PackagedGuard &G = V.Guards.emplace_back();
  G.Fields.What = MNEME_GUARD_VARIABLE;
  G.Fields.Test = MNEME_TEST_EQUAL;
  G.Fields.Low = Variable.Size;
  G.Fields.High = Slot;
  G.Name = Variable.Name;
}

static void addTested(PackagedVariant &V, const TestedArgument &T,
                      uint32_t Size) {
  PackagedGuard &G = V.Guards.emplace_back();
  G.Fields.What = MNEME_GUARD_ARG;
  G.Fields.Test = T.IsSigned ? MNEME_TEST_SIGNED : MNEME_TEST_RANGE;
  G.Fields.Index = T.Index;
  G.Fields.Size = Size;
  G.Fields.Low = T.Low;
  G.Fields.High = T.High;
}

/// Finds the words of an argument that point into recorded memory. Guards all
/// bytes that are read but those of \p Pointers: a number that looks like an
/// address, or is made one, has to keep its value. What a pointer to the end of
/// a buffer or in front of it reaches cannot be told.
Error GuardMaker::guardWords(unsigned Arg, StringRef Bytes,
                             const std::set<unsigned> &Pointers,
                             std::vector<PointerWord> &Found) {
  BitVector Guarded(Bytes.size(), true);
  if (auto It = Use.Read.find(Arg); It != Use.Read.end()) {
    Guarded.reset();
    for (unsigned Offset : It->second)
      if (Offset < Bytes.size())
        Guarded.set(Offset);
  }
  std::set<unsigned> Unknown;
  for (unsigned At : Pointers)
    if (Guarded.test(At) &&
        Bytes.substr(At, sizeof(uint64_t)).find_first_not_of('\0') !=
            StringRef::npos)
      Unknown.insert(At);
  for (unsigned At = 0; At + sizeof(uint64_t) <= Bytes.size();
       At += sizeof(uint64_t)) {
    uint64_t Word = support::endian::read64le(Bytes.data() + At);
    if (Guarded.find_first_in(At, At + sizeof(uint64_t)) < 0)
      continue;
    std::optional<size_t> Region = Plan.state().findRegionOf(Word);
    if (!Region)
      continue;
    Found.push_back({Arg, At, Word, &Plan.state().regions()[*Region].Info});
    Unknown.erase(At);
    if (Pointers.count(At))
      Guarded.reset(At, At + sizeof(uint64_t));
  }
  for (int Begin = Guarded.find_first(); Begin >= 0;) {
    int End = Guarded.find_next_unset(Begin);
    End = End < 0 ? Bytes.size() : End;
    addBytes(V, Arg, Bytes.slice(Begin, End), Begin);
    Begin = Guarded.find_next(End - 1);
  }
  if (Unknown.empty())
    return Error::success();
  return refuseUnguarded("the pointer in argument " + Twine(Arg) +
                         " is outside of the recorded buffers, so no guard "
                         "compares what it reaches");
}

/// Returns what launches that were made to test the code varied. Null if they
/// are too few to say something about the values between theirs, or had some
/// memory in common with the recorded one, or if other scalars made the code
/// slow.
const TestedLaunch *GuardMaker::getTests() const {
  constexpr unsigned MinTests = 8;
  auto Own = llvm::find_if(Winner.Tested, [&](const TestedLaunch &L) {
    return L.RecordId == Recorded.DynamicHash && L.Count >= MinTests &&
           !L.KeptMemory && !L.IsSlower;
  });
  return Own == Winner.Tested.end() ? nullptr : &*Own;
}

const TestedArgument *GuardMaker::findTested(unsigned Index) const {
  if (F.Code != MNEME_CODE_TESTED)
    return nullptr;
  for (const TestedArgument &T : getTests()->Arguments)
    if (T.Index == Index)
      return &T;
  return nullptr;
}

/// Admits launches like the recorded one: its shape, its scalars or the tested
/// ranges of these, and buffers of its sizes, at the same places in them, which
/// overlap as they did.
Error GuardMaker::guardBuffers() {
  StringRef Who = F.Code == MNEME_CODE_PROVEN ? "the kernel" : "one of them";
  if (Use.LoadsPointers)
    return refuseUnguarded(Who + " loads pointers from memory, whose buffers "
                                 "no guard compares");
  if (Use.ComputesWithVariables)
    return refuseUnguarded(Who + " computes with the address of a variable, "
                                 "which no guard compares");
  if (!Plan.state().handles().empty())
    return refuseUnguarded("no guard compares textures");
  addShape(/*IsSoft=*/false);
  addExact(MNEME_GUARD_COOPERATIVE, 0, Recorded.Cooperative);
  // The code has these values as constants, whatever the tests varied.
  std::set<unsigned> Constants;
  llvm::erase_if(V.Guards, [&](const PackagedGuard &G) {
    bool IsArg = G.Fields.What == MNEME_GUARD_ARG;
    if (IsArg)
      Constants.insert(G.Fields.Index);
    return IsArg;
  });
  std::vector<PointerWord> Words;
  for (auto [I, Bytes] : enumerate(Plan.state().args())) {
    const KernelArg &A = Plan.kernel().Args[I];
    bool IsPointer = A.Kind == MNEME_ARG_POINTER;
    const TestedArgument *Range = Constants.count(I) ? nullptr : findTested(I);
    if (Range && isPowerOf2_32(A.Size) && A.Size <= sizeof(uint64_t))
      addTested(V, *Range, A.Size);
    else if (!IsPointer || Use.Used.count(I))
      if (Error E = guardWords(
              I, Bytes, IsPointer ? std::set<unsigned>{0} : Use.Members[I],
              Words))
        return E;
  }
  for (auto [I, P] : enumerate(Words)) {
    if (Error E = guardPlace(P))
      return E;
    for (const PointerWord &Other : ArrayRef(Words).drop_front(I + 1))
      addBufferGuard(V, MNEME_GUARD_SAME_BUFFER, P, P.Buffer == Other.Buffer,
                     &Other);
  }
  guardVariables();
  return Error::success();
}

/// Admits pointers to the same place in such a buffer.
Error GuardMaker::guardPlace(const PointerWord &P) {
  if (Use.Numbers.count(P.Arg))
    return refuseUnguarded("the kernel computes with the address in argument " +
                           Twine(P.Arg) + ", which no guard compares");
  uint64_t Before = P.Value - P.Buffer->Address;
  addBufferGuard(V, MNEME_GUARD_BEFORE, P, Before);
  addBufferGuard(V, MNEME_GUARD_BEHIND, P, P.Buffer->Size - Before);
  addBufferGuard(V, MNEME_GUARD_ALIGNMENT, P, P.Value % MNEME_BUFFER_ALIGNMENT);
  if (Use.Written.count(P.Arg))
    addBufferGuard(V, MNEME_GUARD_OWN_PAGES, P, 1);
  if (Use.Variables.empty())
    return Error::success();
  // Which variable it is could not be told.
  if (P.Buffer->IsGlobal)
    return refuseUnguarded("argument " + Twine(P.Arg) +
                           " points to variable '" + P.Buffer->Name +
                           "', which no guard compares");
  addBufferGuard(V, MNEME_GUARD_IN_VARIABLE, P, 0);
  return Error::success();
}

/// Names the variables for MNEME_GUARD_IN_VARIABLE that only the recorded code
/// uses.
void GuardMaker::guardVariables() {
  if (Winner.OnHost)
    return;
  for (const auto &[Name, Size] : Use.Variables) {
    bool IsKnown = any_of(V.Guards, [&, Name = Name](const PackagedGuard &G) {
      return G.Fields.What == MNEME_GUARD_VARIABLE && G.Name == Name;
    });
    if (!IsKnown && Size)
      addVariable({Name, Size}, MNEME_VARIABLE_COPY, V);
  }
}

void GuardMaker::guardMeasured() {
  if (O.Scope == PackScope::Recorded)
    addShape(/*IsSoft=*/true);
  if (Winner.GPU.empty() || O.MatchesArch)
    return;
  PackagedGuard &G = V.Guards.emplace_back();
  G.Fields.What = MNEME_GUARD_DEVICE;
  G.Fields.Test = MNEME_TEST_EQUAL;
  G.Fields.Flags = MNEME_GUARD_SOFT;
  G.Name = Winner.GPU;
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

bool GuardMaker::keepsThreads() const {
  for (unsigned Axis = 0; Axis != 3; ++Axis)
    if (uint64_t(Plan.grid()[Axis]) * Plan.block()[Axis] !=
        uint64_t(Recorded.Grid[Axis]) * Recorded.Block[Axis])
      return false;
  return true;
}

void GuardMaker::setFixed(uint32_t Grade) {
  // Shared memory changes under exact guards only.
  bool Covers =
      Grade != MNEME_GRADE_VERIFIED && keepsThreads() && !changesShared();
  F.Grade = Grade;
  if (changesShared())
    F.DynamicShared = Plan.sharedMem();
  if (!changesShape())
    return;
  F.Launch = Covers ? MNEME_LAUNCH_COVER : MNEME_LAUNCH_FIXED;
  for (unsigned Axis = 0; Axis != 3; ++Axis) {
    F.Block[Axis] = Plan.block()[Axis];
    F.Grid[Axis] = Covers ? 0 : Plan.grid()[Axis];
  }
}

Expected<std::string> mneme::explainShapeDependence(const ReplayPlan &Plan) {
  if (Plan.instance().Cooperative)
    return "it is launched cooperatively";
  if (Plan.instance().Cluster != Dim3())
    return "it is launched with clusters of blocks";
  ChildLimits Limits;
  Limits.Seconds = Plan.options().Timeout;
  return runInChild(
      "the analysis of the kernel",
      [&]() -> Expected<std::string> {
        LLVMContext Context;
        std::unique_ptr<Module> M = Plan.cloneModule(Context);
        return findShapeDependence(*M, Plan.kernel().KernelName);
      },
      Limits);
}

Error GuardMaker::chooseLaunch() {
  F.DynamicShared = MNEME_SHARED_SAME;
  if (!changesShape() && !changesShared())
    return Error::success();
  std::string Why;
  if (changesShared())
    Why = "it changes the shared memory";
  else if (!keepsThreads())
    Why = "it changes the number of threads";
  else if (Error E = explainShapeDependence(Plan).moveInto(Why))
    return E;
  if (Why.empty()) {
    setFixed(MNEME_GRADE_PROVEN);
    // The proof is for fewer than 2^31 threads along each axis; other axes have
    // at most 65535 blocks.
    constexpr uint64_t MaxBlocks = 0x7fffffffu / MNEME_HOST_MAX_THREADS;
    add(MNEME_GUARD_GRID, 0, 1, MaxBlocks);
    return Error::success();
  }
  if (O.LaunchShape == MNEME_GRADE_PROVEN)
    return make_error<PackRefusal>(
        "another launch may give other results: " + Why +
        "; serve verified launches with --launch-shape=verified, or tune "
        "without changing the launch");
  setFixed(O.LaunchShape);
  return Error::success();
}

/// Returns the arguments through whose pointers the code of a plan leaves their
/// buffers.
static std::set<unsigned> findOutsideOf(const ReplayPlan &Plan) {
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  SpecializeOptions Launch;
  Launch.Kernel = Plan.kernel().KernelName;
  Launch.Grid = Plan.grid();
  Launch.Block = Plan.block();
  Launch.Ranges = true;
  for (auto [I, Bytes] : enumerate(Plan.state().args())) {
    if (Plan.kernel().Args[I].Kind != MNEME_ARG_VALUE || Bytes.size() > 8)
      continue;
    char Raw[8] = {};
    llvm::copy(Bytes, Raw);
    Launch.Args[I] = support::endian::read64le(Raw);
  }
  return findOutside(*M, Launch, findBufferPlaces(Plan));
}

/// Returns what a version depends on, unlike the recorded code, that no guard
/// compares.
static std::string findUnguardedUse(const ReplayPlan &Version,
                                    const ReplayPlan &Recorded,
                                    const MemoryUse &Use,
                                    const MemoryUse &OfRecorded) {
  for (const auto &[Name, Size] : Use.Variables)
    if (!OfRecorded.Variables.count(Name) &&
        none_of(Version.state().regions(),
                [Name = StringRef(Name)](const RecordedRegion &R) {
                  return R.Info.IsGlobal && R.Info.Name == Name;
                }))
      return "it uses the variable '" + Name + "', which was not recorded";
  std::set<unsigned> Outside = findOutsideOf(Version);
  set_subtract(Outside, findOutsideOf(Recorded));
  return Outside.empty()
             ? ""
             : formatv("it accesses memory outside of the buffer of argument "
                       "{0} by the pointer to it, at a distance that no guard "
                       "compares",
                       *Outside.begin())
                   .str();
}

/// Decides why code is correct that was not made from the recorded IR by passes
/// that keep its meaning.
Error GuardMaker::chooseCode() {
  const std::string Changed =
      findMeaningChange(Plan.compiler().options(), Plan.compiler().pipeline(),
                        !Plan.options().Plugins.empty());
  if (Plan.irDigest().empty() && Changed.empty())
    return Error::success();
  ReplayOptions Recorded = Plan.options();
  Recorded.Source.clear();
  Recorded.IRFile.clear();
  Expected<std::unique_ptr<ReplayPlan>> Own =
      Plan.vary(std::move(Recorded), /*WillCompile=*/false);
  if (!Own)
    return Own.takeError();
  constexpr StringLiteral IsSame = "same";
  ChildLimits Limits;
  Limits.Seconds = Plan.options().Timeout;
  Expected<std::string> Found = runInChild(
      "the analysis of the version",
      [&]() -> Expected<std::string> {
        LLVMContext Context, OwnContext;
        StringRef Kernel = Plan.kernel().KernelName;
        std::unique_ptr<Module> Version = Plan.cloneModule(Context);
        std::unique_ptr<Module> Recorded = (*Own)->cloneModule(OwnContext);
        if (Changed.empty() && (*Own)->hasIR() &&
            differInHintsOnly(*Version, *Recorded))
          return IsSame.str();
        MemoryUse Use = findMemoryUse(*Version, Kernel);
        if (!(*Own)->hasIR()) { // It may load any pointers.
          Use.LoadsPointers = true;
          return toText(Use);
        }
        MemoryUse OfRecorded = findMemoryUse(*Recorded, Kernel);
        Use.Unguarded = findUnguardedUse(Plan, **Own, Use, OfRecorded);
        Use.add(OfRecorded);
        return toText(Use);
      },
      Limits);
  if (!Found)
    return Found.takeError();
  if (*Found == IsSame)
    return Error::success();
  Basis = Changed.empty() ? "another source than the recorded one was verified "
                            "for the recorded launch only"
                          : Changed + " can change results for other data: the "
                                      "code was verified for the recorded "
                                      "launch only";
  if (Error E = parseMemoryUse(*Found).moveInto(Use))
    return E;
  uint32_t Grade = getTests() ? MNEME_CODE_TESTED : MNEME_CODE_VERIFIED;
  if (O.Code < Grade)
    return make_error<PackRefusal>(Basis + ": serve launches like it with "
                                           "--code=verified");
  F.Code = O.Code == MNEME_CODE_UNPROVEN ? O.Code : Grade;
  if (F.Code != MNEME_CODE_UNPROVEN && !Use.Unguarded.empty())
    return refuseUnguarded(Use.Unguarded);
  return Error::success();
}

/// Finds out what the recorded kernel does with memory.
Error GuardMaker::findOwnUse() {
  ChildLimits Limits;
  Limits.Seconds = Plan.options().Timeout;
  Expected<std::string> Found = runInChild(
      "the analysis of the kernel",
      [&]() -> Expected<std::string> {
        MemoryUse Own;
        Own.LoadsPointers = !Plan.hasIR();
        LLVMContext Context;
        if (Plan.hasIR())
          Own = findMemoryUse(*Plan.cloneModule(Context),
                              Plan.kernel().KernelName);
        return toText(Own);
      },
      Limits);
  if (!Found)
    return Found.takeError();
  return parseMemoryUse(*Found).moveInto(Use);
}

bool mneme::isPackageable(const Triple &T) {
  return T.isNVPTX() || T.isAMDGCN();
}

/// Adds what a kernel for AMD GPUs requires of its launches: the largest number
/// of threads in a block, or one shape of blocks.
static Error limitWorkGroup(const Function &Kernel, std::optional<Dim3> Block,
                            PackagedVariant &V) {
  Attribute A = Kernel.getFnAttribute("amdgpu-flat-work-group-size");
  uint64_t Most = 0;
  if (A.isValid()) {
    if (A.getValueAsString().split(',').second.trim().getAsInteger(10, Most) ||
        !Most)
      return createStringError("the kernel has the invalid attribute "
                               "amdgpu-flat-work-group-size=" +
                               A.getValueAsString());
    V.Fields.MaxThreads = std::min<uint64_t>(V.Fields.MaxThreads, Most);
  }
  const MDNode *Shape = Kernel.getMetadata("reqd_work_group_size");
  for (unsigned Axis = 0; Shape && Axis != Shape->getNumOperands(); ++Axis) {
    auto *N = mdconst::dyn_extract<ConstantInt>(Shape->getOperand(Axis));
    if (!N || Axis > 2)
      return createStringError(
          "the kernel has invalid metadata reqd_work_group_size");
    if (Block && N->getZExtValue() != (*Block)[Axis])
      return make_error<PackRefusal>("the kernel requires another block");
    if (V.Fields.Launch == MNEME_LAUNCH_SAME)
      addGuard(V, MNEME_GUARD_BLOCK, Axis, N->getZExtValue(),
               N->getZExtValue());
  }
  return Error::success();
}

/// The host device does not enforce attributes, but the code may rely on them.
Error mneme::limitThreads(const Function &Kernel, std::optional<Dim3> Block,
                          PackagedVariant &V) {
  MnemePackageVariant &F = V.Fields;
  F.MaxThreads = MNEME_HOST_MAX_THREADS;
  for (StringRef Name : {"nvvm.maxntid", "nvvm.reqntid"}) {
    Attribute A = Kernel.getFnAttribute(Name);
    if (!A.isValid())
      continue;
    uint64_t Threads = 1;
    SmallVector<StringRef, 3> Parts;
    A.getValueAsString().split(Parts, ',');
    for (auto [Axis, Part] : enumerate(Parts)) {
      uint64_t N = 0;
      if (Axis > 2 || Part.trim().getAsInteger(10, N) || !N)
        return createStringError("the kernel has the invalid attribute " +
                                 Name + "=" + A.getValueAsString());
      Threads *= N;
      if (Name == "nvvm.reqntid" && Block && N != (*Block)[Axis])
        return make_error<PackRefusal>("the kernel requires another block");
      if (Name == "nvvm.reqntid" && F.Launch == MNEME_LAUNCH_SAME)
        addGuard(V, MNEME_GUARD_BLOCK, Axis, N, N);
    }
    F.MaxThreads = std::min<uint64_t>(F.MaxThreads, Threads);
  }
  if (Error E = limitWorkGroup(Kernel, Block, V))
    return E;
  if (Block && Block->count() > F.MaxThreads)
    return make_error<PackRefusal>(
        formatv("a block has {0} threads, but the launch bounds of the kernel "
                "permit {1}",
                Block->count(), F.MaxThreads));
  return Error::success();
}

/// Preprocessing sets launch bounds, and finds the variables.
Error GuardMaker::describeCompiled() {
  LLVMContext Fresh;
  std::unique_ptr<Module> Compiled = Plan.cloneModule(Fresh);
  Plan.compiler().preprocess(*Compiled);
  if (Plan.options().Deployable && !Winner.OnHost)
    addVariables(*Compiled, V);
  return mneme::limitThreads(*Compiled->getFunction(Plan.kernel().KernelName),
                             Plan.block(), V);
}

void mneme::addVariables(const Module &M, PackagedVariant &V) {
  for (auto [Slot, Variable] : enumerate(getVariableSlots(M)))
    addVariable(Variable, Slot, V);
  for (const SharedVariable &Variable : getVariableCopies(M))
    addVariable(Variable, MNEME_VARIABLE_COPY, V);
}

Error GuardMaker::run() {
  if (Error E = chooseLaunch())
    return E;
  if (Error E = chooseCode())
    return E;
  F.Cooperative = Recorded.Cooperative;
  if (F.Code != MNEME_CODE_PROVEN && Recorded.Cluster != Dim3())
    for (unsigned Axis = 0; Axis != 3; ++Axis)
      addExact(MNEME_GUARD_CLUSTER, Axis, Recorded.Cluster[Axis]);
  if (Error E = describeCompiled())
    return E;
  addSpecialized(*M, Plan.kernel().KernelName, Specialize, getLaunch(Plan),
                 Args, V);
  if (F.Grade == MNEME_GRADE_VERIFIED && F.Code == MNEME_CODE_PROVEN) {
    Basis = "the changed launch was verified for launches like the recorded "
            "one only";
    if (Error E = findOwnUse())
      return E;
  }
  if (F.Code == MNEME_CODE_TESTED || F.Code == MNEME_CODE_VERIFIED ||
      F.Grade == MNEME_GRADE_VERIFIED) {
    if (Error E = guardBuffers())
      return E;
  } else if (F.Grade == MNEME_GRADE_UNPROVEN && F.Launch != MNEME_LAUNCH_COVER)
    addShape(/*IsSoft=*/false);
  guardMeasured();
  return Error::success();
}

WinnerLaunch mneme::getLaunch(const ReplayPlan &Plan) {
  return {Plan.compiler().options().Specialize.Args, Plan.grid(), Plan.block(),
          Plan.instance().Grid, Plan.instance().Block};
}

Error mneme::addGuards(const ReplayPlan &Plan, const MeasuredWinner &Winner,
                       const PackOptions &O, PackagedKernel &K) {
  return GuardMaker(Plan, Winner, O, K.Args, K.Variants.front()).run();
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

static bool isSoft(const PackagedGuard &G) {
  return G.Fields.Flags & MNEME_GUARD_SOFT;
}

/// Returns the guards without the soft ranges of the launch.
static PackagedVariant withoutShape(const PackagedVariant &V) {
  PackagedVariant Rest = V;
  llvm::erase_if(Rest.Guards, [](const PackagedGuard &G) {
    return isSoft(G) && G.Fields.What != MNEME_GUARD_DEVICE;
  });
  return Rest;
}

/// Returns the value of an argument if it is an integer.
static std::optional<int64_t> getInteger(const ReplayPlan &Plan,
                                         unsigned Index) {
  const KernelArg &A = Plan.kernel().Args[Index];
  StringRef Type = A.Type;
  unsigned Bits = 0;
  if (A.Kind != MNEME_ARG_VALUE || !Type.consume_front("i") ||
      Type.getAsInteger(10, Bits) || Bits != 8 * A.Size ||
      !is_contained({8u, 16u, 32u, 64u}, Bits))
    return std::nullopt;
  char Raw[8] = {};
  llvm::copy(Plan.state().args()[Index], Raw);
  return SignExtend64(support::endian::read64le(Raw), Bits);
}

/// Adds the range of argument \p Index in \p Own, if it is an integer that
/// differs in \p All.
static void addArgumentRange(ArrayRef<const ReplayPlan *> Own,
                             ArrayRef<const ReplayPlan *> All, unsigned Index,
                             PackagedVariant &V) {
  std::optional<int64_t> First = getInteger(*All.front(), Index);
  if (!First || all_of(All, [&](const ReplayPlan *Plan) {
        return getInteger(*Plan, Index) == First;
      }))
    return;
  int64_t Low = INT64_MAX, High = INT64_MIN;
  for (const ReplayPlan *Plan : Own) {
    Low = std::min(Low, *getInteger(*Plan, Index));
    High = std::max(High, *getInteger(*Plan, Index));
  }
  PackagedGuard &G = V.Guards.emplace_back();
  G.Fields.What = MNEME_GUARD_ARG;
  G.Fields.Test = MNEME_TEST_SIGNED;
  G.Fields.Flags = MNEME_GUARD_SOFT;
  G.Fields.Index = Index;
  G.Fields.Size = All.front()->kernel().Args[Index].Size;
  G.Fields.Low = Low;
  G.Fields.High = High;
}

void mneme::addOwnArguments(const ReplayPlan &Own,
                            ArrayRef<const ReplayPlan *> All,
                            const PackOptions &O, PackagedVariant &V) {
  if (O.Scope == PackScope::Kernel)
    return;
  for (unsigned I = 0; I != Own.kernel().Args.size(); ++I)
    if (none_of(V.Guards, [&](const PackagedGuard &G) {
          return G.Fields.What == MNEME_GUARD_ARG && G.Fields.Index == I;
        }))
      addArgumentRange(&Own, All, I, V);
}

void mneme::addBetween(ArrayRef<ServedLaunch> Launches, PackagedKernel &K) {
  const PackagedVariant &First = Launches.front().Variant;
  std::vector<ServedLaunch> Same;
  for (const ServedLaunch &L : Launches)
    if (isSameCode(First, L.Variant) &&
        servesSameLaunches(withoutShape(First), withoutShape(L.Variant)))
      Same.push_back(L);
  PackagedVariant Between = First;
  for (PackagedGuard &G : Between.Guards) {
    if (!isSoft(G) || G.Fields.What == MNEME_GUARD_DEVICE)
      continue;
    for (const ServedLaunch &L : Same)
      for (const PackagedGuard &Other : L.Variant.Guards)
        if (isSoft(Other) && Other.Fields.What == G.Fields.What &&
            Other.Fields.Index == G.Fields.Index) {
          G.Fields.Low = std::min(G.Fields.Low, Other.Fields.Low);
          G.Fields.High = std::max(G.Fields.High, Other.Fields.High);
        }
  }
  SmallVector<const ReplayPlan *> Plans;
  for (const ServedLaunch &L : Same)
    Plans.push_back(L.Plan);
  for (unsigned I = 0; I != K.Args.size(); ++I)
    addArgumentRange(Plans, Plans, I, Between);
  if (none_of(K.Variants, [&](const PackagedVariant &Known) {
        return servesSameLaunches(Known, Between);
      }))
    K.Variants.push_back(std::move(Between));
}

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

bool mneme::isSpecialized(const KernelConfig &C) {
  return C.Specialize || C.SpecializeDims || C.SpecializeRanges;
}

bool mneme::needsLaunch(const KernelConfig &C) {
  return isSpecialized(C) || (C.SetLaunchBounds && !C.MaxThreads);
}

CompileOptions mneme::makeCompileOptions(StringRef Kernel,
                                         const KernelConfig &C) {
  CompileOptions CO;
  static_cast<CompileConfig &>(CO) = C;
  CO.Kernel = Kernel.str();
  CO.Specialize.Kernel = Kernel.str();
  if (C.SetLaunchBounds) {
    CO.Specialize.MaxThreads = C.MaxThreads;
    CO.Specialize.MinBlocks = C.MinBlocks;
  }
  return CO;
}

/// Passes after which a kernel means something else.
static constexpr StringLiteral ChangingPasses[] = {"forceattrs", "internalize",
                                                   "lower-atomic"};

/// Options of LLVM that change rounding, or assume what the code does not say.
static constexpr StringLiteral ChangingOptions[] = {
    "amdgpu-link-time-closed-world",
    "amdgpu-use-native",
    "attributor-assume-closed-world",
    "da-disable-delinearization-checks",
    "denormal-fp-math",
    "denormal-fp-math-f32",
    "enable-double-float-shrink",
    "enable-no-infs-fp-math",
    "enable-no-nans-fp-math",
    "enable-no-signed-zeros-fp-math",
    "enable-unsafe-globalsmodref-alias-results",
    "force-attribute",
    "force-remove-attribute",
    "forceattrs-csv-path",
    "fp-contract",
    "freeze-loop-unswitch-cond",
    "hints-allow-reordering",
    "licm-force-thread-model-single",
    "limit-float-precision",
    "loop-flatten-assume-no-overflow",
    "matrix-allow-contract",
    "nvptx-approx-log2f32",
    "nvptx-fma-level",
    "nvptx-prec-divf32",
    "nvptx-prec-sqrtf32",
    "nvptx-rsqrt-approx-opt",
    "nvvm-reflect-add",
    "nvvm-reflect-enable",
    "whole-program-visibility",
};

/// Options of ptxas: contraction, and the order of atomic additions.
static constexpr StringLiteral ChangingPtxasOptions[] = {
    "fmad", "optimize-float-atomics", "opt-fp-atomics"};

std::string mneme::findMeaningChange(const CompileConfig &C, StringRef Pipeline,
                                     bool HasPlugins) {
  if (HasPlugins)
    return "a pass plugin";
  for (StringRef Pass : ChangingPasses)
    if (Pipeline.contains(Pass))
      return ("the pass '" + Pass + "'").str();
  for (const LLVMOption &O : C.LLVMOptions)
    if (is_contained(ChangingOptions, O.Name))
      return "-" + O.Name;
  if (!C.FPContract.empty())
    return "--fp-fusion=" + C.FPContract;
  for (StringRef Word : C.PtxasOptions)
    if (is_contained(ChangingPtxasOptions, Word.ltrim('-').split('=').first))
      return "--ptxas-options=" + Word.str();
  // Nothing is known about what a file controls.
  if (!C.PtxasControls.empty())
    return "--ptxas-controls";
  return "";
}

/// Mneme's own passes specialize code, initialize its memory, count or plant
/// faults. Its settings have those that a winner may need.
std::string mneme::findUnguardedPass(StringRef Pipeline, bool IsJudgedByApp) {
  constexpr StringLiteral Prefix = "mneme-";
  for (size_t At = Pipeline.find(Prefix); At != StringRef::npos;
       At = Pipeline.find(Prefix, At + 1)) {
    StringRef Pass = Pipeline.drop_front(At).take_while(
        [](char C) { return isAlnum(C) || C == '-'; });
    if (!IsJudgedByApp || Pass != "mneme-fault")
      return Pass.str();
  }
  return "";
}
