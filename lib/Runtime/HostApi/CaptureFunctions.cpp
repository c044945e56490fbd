//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Capture of streams into graphs on the host device.
///
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include <algorithm>
#include <map>
#include <new>
#include <set>

using namespace mneme;

using Nodes = std::vector<CudaGraphNode *>;

namespace {
struct Capture {
  unsigned long long Id;
  std::shared_ptr<CudaGraph> Graph;
  bool IsNew; ///< The application has not received the graph yet.
  CudaStream *Origin;
  bool IsBroken = false;
  /// Dependencies of the next node of each stream, and the nodes that events
  /// stand for.
  std::map<CudaStream *, Nodes> Streams;
  std::map<CudaEvent *, Nodes> Events;
  Nodes Left; ///< Dependencies from destroyed streams.
};

enum : int { StatusNone = 0, StatusActive = 1, StatusInvalidated = 2 };
} // namespace

/// Requires graphLock(). Never destroyed, because applications may use it while
/// they exit.
static std::vector<std::unique_ptr<Capture>> &captures() {
  using List = std::vector<std::unique_ptr<Capture>>;
  alignas(List) static char Storage[sizeof(List)];
  static auto &L = *new (Storage) List;
  return L;
}

/// Number of captures; zero in most programs.
static std::atomic<unsigned> NumCaptures{0};

/// The per-thread default stream is a different one in each thread.
static CudaStream *keyOf(CudaStream *S) {
  static thread_local char Own;
  return reinterpret_cast<uintptr_t>(S) == 2
             ? reinterpret_cast<CudaStream *>(&Own)
             : S;
}

/// Requires graphLock().
static Capture *captureOf(CudaStream *S) {
  for (const auto &C : captures())
    if (C->Streams.count(keyOf(S)))
      return C.get();
  return nullptr;
}

static Capture *captureOf(CudaEvent *E) {
  for (const auto &C : captures())
    if (C->Events.count(E))
      return C.get();
  return nullptr;
}

bool mneme::isCapturing(CudaStream *S) {
  if (!NumCaptures)
    return false;
  std::lock_guard<std::recursive_mutex> Guard(graphLock());
  return captureOf(S);
}

bool mneme::isAnyCapturing() { return NumCaptures; }

bool mneme::isCaptured(CudaEvent *E) {
  if (!NumCaptures)
    return false;
  std::lock_guard<std::recursive_mutex> Guard(graphLock());
  return captureOf(E);
}

int mneme::addToCapture(CudaStream *S,
                        const std::function<CudaError(GraphWork &)> &Describe) {
  return withGraphs([&] {
    Capture *C = captureOf(S);
    if (!C || C->IsBroken)
      return cudaErrorStreamCaptureInvalidated;
    GraphWork W;
    CudaError E = Describe(W);
    if (E) {
      C->IsBroken = true;
      return E;
    }
    Nodes &Last = C->Streams[keyOf(S)];
    CudaGraphNode *N = addNode(*C->Graph, std::move(W), Last);
    Last = {N};
    return cudaSuccess;
  });
}

int mneme::captureEvent(CudaEvent *E, CudaStream *S) {
  return withGraphs([&] {
    Capture *C = captureOf(S);
    if (!C || C->IsBroken)
      return cudaErrorStreamCaptureInvalidated;
    forgetEvent(E);
    C->Events[E] = C->Streams[keyOf(S)];
    return cudaSuccess;
  });
}

void mneme::forgetEvent(CudaEvent *E) {
  if (!NumCaptures)
    return;
  std::lock_guard<std::recursive_mutex> Guard(graphLock());
  for (const auto &C : captures())
    C->Events.erase(E);
}

int mneme::captureWait(CudaStream *S, CudaEvent *E) {
  return withGraphs([&] {
    Capture *Of = captureOf(E), *Into = captureOf(S);
    if (!Of) // It cannot wait for work that was not captured.
      return cudaErrorStreamCaptureIsolation;
    if (Of->IsBroken)
      return cudaErrorStreamCaptureInvalidated;
    if (Into && Into != Of) {
      Of->IsBroken = Into->IsBroken = true;
      return cudaErrorStreamCaptureMerge;
    }
    Nodes &Last = Of->Streams[keyOf(S)];
    for (CudaGraphNode *N : Of->Events[E])
      if (!std::count(Last.begin(), Last.end(), N))
        Last.push_back(N);
    return cudaSuccess;
  });
}

CudaError mneme::breakCapture(CudaStream *S) {
  if (!NumCaptures)
    return cudaSuccess;
  std::lock_guard<std::recursive_mutex> Guard(graphLock());
  Capture *C = captureOf(S);
  if (!C)
    return cudaSuccess;
  C->IsBroken = true;
  return cudaErrorStreamCaptureUnsupported;
}

/// Requires graphLock().
static void endCapture(const Capture *C) {
  auto &All = captures();
  All.erase(std::find_if(All.begin(), All.end(),
                         [&](const auto &P) { return P.get() == C; }));
  NumCaptures = All.size();
}

void mneme::leaveCapture(CudaStream *S) {
  if (!NumCaptures)
    return;
  std::lock_guard<std::recursive_mutex> Guard(graphLock());
  Capture *C = captureOf(S);
  if (!C)
    return;
  if (C->Origin == keyOf(S))
    return endCapture(C);
  auto I = C->Streams.find(keyOf(S));
  if (!attempt([&] {
        C->Left.insert(C->Left.end(), I->second.begin(), I->second.end());
      }))
    C->IsBroken = true;
  C->Streams.erase(I);
}

//===----------------------------------------------------------------------===//
// Beginning and ending a capture
//===----------------------------------------------------------------------===//

static CudaError begin(CudaStream *S, std::shared_ptr<CudaGraph> Graph,
                       bool IsNew, CudaGraphNode *const *Dependencies,
                       size_t Count, int Mode) {
  static unsigned long long LastId = 0;
  if (!isStream(S))
    return cudaErrorInvalidResourceHandle;
  if (Mode < 0 || Mode > 2 || !Graph || (Count && !Dependencies) ||
      !areNodesOf(*Graph, Dependencies, Count))
    return cudaErrorInvalidValue;
  // The legacy default stream cannot be captured.
  if (reinterpret_cast<uintptr_t>(S) < 2)
    return cudaErrorStreamCaptureUnsupported;
  if (captureOf(S))
    return cudaErrorIllegalState;
  auto C = std::make_unique<Capture>();
  C->Id = ++LastId;
  C->Graph = std::move(Graph);
  C->IsNew = IsNew;
  C->Origin = keyOf(S);
  C->Streams[C->Origin] = Nodes(Dependencies, Dependencies + Count);
  captures().push_back(std::move(C));
  NumCaptures = captures().size();
  return cudaSuccess;
}

MNEME_API rt_cudaStreamBeginCapture(CudaStream *S, int Mode) {
  return withGraphs([&] {
    return begin(S, std::make_shared<CudaGraph>(), /*IsNew=*/true, nullptr, 0,
                 Mode);
  });
}

MNEME_API rt_cudaStreamBeginCaptureToGraph(CudaStream *S, CudaGraph *G,
                                           CudaGraphNode *const *Dependencies,
                                           const void *, size_t Count,
                                           int Mode) {
  return withGraphs([&] {
    return begin(S, findGraph(G), /*IsNew=*/false, Dependencies, Count, Mode);
  });
}

/// Returns true if the stream in which the capture began waits for all work of
/// the capture's other streams.
static bool isJoined(const Capture &C) {
  Nodes Open = C.Streams.at(C.Origin);
  std::set<const CudaGraphNode *> Seen(Open.begin(), Open.end());
  while (!Open.empty()) {
    CudaGraphNode *N = Open.back();
    Open.pop_back();
    for (CudaGraphNode *D : N->Dependencies)
      if (Seen.insert(D).second)
        Open.push_back(D);
  }
  auto AreSeen = [&](const Nodes &All) {
    return std::all_of(All.begin(), All.end(),
                       [&](auto *N) { return Seen.count(N); });
  };
  return AreSeen(C.Left) &&
         std::all_of(C.Streams.begin(), C.Streams.end(),
                     [&](const auto &S) { return AreSeen(S.second); });
}

MNEME_API rt_cudaStreamEndCapture(CudaStream *S, CudaGraph **G) {
  return withGraphs([&] {
    if (!isStream(S))
      return cudaErrorInvalidResourceHandle;
    if (!G)
      return cudaErrorInvalidValue;
    Capture *C = captureOf(S);
    if (!C)
      return cudaErrorIllegalState;
    if (C->Origin != keyOf(S)) {
      C->IsBroken = true;
      return cudaErrorStreamCaptureUnmatched;
    }
    CudaError E = C->IsBroken     ? cudaErrorStreamCaptureInvalidated
                  : !isJoined(*C) ? cudaErrorStreamCaptureUnjoined
                                  : cudaSuccess;
    *G = nullptr;
    if (!E) {
      *G = C->Graph.get();
      if (C->IsNew)
        giveGraph(C->Graph);
    }
    endCapture(C);
    return E;
  });
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

MNEME_API rt_cudaStreamIsCapturing(CudaStream *S, int *Status) {
  return withGraphs([&] {
    if (!isStream(S))
      return cudaErrorInvalidResourceHandle;
    if (!Status)
      return cudaErrorInvalidValue;
    const Capture *C = captureOf(S);
    *Status = !C ? StatusNone : C->IsBroken ? StatusInvalidated : StatusActive;
    return cudaSuccess;
  });
}

/// Of CUDA 13; in CUDA 12 it has the suffix _v3.
MNEME_API rt_cudaStreamGetCaptureInfo(CudaStream *S, int *Status,
                                      unsigned long long *Id, CudaGraph **G,
                                      CudaGraphNode ***Dependencies,
                                      const void **EdgeData, size_t *Count) {
  if (int E = rt_cudaStreamIsCapturing(S, Status))
    return E;
  return withGraphs([&] {
    Capture *C = *Status == StatusActive ? captureOf(S) : nullptr;
    if (!C)
      return cudaSuccess;
    Nodes &Last = C->Streams[keyOf(S)];
    if (Id)
      *Id = C->Id;
    if (G)
      *G = C->Graph.get();
    if (Dependencies)
      *Dependencies = Last.data();
    if (EdgeData)
      *EdgeData = nullptr;
    if (Count)
      *Count = Last.size();
    return cudaSuccess;
  });
}

MNEME_API rt_cudaStreamGetCaptureInfo_v2(CudaStream *S, int *Status,
                                         unsigned long long *Id, CudaGraph **G,
                                         CudaGraphNode ***Dependencies,
                                         size_t *Count) {
  return rt_cudaStreamGetCaptureInfo(S, Status, Id, G, Dependencies, nullptr,
                                     Count);
}

MNEME_API rt_cudaStreamUpdateCaptureDependencies(
    CudaStream *S, CudaGraphNode *const *Dependencies, const void *,
    size_t Count, unsigned Flags) {
  constexpr unsigned Set = 1; // Otherwise they are added.
  return withGraphs([&] {
    Capture *C = captureOf(S);
    if (!C)
      return cudaErrorIllegalState;
    if ((Count && !Dependencies) || Flags > Set ||
        !areNodesOf(*C->Graph, Dependencies, Count))
      return cudaErrorInvalidValue;
    Nodes &Last = C->Streams[keyOf(S)];
    if (Flags == Set)
      Last.clear();
    for (size_t I = 0; I != Count; ++I)
      if (!std::count(Last.begin(), Last.end(), Dependencies[I]))
        Last.push_back(Dependencies[I]);
    return cudaSuccess;
  });
}
