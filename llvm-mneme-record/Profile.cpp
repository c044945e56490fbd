//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The table of llvm-mneme-record --profile.
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Launch/Profile.h"
#include "Commands.h"
#include "llvm/Mneme/Compile/Occupancy.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Study/Format.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/TextTable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

/// Returns the launches of a kernel, whatever their shape.
static ProfiledLaunches join(const ProfiledKernel &K) {
  ProfiledLaunches All;
  for (const auto &[Shape, L] : K.Shapes)
    All.add(L);
  All.summarize();
  return All;
}

/// Returns the shape that takes the most time.
static const std::pair<const ProfiledShape, ProfiledLaunches> &
getMainShape(const ProfiledKernel &K) {
  return *std::max_element(K.Shapes.begin(), K.Shapes.end(),
                           [](const auto &A, const auto &B) {
                             return A.second.Nanoseconds < B.second.Nanoseconds;
                           });
}

/// Returns the distance of the quartiles, relative to the median.
static std::string describeSpread(const ProfiledLaunches &L) {
  double Median = L.Quantiles[2];
  return Median ? formatv("{0:f0} %",
                          100 * (L.Quantiles[3] - L.Quantiles[1]) / Median)
                      .str()
                : "";
}

static std::string describeOccupancy(StringRef Arch, const ProfiledShape &S,
                                     const ProfiledLaunches &L) {
  KernelResources R;
  R.Registers = L.Registers;
  R.Shared = L.StaticShared;
  std::optional<Occupancy> O =
      computeOccupancy(Arch, R, S.Block.count(), S.DynamicShared);
  return O ? formatv("{0:f0} %", O->percent()).str() : "";
}

static std::string describeShape(const ProfiledKernel &K) {
  const ProfiledShape &S = getMainShape(K).first;
  std::string Text =
      S.isRest() ? "various"
                 : formatDims(S.Grid) + " x " + std::to_string(S.Block.count());
  return K.Shapes.size() == 1
             ? Text
             : formatv("{0}, {1} more", Text, K.Shapes.size() - 1).str();
}

void mneme::printProfile(const Profile &P) {
  bool IsGPU = !P.Arch.empty();
  TextTable::Row Heads{"kernel", "share",  "launches",      "time",
                       "median", "spread", "grid x threads"};
  if (IsGPU)
    Heads.append({"regs", "occupancy"});
  TextTable Table(std::move(Heads));
  double Total = P.nanoseconds();
  for (const ProfiledKernel &K : P.Kernels) {
    ProfiledLaunches All = join(K);
    std::string Name = printable(demangleSymbol(K.Symbol));
    StringRef Short = Name;
    Short.consume_front("void "); // Of templates.
    TextTable::Row Row{
        Short.str(),
        formatv("{0:f1} %", Total ? 100 * All.Nanoseconds / Total : 0),
        std::to_string(All.Launches),
        formatNanoseconds(All.Nanoseconds),
        formatNanoseconds(All.Quantiles[2]),
        describeSpread(All),
        describeShape(K)};
    if (IsGPU) {
      const auto &[Shape, L] = getMainShape(K);
      Row.push_back(std::to_string(L.Registers));
      Row.push_back(Shape.isRest() ? "" : describeOccupancy(P.Arch, Shape, L));
    }
    Table.add(std::move(Row));
  }
  Table.fit(getLineWidth(/*OnStandardError=*/true));
  // In one piece, as the application's processes may write, too.
  std::string Text;
  raw_string_ostream OS(Text);
  Table.print(OS, IsGPU ? "lrrrrrlrr" : "lrrrrrl");
  OS << "all kernels: " << formatNanoseconds(Total);
  if (P.Copies)
    OS << "; copies on the device: " << P.Copies << ", "
       << formatNanoseconds(P.CopyNanoseconds);
  OS << '\n';
  if (P.Lost)
    OS << "without a duration: " << formatCount(P.Lost, "launch") << '\n';
  errs() << Text;
}
