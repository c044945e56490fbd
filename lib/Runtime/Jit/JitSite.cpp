//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitSite.h"
#include "Clock.h"
#include "Jit.h"
#include "Shortage.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

using namespace mneme;

const char *mneme::describeReason(JitReason R) {
  switch (R) {
  case JitReason::None:
    return "";
#define REASON(Id, Text)                                                       \
  case JitReason::Id:                                                          \
    return Text;
#include "Reasons.def"
  }
  return "";
}

/// Bytes that are usually few.
class JitSite::Values {
public:
  void add(const void *From, size_t Bytes) {
    memcpy(extend(Bytes), From, Bytes);
  }
  /// Returns the place of new bytes. Throws std::bad_alloc.
  char *extend(size_t Bytes) {
    if (Rest.empty() && Used + Bytes <= sizeof(Few)) {
      Used += Bytes;
      return Few + Used - Bytes;
    }
    if (Rest.empty())
      Rest.assign(Few, Used);
    Rest.resize(Used + Bytes);
    Used += Bytes;
    return &Rest[Used - Bytes];
  }
  const char *data() const { return Rest.empty() ? Few : Rest.data(); }
  size_t size() const { return Used; }
  bool operator==(const std::string &Other) const {
    return Used == Other.size() && !memcmp(data(), Other.data(), Used);
  }

private:
  char Few[256];
  size_t Used = 0;
  std::string Rest;
};

JitSite::JitSite(Jit &Owner, JitRequest TheRequest,
                 std::unique_ptr<JitLoader> TheLoader)
    : Owner(Owner), Request(std::move(TheRequest)),
      Loader(std::move(TheLoader)), Capacity(Owner.settings().MaxVariants + 1) {
  Variants.reset(new std::atomic<JitVariant *>[Capacity]);
  for (uint32_t I = 0; I != Capacity; ++I)
    Variants[I] = nullptr;
  // Addresses that others hold stay.
  Owned.reserve(Capacity + 1);
  for (uint32_t I = 0; I != Request.Fields.size(); ++I)
    All.Fields.push_back(I);
  if (Request.Target == JitTarget::Function) {
    All.Block = All.Grid = 0;
    All.Threads = false;
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static const char *placeOf(const JitLaunch &L, uint32_t Place) {
  return static_cast<const char *>(L.Places[Place]);
}

static const void *pointerAt(const JitLaunch &L, const MnemeJitField &F) {
  const void *Pointer;
  memcpy(&Pointer, placeOf(L, F.Place), sizeof(Pointer));
  return Pointer;
}

/// Returns the bytes of an array; -1 if there are too many.
static int64_t sizeOfArray(const MnemeJitField &F, const JitLaunch &L) {
  constexpr uint64_t MaxSize = 1 << 20;
  uint64_t Count = F.Count;
  if (F.CountArg != MNEME_JIT_NO_ARG) {
    Count = 0;
    memcpy(&Count, placeOf(L, F.CountPlace), std::min(F.CountSize, 8u));
  }
  return F.Size && Count > MaxSize / F.Size ? -1 : int64_t(Count * F.Size);
}

bool JitSite::gatherField(const MnemeJitField &F, const JitLaunch &L,
                          Values &Out) const {
  if (F.Kind == MNEME_JIT_VALUE) {
    Out.add(placeOf(L, F.Place) + F.Offset, F.Size);
    return true;
  }
  const char *Pointer = static_cast<const char *>(pointerAt(L, F));
  if (F.Kind == MNEME_JIT_POINTEE) {
    if (Pointer)
      Out.add(Pointer + F.Offset, F.Size);
    return Pointer;
  }
  int64_t Size = sizeOfArray(F, L);
  if (Size < 0 || (Size && !Pointer))
    return false;
  Out.add(&Size, sizeof(Size));
  if (F.Flags & MNEME_JIT_IMMUTABLE) {
    Out.add(&Pointer, sizeof(Pointer));
    return true;
  }
  char *To = Out.extend(Size);
  if (F.Flags & MNEME_JIT_READABLE)
    memcpy(To, Pointer, Size);
  else if (Size)
    return Loader->read(To, Pointer, Size);
  return true;
}

bool JitSite::gather(const Gather &G, const JitLaunch &L, Values &Out) const {
  for (uint32_t I : G.Fields)
    if (!gatherField(Request.Fields[I], L, Out))
      return false;
  addShape(G, L.Block, L.Grid, Out);
  return true;
}

void JitSite::addShape(const Gather &G, const uint32_t (&Block)[3],
                       const uint32_t (&Grid)[3], Values &Out) {
  for (unsigned Axis = 0; Axis != 3; ++Axis) {
    if (G.Block >> Axis & 1)
      Out.add(&Block[Axis], sizeof(Block[Axis]));
    if (G.Grid >> Axis & 1)
      Out.add(&Grid[Axis], sizeof(Grid[Axis]));
  }
  if (G.Threads) {
    uint32_t Threads = Block[0] * Block[1] * Block[2];
    Out.add(&Threads, sizeof(Threads));
  }
}

/// May throw; then, or if an array cannot be read, the request has fewer
/// constants.
JitRequest JitSite::makeRequest(const Gather &G, const JitLaunch &L) const {
  JitRequest Q = Request;
  for (uint32_t I : G.Fields) {
    MnemeJitField F = Request.Fields[I];
    // The contents, not where they are.
    F.Flags &= ~uint32_t(MNEME_JIT_IMMUTABLE);
    Values V;
    if (!gatherField(F, L, V))
      continue;
    size_t Header = F.Kind == MNEME_JIT_ARRAY ? sizeof(int64_t) : 0;
    Q.Constants.push_back(
        {I, std::string(V.data() + Header, V.size() - Header)});
  }
  for (unsigned Axis = 0; Axis != 3; ++Axis) {
    if (G.Block >> Axis & 1)
      Q.Block[Axis] = L.Block[Axis];
    if (G.Grid >> Axis & 1)
      Q.Grid[Axis] = L.Grid[Axis];
  }
  if (G.Threads)
    Q.MaxThreads = L.Block[0] * L.Block[1] * L.Block[2];
  return Q;
}

//===----------------------------------------------------------------------===//
// Finding variants
//===----------------------------------------------------------------------===//

JitVariant *JitSite::findKnown(const Values &V) {
  if (JitVariant *Known = Last.load(std::memory_order_acquire))
    if (V == Known->Values)
      return Known;
  uint64_t Hash = XXH3_64bits(V.data(), V.size());
  for (uint32_t I = 0, N = Count.load(std::memory_order_acquire); I != N; ++I) {
    JitVariant *Known = Variants[I].load(std::memory_order_relaxed);
    if (Known->Hash == Hash && V == Known->Values) {
      Last.store(Known, std::memory_order_release);
      return Known;
    }
  }
  return nullptr;
}

JitVariant *JitSite::find(const JitLaunch &L) {
  JitVariant *V = nullptr;
  if (!attempt([&] {
        const Gather *G = Plan.load(std::memory_order_acquire);
        if (!G) {
          if (createFirst(L, V))
            return;
          G = Plan.load(std::memory_order_acquire);
        }
        Values Now;
        if (!gather(*G, L, Now))
          return miss(L, JitReason::Array);
        V = findKnown(Now);
        V = V ? serve(*V, L) : create(*G, L, Now);
      }))
    miss(L, JitReason::Memory);
  return V;
}

/// Returns \p V if it is ready.
JitVariant *JitSite::serve(JitVariant &V, const JitLaunch &L) {
  if (V.TheState.load(std::memory_order_acquire) == JitVariant::Ready) {
    V.Served.fetch_add(!L.IsAhead, std::memory_order_relaxed);
    return &V;
  }
  return wait(V, L);
}

/// Another thread gets the code. In mode async, it is not waited for.
JitVariant *JitSite::wait(JitVariant &V, const JitLaunch &L) {
  std::unique_lock<std::mutex> Guard(Lock);
  if (V.TheState == JitVariant::Pending) {
    if (Owner.settings().Mode == JitMode::Async) {
      miss(L, JitReason::Compiling);
      return nullptr;
    }
    Changed.wait(Guard, [&] { return V.TheState != JitVariant::Pending; });
  }
  if (V.TheState == JitVariant::Ready) {
    V.Served.fetch_add(!L.IsAhead, std::memory_order_relaxed);
    return &V;
  }
  miss(L, V.Problem);
  return nullptr;
}

/// With Lock held.
void JitSite::add(JitVariant &V) {
  uint32_t N = Count.load(std::memory_order_relaxed);
  V.Hash = XXH3_64bits(V.Values.data(), V.Values.size());
  Variants[N].store(&V, std::memory_order_relaxed);
  Count.store(N + 1, std::memory_order_release);
}

/// The first launch: what matters of it is not known yet. \returns false if
/// another thread has found that out. Otherwise, \p Result is as of find().
bool JitSite::createFirst(const JitLaunch &L, JitVariant *&Result) {
  JitVariant *V;
  {
    std::unique_lock<std::mutex> Guard(Lock);
    if (First && !Plan) {
      if (Owner.settings().Mode == JitMode::Async) {
        miss(L, JitReason::Compiling);
        return true;
      }
      Changed.wait(Guard, [&] { return Plan.load() || !First; });
    }
    if (Plan)
      return false;
    constexpr unsigned MaxFailures = 3;
    if (Failures >= MaxFailures) {
      miss(L, Owned.back()->Problem);
      return true;
    }
    if (Owned.empty())
      Owned.push_back(std::make_unique<JitVariant>());
    V = Owned.back().get();
    V->TheState = JitVariant::Pending;
    First = V;
  }
  JitRequest Q;
  if (!attempt([&] {
        Q = makeRequest(All, L);
        Parts P = {};
        for (uint32_t I : All.Fields) {
          Values Part;
          bool Ok = gatherField(Request.Fields[I], L, Part);
          P.Fields.push_back(
              Ok ? std::make_unique<std::string>(Part.data(), Part.size())
                 : nullptr);
        }
        std::copy(L.Block, L.Block + 3, P.Block);
        std::copy(L.Grid, L.Grid + 3, P.Grid);
        FirstParts = std::move(P);
      })) {
    finish(*V, JitReason::Memory, "");
  } else {
    obtain(*V, std::move(Q), L);
  }
  Result = serve(*V, L);
  return true;
}

/// Gets the code, or has it got.
void JitSite::obtain(JitVariant &V, JitRequest Q, const JitLaunch &L) {
  uint64_t Start = now();
  Owner.obtain(*this, V, std::move(Q), L.IsAhead);
  uint64_t Time = now() - Start;
  std::lock_guard<std::mutex> Guard(Lock);
  V.WaitNanoseconds = Time;
}

/// With Lock held. \returns whether a launch with new values gets constants.
bool JitSite::wantsVariant(const Values &Now) {
  uint32_t N = Count.load();
  if (N >= Owner.settings().MaxVariants)
    return false;
  // The user selects such a kernel by its name, not its arguments, and one of
  // them may be different in each launch. After a few variants, only values
  // that come again become constants.
  constexpr uint32_t FirstVariants = 4;
  if (!Request.IsByName || N < FirstVariants)
    return true;
  uint64_t Hash = XXH3_64bits(Now.data(), Now.size());
  if (std::find(Once.begin(), Once.end(), Hash) != Once.end())
    return true;
  Once[NextOnce++ % Once.size()] = Hash;
  return false;
}

JitVariant *JitSite::create(const Gather &G, const JitLaunch &L,
                            const Values &Now) {
  JitVariant *V = nullptr;
  JitRequest Q;
  {
    std::unique_lock<std::mutex> Guard(Lock);
    // Another thread may have been faster.
    if ((V = findKnown(Now))) {
      Guard.unlock();
      return serve(*V, L);
    }
    if (wantsVariant(Now)) {
      auto New = std::make_unique<JitVariant>();
      New->Values.assign(Now.data(), Now.size());
      Q = makeRequest(G, L);
      V = New.get();
      Owned.push_back(std::move(New));
      add(*V);
    } else if (Generic) {
      V = Generic;
      Guard.unlock();
      return serve(*V, L);
    } else {
      auto New = std::make_unique<JitVariant>();
      Q = Request;
      V = Generic = New.get();
      Owned.push_back(std::move(New));
    }
  }
  obtain(*V, std::move(Q), L);
  return serve(*V, L);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// When they are known: \p V is the first variant. May throw, with nothing
/// done.
void JitSite::setFacts(const JitFacts &F, JitVariant &V) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (Plan)
    return;
  Gather G;
  for (uint32_t I : All.Fields)
    if (F.Fields >> I & 1)
      G.Fields.push_back(I);
  G.Block = F.Block & All.Block;
  G.Grid = F.Grid & All.Grid;
  G.Threads = F.Bounds && All.Threads;
  bool IsComplete = true;
  Values Now;
  for (uint32_t I : G.Fields) {
    const std::string *Part = FirstParts.Fields[I].get();
    if (Part)
      Now.add(Part->data(), Part->size());
    else
      IsComplete = false;
  }
  addShape(G, FirstParts.Block, FirstParts.Grid, Now);
  Facts = F;
  V.Values.assign(Now.data(), Now.size());
  V.IsPartial = !IsComplete;
  Needed = std::move(G);
  FirstParts = {};
  First = nullptr;
  // Otherwise, the code is for no launch: it lacks a constant.
  if (IsComplete)
    add(V);
  Plan.store(&Needed, std::memory_order_release);
  Changed.notify_all();
}

/// Throws nothing.
void JitSite::finish(JitVariant &V, JitReason Problem, const char *Text) {
  std::lock_guard<std::mutex> Guard(Lock);
  V.Problem = Problem;
  attempt([&] { V.Text = Text; });
  V.TheState.store(Problem == JitReason::None ? JitVariant::Ready
                                              : JitVariant::Failed,
                   std::memory_order_release);
  if (First == &V) {
    First = nullptr;
    Failures += Problem != JitReason::None;
  }
  Changed.notify_all();
}

void JitSite::fail(JitVariant &V, JitReason Why, const char *Text) {
  count(Why);
  V.Served.fetch_sub(1, std::memory_order_relaxed);
  if (*Text)
    disable(V, Why, Text);
}

bool JitSite::isOwnTurn(JitVariant &V) {
  // The first one is served, as it may be the only one.
  if (V.Turn.fetch_add(1, std::memory_order_relaxed) % 2 == 0)
    return false;
  count(JitReason::Timed);
  V.Served.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void JitSite::addTime(JitVariant &V, bool IsOwn, uint64_t Nanoseconds) {
  std::lock_guard<std::mutex> Guard(Lock);
  uint64_t Before = std::exchange(V.LastServed, IsOwn ? 0 : Nanoseconds);
  // Without memory, the report has fewer times.
  if (IsOwn && Before && Nanoseconds && V.Times.size() < V.MaxTimes)
    attempt([&] { V.Times.push_back({Before, Nanoseconds}); });
}

void JitSite::disable(JitVariant &V, JitReason Why, const char *Text) {
  std::lock_guard<std::mutex> Guard(Lock);
  attempt([&] { V.Text = Text; });
  V.Problem = Why;
  V.TheState.store(JitVariant::Failed, std::memory_order_release);
}
