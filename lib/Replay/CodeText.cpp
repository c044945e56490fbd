//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/CodeText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Compile/InstructionMix.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Transforms/Utils/InstructionNamer.h"

using namespace llvm;
using namespace llvm::mneme;

Error mneme::writeNamedIR(const ReplayPlan &Plan, StringRef Path) {
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  FunctionAnalysisManager NotUsed;
  for (Function &F : *M)
    InstructionNamerPass().run(F, NotUsed);
  SmallVector<char, 0> Bitcode = writeExactBitcode(*M);
  return writeFileAtomically(Path, StringRef(Bitcode.data(), Bitcode.size()),
                             /*Sync=*/false);
}

StringRef mneme::findFunction(StringRef IR, StringRef Function) {
  if (Function.empty())
    return "";
  for (const std::string &Text :
       {("@" + Function + "(").str(), ("@\"" + Function + "\"(").str()}) {
    for (size_t At = IR.find(Text); At != StringRef::npos;
         At = IR.find(Text, At + 1)) {
      size_t Begin = IR.rfind('\n', At);
      Begin = Begin == StringRef::npos ? 0 : Begin + 1;
      if (!IR.substr(Begin).starts_with("define "))
        continue;
      size_t End = IR.find("\n}\n", At);
      return IR.slice(Begin, End == StringRef::npos ? End : End + 3);
    }
  }
  return "";
}

//===----------------------------------------------------------------------===//
// The kernel's part of a file
//===----------------------------------------------------------------------===//

/// Returns the lines from the first that contains \p First to the first that
/// begins with \p Last; all lines if there are none.
static std::string takeLines(StringRef Text, const Twine &First,
                             StringRef Last) {
  std::string Taken;
  bool Inside = false;
  std::string Begin = First.str();
  for (StringRef Line : split(Text, '\n')) {
    Inside |= Line.contains(Begin);
    if (!Inside)
      continue;
    Taken += (Line + "\n").str();
    if (Line.starts_with(Last))
      return Taken;
  }
  return Text.str();
}

/// Returns the labels and instructions of \p Kernel in nvdisasm's output.
/// Offsets are removed: an added instruction would change all following ones.
static std::string takeSASS(StringRef Text, StringRef Kernel) {
  std::string Taken;
  bool Inside = false;
  for (StringRef Line : split(Text, '\n')) {
    if (StringRef Section = Line.ltrim(); Section.consume_front(".section"))
      Inside = Section.ltrim().ltrim('"').starts_with(
          (".text." + Kernel + ",").str());
    if (!Inside)
      continue;
    if (Line.ends_with(":") && !Line.starts_with(".text."))
      Taken += (Line + "\n").str();
    else if (Line.ltrim().starts_with("/*"))
      Taken += ("\t" + Line.split("*/").second.ltrim() + "\n").str();
  }
  return Taken;
}

/// Removes directives for the linker, the unwinder and the debugger.
static std::string dropDirectives(StringRef Assembly) {
  static constexpr StringLiteral Kept[] = {".quad", ".long",  ".short", ".byte",
                                           ".zero", ".ascii", ".asciz", ".set"};
  std::string Taken;
  for (StringRef Line : split(Assembly.rtrim(), '\n')) {
    StringRef Word = Line.ltrim().take_until(isSpace);
    if (Line.starts_with("\t.") && !is_contained(Kept, Word))
      continue;
    Taken += (Line + "\n").str();
  }
  return Taken;
}

/// Counts lines indented by two spaces, as LLVM indents instructions. Operands
/// on separate lines are indented further.
static uint64_t countIRInstructions(StringRef Function) {
  return count_if(split(Function, '\n'), [](StringRef Line) {
    return Line.consume_front("  ") && !Line.empty() && !isSpace(Line[0]) &&
           Line[0] != ']';
  });
}

/// Counts instructions in assembly that indents them with a tab.
static uint64_t countInstructions(StringRef Assembly) {
  return count_if(split(Assembly, '\n'), [](StringRef Line) {
    return Line.consume_front("\t") && !Line.empty() && !isSpace(Line[0]) &&
           !StringRef(".;/#{}").contains(Line[0]);
  });
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

namespace {
/// Output files of one compilation.
struct CodeFiles {
  std::string IR, Assembly, Image, HostAssembly;
};

class CodeReader {
public:
  CodeReader(const ReplayPlan &Plan, const CodeFiles &Files)
      : Plan(Plan), Files(Files), Kernel(Plan.kernel().KernelName) {}

  Error readIR(CodeText &Out) const;
  Error readAssembly(CodeText &Out) const;
  Error readMachineCode(CodeText &Out) const;
  Error readHost(CodeText &Out) const;

private:
  const ReplayPlan &Plan;
  const CodeFiles &Files;
  StringRef Kernel;
};
} // namespace

Error CodeReader::readIR(CodeText &Out) const {
  Out.Title = "optimized IR";
  Out.NumberedNames = "[%!#][0-9]+[[:>:]]";
  Expected<std::unique_ptr<MemoryBuffer>> Text = readFile(Files.IR);
  if (!Text)
    return Text.takeError();
  Out.Text = findFunction((*Text)->getBuffer(), Kernel).str();
  Out.Instructions = countIRInstructions(Out.Text);
  return Error::success();
}

Error CodeReader::readAssembly(CodeText &Out) const {
  bool IsNVPTX = Plan.isNVPTX();
  Out.Title = IsNVPTX ? "PTX" : "assembly";
  Out.NumberedNames =
      IsNVPTX ? "%[a-z]+[0-9]+[[:>:]]|L__BB[0-9]+_[0-9]+|%bb[.][0-9]+"
              : "[[:<:]][vsa](\\[[0-9]+:)?[0-9]+|BB[0-9]+_[0-9]+";
  Expected<std::unique_ptr<MemoryBuffer>> Text = readFile(Files.Assembly);
  if (!Text)
    return Text.takeError();
  StringRef All = (*Text)->getBuffer();
  Out.Text =
      IsNVPTX
          ? takeLines(All, ".entry " + Kernel + "(", "}")
          : dropDirectives(takeLines(All, "\n" + Kernel + ":", ".Lfunc_end"));
  Out.Instructions = countInstructions(Out.Text);
  return Error::success();
}

Error CodeReader::readMachineCode(CodeText &Out) const {
  bool IsNVPTX = Plan.isNVPTX();
  Out.Title = IsNVPTX ? "SASS" : "machine code";
  Out.NumberedNames = IsNVPTX
                          ? "[[:<:]]U?[RP][0-9]+[[:>:]]|[.]L_x_[0-9]+"
                          : "[[:<:]][vsa](\\[[0-9]+:)?[0-9]+|[0-9a-fA-F]{8,}";
  const std::string &CudaPath = Plan.options().CudaPath;
  if (Files.Image.empty())
    return checkPTXCompiler(Plan.options().Assembler, CudaPath,
                            Plan.options().Ptxas);
  Expected<std::unique_ptr<MemoryBuffer>> Image = readFile(Files.Image);
  if (!Image)
    return Image.takeError();
  StringRef Bytes = (*Image)->getBuffer();
  Expected<std::string> Text =
      IsNVPTX ? disassembleCubin(Bytes, CudaPath) : disassembleObject(Bytes);
  if (!Text)
    return Text.takeError();
  Out.Text = IsNVPTX ? takeSASS(*Text, Kernel) : std::move(*Text);
  if (!IsNVPTX) {
    Out.Instructions = countInstructions(Out.Text);
    return Error::success();
  }
  for (const auto &[Opcode, Count] : parseInstructionMix(*Text, Kernel))
    Out.Instructions += Count;
  return Error::success();
}

Error CodeReader::readHost(CodeText &Out) const {
  Out.Title = "host assembly";
  Out.NumberedNames = "[.]L[A-Za-z]+[0-9]+(_[0-9]+)?|%bb[.][0-9]+";
  Expected<std::unique_ptr<MemoryBuffer>> Text = readFile(Files.HostAssembly);
  if (!Text)
    return Text.takeError();
  Out.Text = dropDirectives((*Text)->getBuffer());
  Out.Instructions = countInstructions(Out.Text);
  return Error::success();
}

/// Compiles in a separate process: the compiler may crash or hang.
static Expected<ReplayResult> compileIsolated(const ReplayPlan &Plan,
                                              CodeTarget Target) {
  auto Body =
      [&](function_ref<void(ReplayStage)> Report) -> Expected<ReplayResult> {
    Expected<CompiledKernel> Code = compileVariant(Plan, Target, Report);
    if (!Code)
      return Code.takeError();
    ReplayResult R;
    describeCode(*Code, R);
    return R;
  };
  return runIsolated(Plan, Body);
}

bool mneme::canBuildImage(const ReplayPlan &Plan) {
  const ReplayOptions &O = Plan.options();
  return !Plan.isNVPTX() ||
         !errorToBool(checkPTXCompiler(O.Assembler, O.CudaPath, O.Ptxas));
}

Expected<ReplayCode> mneme::readReplayCode(const ReplayPlan &Plan,
                                           StringRef Device) {
  Expected<PrivateFolder> Work = PrivateFolder::createTemporary();
  if (!Work)
    return Work.takeError();
  bool OnHost = Device == "host";
  CodeFiles Files{Work->pathOf("kernel.ll"), Work->pathOf("kernel.s"), "",
                  OnHost ? Work->pathOf("host.s") : ""};
  ReplayOptions O = Plan.options();
  if (canBuildImage(Plan) || !OnHost)
    Files.Image = Work->pathOf("image");
  O.OutputIR = Files.IR;
  O.OutputAsm = Files.Assembly;
  O.OutputObject = Files.Image;
  O.OutputHostAsm = Files.HostAssembly;
  O.Instruments = InstrumentOptions();
  // An external opt handles value names itself.
  if (O.OptTool.empty()) {
    O.IRFile = Work->pathOf("named.bc");
    if (Error E = writeNamedIR(Plan, O.IRFile))
      return std::move(E);
  }
  Expected<std::unique_ptr<ReplayPlan>> Shown = Plan.vary(std::move(O));
  if (!Shown)
    return Shown.takeError();
  ReplayCode Code;
  if (Error E =
          compileIsolated(**Shown, OnHost ? CodeTarget::Host : CodeTarget::GPU)
              .moveInto(Code.Compiled))
    return std::move(E);
  CodeReader Reader(Plan, Files);
  using ReadFn = Error (CodeReader::*)(CodeText &) const;
  static constexpr std::pair<CodeForm, ReadFn> Forms[] = {
      {CodeForm::IR, &CodeReader::readIR},
      {CodeForm::Assembly, &CodeReader::readAssembly},
      {CodeForm::Machine, &CodeReader::readMachineCode},
      {CodeForm::Host, &CodeReader::readHost}};
  for (auto [Form, Read] : Forms) {
    if (Form == CodeForm::Host && !OnHost)
      continue;
    CodeText &T = Code.Forms.emplace_back();
    T.Form = Form;
    if (Error E = (Reader.*Read)(T)) {
      std::string Reason = toString(std::move(E));
      T.Missing = Code.Compiled.failed() ? Code.Compiled.Error : Reason;
    }
  }
  return std::move(Code);
}
