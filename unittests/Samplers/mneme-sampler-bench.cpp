//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// mneme-sampler-bench: how near samplers come to the optimum of the landscapes
/// of the unit tests. Prints a table as docs/Samplers has it.
///
//===----------------------------------------------------------------------===//

#include "Landscapes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include <chrono>
#include <map>

using namespace llvm;
using namespace llvm::mneme;

static cl::list<std::string> Samplers("sampler", cl::CommaSeparated,
                                      cl::desc("Those to run, as --sampler of "
                                               "llvm-mneme-tune"));
static cl::list<std::string> Names("landscape", cl::CommaSeparated,
                                   cl::desc("Only these"));
static cl::list<unsigned> At("at", cl::CommaSeparated,
                             cl::desc("Numbers of trials to look at"));
static cl::opt<unsigned> Seeds("seeds", cl::init(15),
                               cl::desc("Runs to take the median of"));
static cl::opt<unsigned> BatchSize("batch", cl::init(1),
                                   cl::desc("Points asked for at once"));
static cl::opt<double> Within("within", cl::init(0.99),
                              cl::desc("Also how many runs come so near"));
static cl::opt<bool> Time("time", cl::desc("Also milliseconds a trial"));

static double median(std::vector<double> V) {
  llvm::sort(V);
  return V[V.size() / 2];
}

int main(int argc, char **argv) {
  InitLLVM X(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "How near samplers come\n");
  if (Samplers.empty())
    for (StringRef S : {"lfbo", "tpe", "nsga2", "ils", "evolution", "random"})
      Samplers.push_back(S.str());
  if (At.empty())
    for (unsigned N : {50, 100, 200})
      At.push_back(N);

  std::vector<Landscape> Landscapes = makeLandscapes();
  Landscapes.push_back(makeOrder());
  for (const Landscape &L : Landscapes) {
    if (!Names.empty() && !is_contained(Names, L.Name))
      continue;
    std::vector<Point> Points = L.points();
    double Optimum = std::numeric_limits<double>::infinity();
    unsigned Failing = 0;
    for (const Point &P : Points) {
      Outcome O = L.evaluate(P);
      Failing += O.Values.empty();
      if (!O.Values.empty())
        Optimum = std::min(Optimum, O.Values.front());
    }
    outs() << L.Name << ": " << Points.size() << " points, "
           << format("%.0f", 100.0 * Failing / Points.size())
           << " % of them fail\n";
    for (StringRef Name : Samplers) {
      std::map<unsigned, std::vector<double>> Ratios;
      double Seconds = 0;
      for (unsigned Seed = 0; Seed != Seeds; ++Seed) {
        SimulatedStudy Study(L, Seed);
        Study.start();
        auto Begin = std::chrono::steady_clock::now();
        auto S = createSampler(Name, Study.Context);
        Error E = S ? Error::success() : S.takeError();
        if (!E)
          E = Study.run(**S, *llvm::max_element(At), BatchSize).takeError();
        if (E) {
          WithColor::error(errs(), "mneme-sampler-bench")
              << toString(std::move(E)) << '\n';
          return 1;
        }
        std::chrono::duration<double> Took =
            std::chrono::steady_clock::now() - Begin;
        Seconds += Took.count() / Study.History.size();
        for (unsigned N : At)
          Ratios[N].push_back(Optimum / Study.best(N));
      }
      outs() << "  " << Name;
      for (unsigned N : At)
        outs() << "  " << N << ": " << format("%.3f", median(Ratios[N]));
      unsigned Near = llvm::count_if(
          Ratios.rbegin()->second, [](double R) { return R >= Within; });
      outs() << "  near: " << Near << " of " << Seeds;
      if (Time)
        outs() << format("  %.2f ms", Seconds * 1000 / Seeds);
      outs() << '\n';
      outs().flush();
    }
  }
  return 0;
}
