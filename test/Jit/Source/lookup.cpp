// lookup() builds a module once for a key, whatever asks for it: another call in the program, or several threads at a time, which wait
// until it is built. They can compile and call it together. A module whose building throws is built again.
//
// RUN: %source_cxx %s -pthread -o %t
// RUN: %t | FileCheck %s --match-full-lines
// CHECK: same 1, other target 0
// CHECK-NEXT: built 1, complete 8, results 8
// CHECK-NEXT: nested 42
// CHECK-NEXT: thrown 1, then 7
// CHECK-NEXT: wrong 4: error: 'f': a block has no end
// CHECK-NEXT: no function 0: error: no function 'g' in the module: declare it extern "C", or use instance()

#include <atomic>
#include <cstdio>
#include <mneme/jit_builder.h>
#include <stdexcept>
#include <thread>

using namespace mneme::builder;
using mneme::jit_target;

/// Adds int f(), which returns a value.
static Func<int> &addConstant(Module &M, int Value) {
  auto &F = M.addFunction<int()>("f");
  F.function([&] { F.ret(F.defVar<int>(Value)); });
  return F;
}

template <typename Fn> static void runThreads(int Count, Fn Run) {
  std::vector<std::thread> Threads;
  for (int I = 0; I < Count; ++I)
    Threads.emplace_back(Run, I);
  for (std::thread &T : Threads)
    T.join();
}

int main() {
  Module &First = lookup("same", jit_target::host, [](Module &) {});
  Module &Second = lookup("same", jit_target::host, [](Module &) {});
  Module &Other = lookup("same", jit_target::cuda, [](Module &) {});
  std::printf("same %d, other target %d\n", &First == &Second, &First == &Other);

  // The building ends when all threads have begun to ask, and, to know that nobody waits who does not have to, a thread has another key.
  std::atomic<int> Built{0}, Asking{0}, Complete{0}, Results{0};
  std::atomic<bool> HasOther{false};
  runThreads(9, [&](int I) {
    if (I == 8) {
      while (!Asking)
        std::this_thread::yield();
      lookup("other", jit_target::host, [](Module &) {});
      HasOther = true;
      return;
    }
    ++Asking;
    Module &M = lookup("threads", jit_target::host, [&](Module &New) {
      ++Built;
      while (Asking != 8 || !HasOther)
        std::this_thread::yield();
      addConstant(New, 5);
    });
    Complete += M.has("f");
    auto F = M.function<int()>("f");
    Results += F && F() == 5;
  });
  std::printf("built %d, complete %d, results %d\n", int(Built), int(Complete), int(Results));

  Func<int> *Inner = nullptr;
  lookup("outer", jit_target::host, [&](Module &) {
    lookup("inner", jit_target::host, [&](Module &M) { Inner = &addConstant(M, 42); });
  });
  std::printf("nested %d\n", (*Inner)());

  bool WasThrown = false;
  try {
    lookup("throws", jit_target::host, [](Module &M) {
      addConstant(M, 6);
      throw std::runtime_error("no");
    });
  } catch (const std::runtime_error &) {
    WasThrown = true;
  }
  Module &Again = lookup("throws", jit_target::host, [](Module &M) { addConstant(M, 7); });
  std::printf("thrown %d, then %d\n", WasThrown, Again.function<int()>("f")());

  // Functions that are called by several threads are compiled once; so are errors.
  Module Wrong;
  auto &F = Wrong.addFunction<int()>("f");
  F.function([&] { F.beginIf(F.defVar(true)); });
  std::atomic<int> Failures{0};
  F.onFailure([&] { ++Failures; });
  runThreads(4, [&](int) { F(); });
  std::printf("wrong %d: %s", int(Failures), Wrong.error().c_str());
  std::printf("no function %d: ", bool(Again.function<int()>("g")));
  std::printf("%s", Again.error().c_str());
}
