//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles kernels and functions while the program runs: with the cache, and a
/// compile server for all that is not in it. No LLVM is in the process.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_JIT_JIT_H
#define MNEME_LIB_RUNTIME_JIT_JIT_H

#include "JitSettings.h"
#include "JitSite.h"
#include "ServerLink.h"
#include "llvm/Mneme/Runtime/JitCache.h"

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mneme {

class Jit {
public:
  static Jit &get();

  /// Reads the environment, once.
  void start();
  /// Whether code is compiled. False in a forked child, which cannot use locks.
  bool isOn() const { return On.load(std::memory_order_relaxed); }
  /// Switched by the application.
  void enable(bool Value);
  /// Adds a pass plugin for code that is compiled from now on. Throws nothing.
  void addPlugin(const char *Path, const char *Pipeline);
  const JitSettings &settings() const { return Settings; }

  /// Fills in what all requests have in common. May throw.
  void complete(JitRequest &Q);
  /// Keeps a site for the report. May throw.
  JitSite &add(std::unique_ptr<JitSite> S);

  /// Gets code for a variant whose request is complete: from the cache or the
  /// server. In mode async, later, by another thread, unless \p IsAhead. Throws
  /// nothing.
  void obtain(JitSite &S, JitVariant &V, JitRequest Q, bool IsAhead);
  /// Has a thread of the JIT do \p Work, which throws nothing. \returns false
  /// without memory.
  bool runLater(std::function<void()> Work);

  /// A kernel with this name needs no annotation. May throw.
  bool selects(const std::string &Name);

  /// A source that was compiled at run time, for the report.
  struct BuiltSource {
    JitSource Source; ///< Without the text.
    std::string Digest;
    JitOrigin Origin;
    uint64_t CompileNanoseconds, WaitNanoseconds;
  };
  /// Gets the shared library of a source, from the cache or the server. Works
  /// also if the JIT is off: there is no other code. May throw.
  LinkStatus build(const JitSource &Source, JitBuilt &Built);

  /// Writes the report, once.
  void finish();

private:
  friend class JitReport;
  Jit() : Link(Settings) {}
  void work(JitSite &S, JitVariant &V, JitRequest &Q);
  void doWork(JitSite &S, JitVariant &V, JitRequest &Q);
  void load(JitSite &S, JitVariant &V, JitImage &Image);
  LinkStatus identify(JitTarget Target, std::string &Identity);
  /// Reads \p Contents, which are as if missing unless \p IsValid then returns
  /// true.
  bool findInCache(const std::string &Key, JitFile Kind, std::string &Contents,
                   const std::function<bool()> &IsValid);
  bool startWorker();
  void runWorker();
  void noteProblem(const std::string &Text);

  std::atomic<bool> On{false};
  std::atomic<bool> IsForked{false};
  bool Started = false, Finished = false, IsAllowed = false;
  JitSettings Settings;
  ServerLink Link;

  std::mutex Lock; ///< Protects the following data.
  std::map<JitTarget, std::string> Identities;
  std::vector<std::unique_ptr<JitSite>> Sites;
  std::vector<BuiltSource> Sources;
  struct Plugin {
    std::string Path, Pipeline, Digest;
  };
  std::vector<Plugin> Plugins;
  std::string Note;                        ///< Why the cache is not written.
  bool HasTold = false;                    ///< Of a missing server.
  std::deque<std::function<void()>> Queue; ///< For the thread of the JIT.
  std::condition_variable HasWork;
  bool HasWorker = false;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_JIT_JIT_H
