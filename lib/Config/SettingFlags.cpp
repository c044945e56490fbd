//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Config/SettingFlags.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;
using namespace llvm::mneme;

struct SettingFlags::Flag {
  const SettingInfo &Info;

  explicit Flag(const SettingInfo &Info) : Info(Info) {}
  virtual ~Flag() = default;
  virtual bool isGiven() const = 0;
  virtual void apply(KernelConfig &C) const = 0;
};

namespace {
/// The type of an option's value.
template <typename T> struct Parsed {
  using Type = T;
};
template <typename T> struct Parsed<std::optional<T>> {
  using Type = T;
};

template <typename T> class ValueFlag : public SettingFlags::Flag {
  using GetFn = T &(*)(KernelConfig & C);
  /// Can be repeated.
  static constexpr bool IsList = std::is_same_v<T, std::vector<std::string>>;
  std::conditional_t<IsList, cl::list<std::string>,
                     cl::opt<typename Parsed<T>::Type>>
      Option;
  GetFn Get;

public:
  ValueFlag(const SettingInfo &Info, cl::OptionCategory &Category, GetFn Get)
      : Flag(Info), Option(StringRef(Info.Option), cl::desc(Info.Help),
                           cl::value_desc(Info.ValueDesc), cl::cat(Category),
                           cl::sub(cl::SubCommand::getAll())),
        Get(Get) {}
  bool isGiven() const override { return Option.getNumOccurrences() != 0; }
  void apply(KernelConfig &C) const override {
    if constexpr (IsList) {
      Get(C).clear();
      for (const std::string &Text : Option)
        append_range(Get(C), splitWords(Text));
    } else {
      Get(C) = Option.getValue();
    }
  }
};
} // namespace

SettingFlags::SettingFlags(
    function_ref<cl::OptionCategory *(const SettingInfo &)> Categorize) {
#define SETTING(Key, Option, Type, Member, ...)                                \
  if (cl::OptionCategory *Category = Categorize(*findSetting(Key)))            \
    Flags.push_back(std::make_unique<ValueFlag<Type>>(                         \
        *findSetting(Key), *Category,                                          \
        [](KernelConfig &C) -> Type & { return C.Member; }));
#include "llvm/Mneme/Config/Config.def"
}

SettingFlags::~SettingFlags() = default;

bool SettingFlags::isGiven(StringRef Key) const {
  return any_of(Flags, [&](const std::unique_ptr<Flag> &F) {
    return F->Info.Key == Key && F->isGiven();
  });
}

void SettingFlags::apply(KernelConfig &C) const {
  for (const std::unique_ptr<Flag> &F : Flags)
    if (F->isGiven())
      F->apply(C);
}
