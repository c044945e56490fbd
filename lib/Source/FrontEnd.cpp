//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/FrontEnd.h"
#include "ClangJob.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Compile/FindClang.h"
#include "llvm/Mneme/Source/SourceTokens.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

/// Names that the compiler sees.
static constexpr StringLiteral MainName = "/mneme/unit.cu",
                               PrefixName = "/mneme/prefix.cu",
                               CompiledPrefixName = "/mneme/prefix.pch";

static Error checkBitcode(const LinkedBitcode &B) {
  Expected<std::unique_ptr<MemoryBuffer>> File = readFile(B.Path);
  if (!File)
    return File.takeError();
  if (toHexString(digest128((*File)->getBuffer())) == B.Digest)
    return Error::success();
  return createFileError(
      B.Path,
      createStringError("differs from the file that the recorded kernel "
                        "was linked with"));
}

Expected<std::unique_ptr<FrontEnd>>
FrontEnd::create(std::shared_ptr<const SourceUnit> Unit, StringRef Beside) {
  std::unique_ptr<FrontEnd> F(new FrontEnd(std::move(Unit)));
  const SourceInfo &Info = F->Unit->info();
  if (Error E = findClang(Beside, Info.Compiler).moveInto(F->Clang))
    return std::move(E);
  for (const LinkedBitcode &B : Info.Bitcode)
    if (Error E = checkBitcode(B))
      return std::move(E);
  return std::move(F);
}

FrontEnd::~FrontEnd() = default;

Error FrontEnd::preparePrefix() {
  const SourceInfo &Info = Unit->info();
  if (!Info.HasPrefix || Prefix)
    return Error::success();
  ComposedText All =
      Unit->text().compose(Unit->marked(), Info.Blocks, Info.NeedsTail);
  All.Text.resize(All.Fixed);
  std::string Closed = All.Text;
  for (unsigned I = countOpenConditionals(All.Text); I; --I)
    Closed += "#endif\n";
  FrontEndLimits Own = Limits;
  Own.OutputBytes = 0;
  ClangJob Job(Info, Clang, Own);
  if (Error E = PrivateFolder::createTemporary().moveInto(Folder))
    return E;
  std::string Source = Folder.pathOf("prefix.cu");
  if (Error E = writeFileAtomically(Source, Closed))
    return E;
  Job.map(PrefixName, Source);
  // Otherwise, each version would instantiate the templates that headers need.
  Expected<CompilerRun> Run =
      Job.run({"-emit-pch", "-fpch-instantiate-templates"}, PrefixName);
  if (!Run)
    return Run.takeError();
  if (!Run->succeeded())
    return createStringError("cannot compile the inclusions of '" + Info.File +
                             "' ahead: " + Run->describeFailure());
  if (std::error_code EC =
          sys::fs::rename(Job.outputPath(), Folder.pathOf("prefix.pch")))
    return createFileError(Folder.pathOf("prefix.pch"), EC);
  Prefix = std::make_unique<ComposedText>(std::move(All));
  return Error::success();
}

/// Returns the text that decides what is compiled ahead.
static StringRef getHead(StringRef Version) {
  return Version.take_front(Version.find(BlockStart));
}

namespace {
/// The text that clang compiles, made of a version.
class VersionText {
public:
  /// \param All  without the part of \p Prefix, if that is given.
  VersionText(const ComposedText &All, const ComposedText *Prefix,
              const SourceDefines &Defines);

  const std::string &text() const { return Text; }
  /// Returns the position in the version, or in a file of the unit, of one in
  /// the text.
  SourcePosition translate(SourcePosition P) const;

private:
  const ComposedText &All;
  const ComposedText *Prefix; ///< What is compiled ahead; may be null.
  std::string Text;
  unsigned AddedLines = 0; ///< Lines in front of All.
};
} // namespace

VersionText::VersionText(const ComposedText &All, const ComposedText *Prefix,
                         const SourceDefines &Defines)
    : All(All), Prefix(Prefix) {
  for (const auto &[Name, Value] : Defines)
    Text += "#define " + Name + " " + Value + "\n";
  if (Prefix) {
    // The first branch that is true was taken: later branches are skipped.
    for (unsigned I = All.OpenBefore; I; --I)
      Text += "#if 1\n";
    Text += All.FixedMarkers;
  }
  AddedLines = StringRef(Text).count('\n');
  Text += All.Text;
}

/// Returns the file and line that the line markers before \p Line of \p Text
/// state.
static SourcePosition findPresumed(StringRef Text, unsigned Line) {
  SmallVector<StringRef, 0> Lines;
  Text.split(Lines, '\n');
  for (unsigned I = std::min<size_t>(Line, Lines.size()); I-- > 0;) {
    StringRef Marker = Lines[I];
    SourcePosition P;
    if (!Marker.consume_front("# ") || Marker.consumeInteger(10, P.Line) ||
        !Marker.consume_front(" \""))
      continue;
    P.File = Marker.take_until([](char C) { return C == '"'; }).str();
    P.Line += Line - I - 2;
    return P;
  }
  return {};
}

SourcePosition VersionText::translate(SourcePosition P) const {
  bool IsAhead = Prefix && P.File == PrefixName;
  if (!IsAhead && P.File != MainName)
    return P;
  unsigned Added = IsAhead ? 0 : AddedLines;
  if (P.Line <= Added)
    return {};
  ArrayRef<unsigned> Origins = IsAhead ? Prefix->Origins : All.Origins;
  unsigned Index = P.Line - Added - 1;
  if (unsigned Origin = Index < Origins.size() ? Origins[Index] : 0)
    return {KernelSourceName.str(), Origin, P.Column};
  SourcePosition Presumed = findPresumed(IsAhead ? Prefix->Text : Text, P.Line);
  Presumed.Column = P.Column;
  return Presumed;
}

/// The compiler did not end by itself.
static SourceDiagnostic describeEnd(const CompilerRun &Run,
                                    const FrontEndLimits &Limits) {
  SourceDiagnostic D;
  D.Severity = "fatal error";
  D.Message =
      Run.IsLate
          ? formatv("the compiler needs more than {0} s", Limits.Seconds).str()
          : "the compiler " + Run.describeFailure();
  return D;
}

Expected<FrontEndResult> FrontEnd::compile(StringRef Version,
                                           const SourceDefines &Defines,
                                           SourceEdit Edit) const {
  const SourceInfo &Info = Unit->info();
  bool AnyEdit = Edit == SourceEdit::Anywhere;
  if (!AnyEdit)
    if (Error E = Unit->checkVersion(Version))
      return std::move(E);
  bool WithTail = AnyEdit || Info.NeedsTail;
  bool UsesPrefix = Prefix && getHead(Version) == getHead(Unit->marked());
  ComposedText All =
      UsesPrefix ? Unit->text().composeRest(Version, Info.Blocks, WithTail)
                 : Unit->text().compose(Version, Info.Blocks, WithTail);
  VersionText Text(All, UsesPrefix ? Prefix.get() : nullptr, Defines);
  ClangJob Job(Info, Clang, Limits);
  if (Error E = Job.add(MainName, Text.text()))
    return std::move(E);
  for (const LinkedBitcode &B : Info.Bitcode)
    Job.map(B.Path, B.Path);
  std::vector<std::string> Action = {"-emit-llvm-bc", "-disable-llvm-passes"};
  if (UsesPrefix) {
    Job.map(PrefixName, Folder.pathOf("prefix.cu"));
    Job.map(CompiledPrefixName, Folder.pathOf("prefix.pch"));
    Action.insert(Action.end(), {"-include-pch", CompiledPrefixName.str()});
  }
  Expected<CompilerRun> Run = Job.run(Action, MainName);
  if (!Run)
    return Run.takeError();
  std::vector<SourceDiagnostic> Diagnostics = parseDiagnostics(
      Run->Messages, [&](SourcePosition P) { return Text.translate(P); });
  if (!Run->succeeded()) {
    if (none_of(Diagnostics,
                [](const SourceDiagnostic &D) { return D.isError(); }))
      Diagnostics.push_back(describeEnd(*Run, Limits));
    return make_error<SourceError>(std::move(Diagnostics), Version);
  }
  Expected<ExtractedKernel> Kernel = extractFromUnit(Job.outputPath(), Info);
  if (!Kernel)
    return makeSourceError(recognizeShortage(Kernel.takeError()), Version);
  FrontEndResult Result;
  Result.Bitcode = std::move(Kernel->Bitcode);
  Result.StaticHash = std::move(Kernel->StaticHash);
  Result.Warnings = std::move(Diagnostics);
  Result.Seconds = Run->Seconds;
  return std::move(Result);
}
