//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Landscapes.h"
#include "../Study/StudyBuilder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/Digest.h"
#include <cmath>
#include <limits>
#include <map>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

namespace {
/// Values by name.
struct Get {
  const StringMap<Value> &V;
  int64_t integer(StringRef Name) const {
    return std::get<int64_t>(V.at(Name));
  }
  bool boolean(StringRef Name) const { return std::get<bool>(V.at(Name)); }
  StringRef text(StringRef Name) const {
    return std::get<std::string>(V.at(Name));
  }
};
} // namespace

/// 1 and up to \p Part more: what nobody can explain, the same for equal
/// numbers.
static double ruggedness(double Part, ArrayRef<double> Numbers) {
  StringRef Bytes(reinterpret_cast<const char *>(Numbers.data()),
                  Numbers.size() * sizeof(double));
  return 1 + Part * static_cast<double>(digest64(Bytes) >> 11) * 0x1p-53;
}

static double ceilDiv(double A, double B) { return std::ceil(A / B); }

static Landscape
make(StringRef Name, StringRef Description, StudyBuilder B,
     std::function<Outcome(const StringMap<Value> &)> Evaluate) {
  B.S.Name = Name.str();
  std::vector<Direction> Directions;
  for (const Objective &O : B.S.Objectives)
    Directions.push_back(O.Dir);
  return {Name.str(), Description.str(),
          cantFail(SearchSpace::create(B.S, makeFacts())), Directions,
          std::move(Evaluate), std::nullopt};
}

/// Warps that a multiprocessor of 64 holds at once.
static double residentWarps(double Threads, double Registers, double Shared) {
  double Warps = ceilDiv(Threads, 32);
  double Blocks = std::min({32.0, std::floor(64 / Warps),
                            std::floor(65536 / (Registers * Warps * 32)),
                            std::floor(102400 / (Shared + 1024))});
  return Blocks * Warps;
}

//===----------------------------------------------------------------------===//
// Landscapes
//===----------------------------------------------------------------------===//

static Landscape makeStencil() {
  StudyBuilder B;
  B.range("block.x", "16", "256", "16")
      .choice("block.y", {"1", "2", "4", "8", "16"})
      .range("tile.x", "1", "4")
      .range("tile.y", "1", "4")
      .boolean("shared")
      .boolean("pad")
      .require("block.x * block.y >= 32 && block.x * block.y <= 1024")
      .require("shared || !pad");
  return make(
      "stencil", "blocks and tiles; occupancy has cliffs, large tiles fail", B,
      [](const StringMap<Value> &V) -> Outcome {
        Get G{V};
        double X = G.integer("block.x"), Y = G.integer("block.y");
        double TX = G.integer("tile.x"), TY = G.integer("tile.y");
        bool Shared = G.boolean("shared"), Pad = G.boolean("pad");
        double Registers = 22 + 9 * TX * TY + (Shared ? 4 : 10);
        double Bytes = Shared ? (X * TX + 8 + Pad) * (Y * TY + 8) * 4 : 0;
        double Warps = residentWarps(X * Y, Registers, Bytes);
        if (Warps == 0)
          return {};
        // A tile's halo is read by its neighbours, too.
        double Area = X * TX * Y * TY;
        double Halo = (X * TX + 8) * (Y * TY + 8) / Area;
        double Memory = Shared ? Halo : 1 + 3 * (Halo - 1) + 1.2 / (TX * TY);
        double Conflicts = Shared && !Pad && int(X * TX) % 32 == 0 ? 1.45 : 1;
        double Coalesced = int(X) % 32 ? 1.3 : 1;
        double Hidden = 1 + 4 * std::exp(-Warps / 9);
        double Blocks = ceilDiv(4096, X * TX) * ceilDiv(4096, Y * TY);
        double AtOnce = 108 * Warps / ceilDiv(X * Y, 32);
        double Tail = ceilDiv(Blocks, AtOnce) / (Blocks / AtOnce);
        double Time = 100 * Memory * Conflicts * Coalesced * Hidden *
                      std::min(Tail, 3.0) * (1 + 0.25 / (TX * TY));
        return {{Time * ruggedness(0.01, {X, Y, TX, TY, double(Shared)})}, ""};
      });
}

static Landscape makeGemm() {
  StudyBuilder B;
  B.range("m", "16", "128").log();
  B.range("n", "16", "128").log();
  B.range("k", "8", "64").log();
  B.range("threads.m", "4", "32").log();
  B.range("threads.n", "4", "32").log();
  B.range("vector", "1", "8").log();
  B.boolean("double_buffer")
      .require("m % threads.m == 0 && n % threads.n == 0")
      .require("threads.m * threads.n >= 32 && threads.m * threads.n <= 1024")
      .require("m / threads.m * (n / threads.n) <= 128", "too many registers")
      .require("m % vector == 0 && n % vector == 0");
  return make(
      "gemm", "tiles of a matrix product; few sizes fit together", B,
      [](const StringMap<Value> &V) -> Outcome {
        Get G{V};
        double M = G.integer("m"), N = G.integer("n"), K = G.integer("k");
        double TM = G.integer("threads.m"), TN = G.integer("threads.n");
        double Vector = G.integer("vector");
        bool Twice = G.boolean("double_buffer");
        double Work = M / TM * (N / TN);
        double Registers = 24 + Work + (M / TM + N / TN) * (Twice ? 2 : 1);
        double Bytes = (M + N) * K * 4 * (Twice ? 2 : 1);
        double Warps =
            residentWarps(TM * TN, std::min(Registers, 255.0), Bytes);
        if (Warps == 0 || Bytes > 65536)
          return {};
        double Spills = Registers > 168 ? 1 + (Registers - 168) / 24 : 1;
        double Loads = 1 / M + 1 / N;
        double Narrow = std::fabs(std::log2(Vector / 4));
        double Memory = 30 * Loads * (1 + 0.5 * Narrow);
        double FromShared = 1.6 * (TM / M + TN / N);
        double Compute = 1 + 0.15 * std::fabs(std::log2(K / 16)) +
                         (Work < 16 ? 0.8 : 0);
        double Hidden = 1 + 3 * std::exp(-Warps * (Twice ? 1.6 : 1) / 8);
        double Time = (Memory + FromShared + Compute) * Hidden * Spills * 80;
        return {{Time * ruggedness(
                            0.01, {M, N, K, TM, TN, Vector, double(Twice)})},
                ""};
      });
}

static Landscape makeLaunch() {
  StudyBuilder B;
  B.range("block", "32", "1024", "32")
      .range("items", "1", "16")
      .range("min_blocks", "0", "8")
      .boolean("specialize")
      .require("block * min_blocks <= 2048");
  return make("launch",
              "block size and items of a thread; the last wave may be empty", B,
              [](const StringMap<Value> &V) -> Outcome {
                Get G{V};
                double Block = G.integer("block"), Items = G.integer("items");
                double Min = G.integer("min_blocks");
                bool Special = G.boolean("specialize");
                double Wanted = 30 + 5 * Items - (Special ? 8 : 0);
                double Limit = Min == 0 ? 255 : 65536 / (Min * Block);
                double Registers = std::min(Wanted, Limit);
                double Warps = residentWarps(Block, Registers, 0);
                if (Warps == 0)
                  return {};
                double Spills = 1 + (Wanted - Registers) / 30;
                double Blocks = ceilDiv(1 << 22, Block * Items);
                double AtOnce = 132 * Warps / (Block / 32);
                double Waves = Blocks / AtOnce;
                double Tail = std::ceil(Waves) / Waves;
                double InFlight = Warps * (1 + Items / 4);
                double Hidden = 1 + 3 * std::exp(-InFlight / 20);
                double Start = 1 + 40 / (Block * Items) + 2 / Block;
                double Time = 50 * Spills * Tail * Hidden * Start;
                Time *= Special ? 0.94 : 1;
                return {{Time * ruggedness(0.01, {Block, Items, Min,
                                                  double(Special)})},
                        ""};
              });
}

static Landscape makeFailing() {
  StudyBuilder B;
  B.range("block", "64", "1024", "64")
      .range("unroll", "1", "256")
      .log()
      .range("stages", "1", "4")
      .choice("cache", {"'none'", "'read'", "'shared'"})
      .range("registers", "32", "128", "32");
  return make("failing", "four in ten points fail; the best are near the edge",
              B, [](const StringMap<Value> &V) -> Outcome {
                Get G{V};
                double Block = G.integer("block");
                double Unroll = std::log2(G.integer("unroll"));
                double Stages = G.integer("stages");
                double Registers = G.integer("registers");
                StringRef Cache = G.text("cache");
                double Needed = 20 + 14 * Unroll + 8 * Stages;
                // Too many registers, too little shared memory, or compiled
                // for ever.
                if (Block * Registers > 65536 ||
                    (Cache == "shared" && Block * Stages * 40 > 102400) ||
                    (Unroll >= 7 && Stages >= 3))
                  return {};
                double Spills = std::max(0.0, Needed - Registers) / 25;
                double Warps = residentWarps(Block, Registers, 0);
                double Parallel = Warps * (1 + 0.5 * Unroll) * Stages;
                double Time = 10 + 120 / (1 + Unroll) + 900 / Parallel;
                Time += Cache == "shared" ? 6 : Cache == "read" ? 11 : 20;
                Time *= 1 + Spills;
                return {{Time * ruggedness(0.01, {Block, Unroll, Stages,
                                                  Registers,
                                                  double(Cache.size())})},
                        ""};
              });
}

static Landscape makeConditional() {
  StudyBuilder B;
  B.choice("algorithm", {"'direct'", "'tiled'", "'split'"})
      .range("block", "32", "512", "32")
      .range("tile", "1", "16")
      .when("algorithm == 'tiled'")
      .range("stages", "1", "4")
      .when("algorithm == 'tiled'")
      .range("parts", "2", "64")
      .log()
      .when("algorithm == 'split'")
      .boolean("atomic")
      .when("algorithm == 'split'")
      .range("vector", "1", "4")
      .log()
      .require("algorithm != 'tiled' || tile * stages <= 48");
  return make(
      "conditional", "three algorithms, each with parameters of its own", B,
      [](const StringMap<Value> &V) -> Outcome {
        Get G{V};
        StringRef Algorithm = G.text("algorithm");
        double Block = G.integer("block"), Vector = G.integer("vector");
        double Common = 1 + 0.1 * std::fabs(std::log2(Block / 192)) +
                        (int(Block) % 64 ? 0.06 : 0) + 0.12 / Vector;
        if (Algorithm == "direct")
          return {{60 * Common * ruggedness(0.01, {Block, Vector})}, ""};
        if (Algorithm == "tiled") {
          double Tile = G.integer("tile"), Stages = G.integer("stages");
          if (Tile * Stages * Block > 14000)
            return {};
          double Reuse = 1 + 2 / Tile + (int(Tile) % 4 ? 0.15 : 0);
          double Latency = 1 + 0.6 / Stages + (Stages == 4 ? 0.12 : 0);
          return {{24 * Common * Reuse * Latency *
                   ruggedness(0.01, {Block, Vector, Tile, Stages})},
                  ""};
        }
        double Parts = G.integer("parts");
        bool Atomic = G.boolean("atomic");
        double Merge = Atomic ? 4 + Parts * 0.8 : 12 + 2 * std::log2(Parts);
        return {{(90 / std::sqrt(Parts) + Merge) * Common *
                 ruggedness(0.01, {Block, Vector, Parts, double(Atomic)})},
                ""};
      });
}

static Landscape makeFlags() {
  StudyBuilder B;
  for (char C = 'a'; C <= 'm'; ++C)
    B.boolean(StringRef(&C, 1));
  return make("flags", "thirteen passes, on or off, which need each other", B,
              [](const StringMap<Value> &V) -> Outcome {
                Get G{V};
                auto On = [&](char C) { return G.boolean(StringRef(&C, 1)); };
                double Time = 100;
                Time -= On('a') ? 12 : 0;
                Time -= On('a') && On('b') ? 9 : 0;
                Time -= On('c') && !On('d') ? 7 : 0;
                Time -= On('e') && On('f') && On('g') ? 14 : 0;
                Time += On('e') && !On('f') ? 3 : 0;
                Time -= On('h') != On('i') ? 5 : 0;
                Time += On('j') ? 4 : 0;
                Time -= On('j') && On('k') ? 8 : 0;
                Time += On('l') && On('a') ? 6 : 0;
                Time -= On('m') ? 1.5 : 0;
                // Two passes that do not go together.
                if (On('d') && On('l') && On('m'))
                  return {};
                return {{Time}, ""};
              });
}

/// The code after the passes of the pipeline: which of its flaws are left.
static std::string runPasses(StringRef Pipeline) {
  bool Memory = true, Loops = true, Redundant = true, Branches = true;
  bool Invariant = true;
  Pipeline.consume_front("function(");
  SmallVector<StringRef> Passes;
  Pipeline.drop_back().split(Passes, ',');
  for (StringRef P : Passes) {
    if (P == "sroa")
      Memory = false;
    else if (P == "gvn")
      Redundant &= Memory;
    else if (P == "licm")
      Invariant &= Memory || Branches;
    else if (P == "simplifycfg")
      Branches = false;
    else if (P == "loop-unroll" && Loops && !Branches)
      Loops = false, Redundant = true; // Copies are redundant again.
  }
  std::string Code;
  for (bool Flaw : {Memory, Loops, Redundant, Branches, Invariant})
    Code += Flaw ? '1' : '0';
  return Code;
}

static Landscape makePasses() {
  StudyBuilder B;
  B.pipeline("passes", "function(seq<1..6>(sroa|gvn|licm|simplifycfg|dse|"
                       "loop-unroll))");
  return make("passes", "sequences of up to six passes; most make equal code",
              B, [](const StringMap<Value> &V) -> Outcome {
                StringRef Pipeline = Get{V}.text("passes");
                std::string Code = runPasses(Pipeline);
                // A pass that crashes on what another one leaves.
                if (Pipeline.contains("loop-unroll,licm"))
                  return {};
                constexpr double Costs[] = {30, 25, 18, 12, 9};
                double Time = 40;
                for (auto [Flaw, Cost] : zip(Code, Costs))
                  Time += Flaw == '1' ? Cost : 0;
                return {{Time}, Code};
              });
}

static Landscape makeReduction() {
  StudyBuilder B;
  B.choice("combine", {"'tree'", "'shuffle'", "'atomic'"})
      .range("block", "32", "1024", "32")
      .range("items", "1", "32")
      .log()
      .range("vector", "1", "4")
      .log()
      .range("unroll", "0", "8");
  return make("reduction", "three ways to combine; only one has a long tail", B,
              [](const StringMap<Value> &V) -> Outcome {
                Get G{V};
                StringRef Combine = G.text("combine");
                double Block = G.integer("block"), Items = G.integer("items");
                double Vector = G.integer("vector");
                double Unroll = G.integer("unroll");
                double Registers = 16 + 2 * Vector * (1 + Unroll);
                double Warps = residentWarps(Block, Registers, Block * 4);
                // The compiler gives up.
                if (Warps == 0 || Unroll * Vector > 28)
                  return {};
                double Blocks = ceilDiv(1 << 24, Block * Items * Vector);
                double Bytes = Warps * Vector * (1 + std::min(Unroll, Items));
                double Read = 60 * (1 + 40 / Bytes);
                if (Unroll > 0 && int(Items) % int(Unroll))
                  Read *= 1.04; // What is left over.
                double Steps = std::log2(Block);
                double Merge = Combine == "tree"      ? 1.5 * Steps
                               : Combine == "shuffle" ? 5 + 0.5 * Steps
                                                      : 2 + Block / 100;
                double Last = Combine == "atomic" ? Blocks / 4000 : 9;
                double Time = Read + Merge * 20 / std::sqrt(Items) + Last +
                              Blocks / 3000;
                return {{Time * ruggedness(0.01, {Block, Items, Vector, Unroll,
                                                  double(Combine.size())})},
                        ""};
              });
}

static Landscape makeSkewed() {
  StudyBuilder B;
  B.range("block.x", "8", "256").log();
  B.range("block.y", "1", "32").log();
  B.range("tile.x", "1", "8")
      .range("tile.y", "1", "8")
      .range("prefetch", "0", "3")
      .require("block.x * block.y >= 32 && block.x * block.y <= 512");
  return make("skewed", "a narrow valley along which two sizes rise and fall",
              B, [](const StringMap<Value> &V) -> Outcome {
                Get G{V};
                double X = G.integer("block.x"), Y = G.integer("block.y");
                double TX = G.integer("tile.x"), TY = G.integer("tile.y");
                double Prefetch = G.integer("prefetch");
                // Lines fit together with cache lines and pages.
                double Width = std::fabs(std::log2(X * TX / 192));
                double Height = std::fabs(std::log2(Y * TY / 20));
                double Registers = 18 + 4 * TX * TY + 12 * Prefetch;
                if (Registers > 255)
                  return {};
                double Warps = residentWarps(X * Y, Registers, 0);
                double Late = 1 + 2.5 * std::exp(-Warps * (1 + Prefetch) / 14);
                double Time = (30 + 14 * Width + 9 * Height * (1 + Width)) *
                              Late * (1 + 0.2 / (TX * TY));
                return {{Time *
                         ruggedness(0.01, {X, Y, TX, TY, Prefetch})},
                        ""};
              });
}

Landscape mneme::makeOrder() {
  StudyBuilder B;
  B.pipeline("passes", "function(mem2reg?,seq<2..5>(early-cse|gvn|licm|"
                       "instcombine|reassociate),simplifycfg?)")
      .range("threshold", "0", "3");
  return make(
      "order", "what a pass gains depends on those before it", B,
      [](const StringMap<Value> &V) -> Outcome {
        Get G{V};
        StringRef Pipeline = G.text("passes");
        double Threshold = G.integer("threshold");
        double Time = 120;
        bool Promoted = false;
        std::map<StringRef, unsigned> Runs;
        StringRef Last;
        Pipeline.consume_front("function(");
        SmallVector<StringRef> Passes;
        Pipeline.drop_back().split(Passes, ',');
        for (StringRef P : Passes) {
          double Gain = 0;
          if (P == "mem2reg")
            Promoted = true, Gain = 3;
          else if (P == "simplifycfg")
            Gain = Last == "instcombine" ? 6 : 2;
          else if (P == "early-cse")
            Gain = Last == "reassociate" ? 9 : 5;
          else if (P == "gvn")
            Gain = (Promoted ? 10 : 2) + (Runs.count("early-cse") ? -3 : 2);
          else if (P == "licm")
            Gain = Runs.count("gvn") ? 9 + Threshold : 4 - Threshold;
          else if (P == "instcombine")
            Gain = Last == "licm" ? 8 : 3;
          else
            Gain = Runs.count("instcombine") ? 4 : -1;
          // Again there is less to be done.
          Time -= Gain / (1 << 2 * Runs[P]++);
          Last = P;
        }
        if (Runs["reassociate"] > 2)
          return {};
        return {{Time}, ""};
      });
}

std::vector<Landscape> mneme::makeLandscapes() {
  std::vector<Landscape> L;
  L.push_back(makeStencil());
  L.push_back(makeGemm());
  L.push_back(makeLaunch());
  L.push_back(makeFailing());
  L.push_back(makeConditional());
  L.push_back(makeFlags());
  L.push_back(makePasses());
  L.push_back(makeReduction());
  L.push_back(makeSkewed());
  return L;
}

Landscape mneme::makeTradeOff() {
  StudyBuilder B;
  B.objective("reg_usage")
      .range("unroll", "1", "16")
      .range("block", "32", "512", "32")
      .range("stages", "1", "4")
      .boolean("reload");
  return make("trade-off", "time against registers", B,
              [](const StringMap<Value> &V) -> Outcome {
                Get G{V};
                double Unroll = G.integer("unroll"), Block = G.integer("block");
                double Stages = G.integer("stages");
                bool Reload = G.boolean("reload");
                double Registers = 20 + 3 * Unroll + 6 * Stages -
                                   (Reload ? std::min(18.0, Unroll * 2) : 0);
                double Time = 20 + 80 / Unroll + 25 / Stages +
                              (Reload ? 6 : 0) +
                              5 * std::fabs(std::log2(Block / 256));
                if (Registers * Block > 32768)
                  return {};
                return {{Time, Registers}, ""};
              });
}

//===----------------------------------------------------------------------===//
// Studies
//===----------------------------------------------------------------------===//

std::vector<Point> Landscape::points() const {
  std::vector<Point> Points;
  for (uint64_t I = 0, E = Space.countValid()->getZExtValue(); I != E; ++I)
    Points.push_back(Space.validAt(APInt(64, I)));
  return Points;
}

double Landscape::optimum() const {
  if (Optimum)
    return *Optimum;
  double Best = std::numeric_limits<double>::infinity();
  for (const Point &P : points())
    if (Outcome O = evaluate(P); !O.Values.empty())
      Best = std::min(Best, O.Values.front());
  Optimum = Best;
  return Best;
}

SimulatedStudy::SimulatedStudy(const Landscape &L, uint64_t Seed)
    : L(L), Context{L.Space, L.Directions, Seed, History, Proposed} {}

void SimulatedStudy::begin(const Point &P, TrialKind Kind) {
  Trial T;
  T.Number = History.size();
  T.Kind = Kind;
  T.P = P;
  History.push_back(std::move(T));
  Proposed.insert(L.Space.digest(P));
}

void SimulatedStudy::finish(uint64_t Number) {
  Trial &T = History[Number];
  Outcome O = L.evaluate(T.P);
  T.State = O.Values.empty() ? TrialState::Failed : TrialState::Complete;
  T.Values = O.Values;
  if (T.State == TrialState::Failed) {
    T.Failure = "Crash";
    return;
  }
  if (O.Code.empty())
    return;
  auto [It, New] = FirstWithCode.try_emplace(O.Code, Number);
  if (New)
    return;
  T.DuplicateOf = It->second;
  T.DuplicateKind = Duplicate::Code;
}

void SimulatedStudy::start() {
  Point P = L.Space.defaultPoint();
  if (!L.Space.isValid(P))
    return;
  begin(P, TrialKind::Start);
  finish(0);
}

Expected<unsigned> SimulatedStudy::run(Sampler &S, unsigned N, unsigned Batch) {
  unsigned Count = 0;
  while (Count < N) {
    Expected<std::vector<Point>> Points = S.ask(std::min(Batch, N - Count));
    if (!Points)
      return Points.takeError();
    if (Points->empty())
      break;
    size_t First = History.size();
    for (const Point &P : *Points)
      begin(P);
    for (size_t I = First; I != History.size(); ++I) {
      finish(I);
      S.tell(History[I]);
    }
    Count += Points->size();
  }
  return Count;
}

double SimulatedStudy::best(size_t N) const {
  double Best = std::numeric_limits<double>::infinity();
  for (const Trial &T : ArrayRef(History).take_front(N))
    if (!T.Values.empty())
      Best = std::min(Best, T.Values.front());
  return Best;
}
