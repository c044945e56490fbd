//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Reduce/Reproducer.h"
#include "Parts.h"
#include "ReproducerText.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Bisect/OptCommand.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Compile/ExternalTools.h"
#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/Mneme/Compile/PtxasOptions.h"
#include "llvm/Mneme/Device/Host/ThreadSupport.h"
#include "llvm/Mneme/IRUtils/ReadIR.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

/// Time limit of each command that checks the program for the CPU.
static constexpr double CommandSeconds = 60;

StringRef mneme::getReproducerKindName(ReproducerKind K) {
  return K == ReproducerKind::GPU ? "gpu" : "cpu";
}

Expected<ReproducerKind> mneme::parseReproducerKind(StringRef Name) {
  for (ReproducerKind K : {ReproducerKind::GPU, ReproducerKind::CPU})
    if (Name == getReproducerKindName(K))
      return K;
  return createStringError("unknown program '" + Name +
                           "': expected 'gpu' or 'cpu'");
}

namespace {
/// One of the two compilations.
struct Side {
  StringRef Name; ///< "good", "bad"
  std::unique_ptr<ReplayPlan> Plan;
  std::string Input;                 ///< Name of the IR before the pipeline.
  bool IsCompiled = false;
  std::string IRCommand;                 ///< From Input to IR; may be empty.
  std::vector<std::string> CodeCommands; ///< From there to the image.
  std::vector<std::string> Missing;      ///< Why commands are missing.
  ReplayResult Result;
};

class ReproducerWriter {
public:
  ReproducerWriter(const ReplayPlan &Bad, const DifferentialResult &D,
                   const ReproducerOptions &O)
      : Bad(Bad), D(D), O(O) {}

  Expected<WrittenReproducer> run(const ReplayOptions &Good);

private:
  const ReplayPlan &Bad;
  const DifferentialResult &D;
  const ReproducerOptions &O;
  std::unique_ptr<ReplayPlan> Expecting;
  PrivateFolder Work;
  Side Sides[2];
  WrittenReproducer Out;
  std::string BuildGPU, ImageSuffix, Llc;
  std::vector<std::string> BuildCPU;
  std::string GoodText, BadText; ///< The output of the CPU's program.

  std::string path(const Twine &Name) const { return pathIn(O.Output, Name); }
  bool isHip() const { return !Bad.isNVPTX(); }
  StringRef gpuProgram() const { return isHip() ? "main.hip" : "main.cu"; }
  Error write(StringRef Name, StringRef Text) {
    return writeFileAtomically(path(Name), Text, /*Sync=*/false);
  }

  Error check(const ReplayOptions &Good) const;
  Error makeSides(const ReplayOptions &Good);
  Error writeInputs();
  Error compileSide(Side &S, bool WithImage);
  void addMachineSteps(Side &S, const PlainSteps &Steps) const;
  Error writeData();
  uint32_t findType(const ComparePart &P) const;
  Error writeFilled(StringRef Name, std::string Text);
  Error writeGPU();
  Error writeCPU();
  Error runCPU(StringRef Command, std::string &Output, bool MayFail);
  void removeFiles(ArrayRef<StringLiteral> Names) const;
  void removeProgram(ReproducerKind Kind);
  std::string listVariables() const;
  std::string describeObserved() const;
  std::vector<std::string> runGPU() const;
  Error writeMakefile();
  Error writeReadme();
};
} // namespace

//===----------------------------------------------------------------------===//
// What a program can do
//===----------------------------------------------------------------------===//

static Error checkRule(const ComparePart &P) {
  const CompareRule &R = P.Rule;
  bool IsFloat = R.DType == MNEME_DTYPE_F32 || R.DType == MNEME_DTYPE_F64;
  bool IsKnown = R.Tolerance == MNEME_TOLERANCE_EXACT ||
                 (IsFloat && (R.Tolerance == MNEME_TOLERANCE_ABS ||
                              R.Tolerance == MNEME_TOLERANCE_REL));
  if (R.Norm == MNEME_NORM_NONE && R.NaN == NaNRule::Equal && !R.Measured &&
      P.Skipped.empty() && IsKnown)
    return Error::success();
  return createStringError(
      "a reproducer compares bits, or f32 and f64 elements by an absolute or "
      "relative tolerance: other rules need Mneme");
}

Error ReproducerWriter::check(const ReplayOptions &Good) const {
  const RecordedInstance &I = Bad.instance();
  if (D.D != Difference::Present)
    return createStringError("nothing to reproduce: " + D.Reason);
  if (D.Bad.V == Verdict::CompileError)
    return createStringError("the bad side has no code to run: " + D.Bad.Error);
  if (!Bad.hasIR())
    return createStringError("the recording has no IR of the kernel");
  if (!Bad.options().PTXFile.empty() || !Good.PTXFile.empty())
    return createStringError("a reproducer begins with IR: leave out --ptx");
  if (!Bad.state().handles().empty())
    return createStringError(
        "the launch has texture or surface objects, which need Mneme");
  if (I.Cooperative)
    return createStringError("the launch is cooperative, which needs Mneme");
  if (I.Cluster.count() > 1)
    return createStringError("the launch has clusters of " +
                             formatDims(I.Cluster) +
                             " blocks, which need Mneme");
  const ComparePlan &Rules = Expecting->comparison();
  if (!Rules.Unordered.empty() || !Rules.Indices.empty())
    return createStringError(
        "records in any order need Mneme: leave out --unordered");
  for (const ComparePart &P : Rules.Parts)
    if (Error E = checkRule(P))
      return E;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// One launch suffices. The programs have neither poison nor an envelope.
static ReplayOptions makeOptions(ReplayOptions Options, StringRef IR) {
  Options.IRFile = IR.str();
  Options.Verify = Options.Execute = true;
  Options.Poison = Options.Adaptive = false;
  Options.Envelope.Replays = 0;
  Options.Iterations = 1;
  Options.Warmup = 0;
  Options.Compared = Baseline::None;
  Options.App.clear();
  Options.CompareWithApp.clear();
  Options.OutputIR.clear();
  Options.OutputAsm.clear();
  Options.OutputObject.clear();
  Options.Instruments = InstrumentOptions();
  return Options;
}

/// The plans of the sides compile the kernel's text, as the programs do.
Error ReproducerWriter::makeSides(const ReplayOptions &Good) {
  if (Error E = PrivateFolder::createTemporary().moveInto(Work))
    return E;
  std::string Text = Work.pathOf("kernel.ll");
  if (Error E = writeNamedText(Bad, Text))
    return E;
  Sides[0].Name = "good";
  Sides[1].Name = "bad";
  if (Error E =
          Expecting->vary(makeOptions(Good, Text)).moveInto(Sides[0].Plan))
    return E;
  return Expecting->vary(makeOptions(Bad.options(), Text))
      .moveInto(Sides[1].Plan);
}

/// The input of both sides is the same file, unless their settings change the
/// IR before the pipeline.
Error ReproducerWriter::writeInputs() {
  static constexpr StringLiteral Common = "kernel.ll";
  std::string Texts[2];
  for (auto [S, Text] : zip_equal(Sides, Texts)) {
    S.Input = "kernel-" + S.Name.str() + ".ll";
    if (Error E = writePlainInput(*S.Plan, path(S.Input)))
      return E;
    Expected<std::unique_ptr<MemoryBuffer>> File = readFile(path(S.Input));
    if (!File)
      return File.takeError();
    Text = (*File)->getBuffer().str();
  }
  if (Texts[0] != Texts[1])
    return Error::success();
  for (Side &S : Sides) {
    sys::fs::remove(path(S.Input));
    S.Input = Common;
  }
  return write(Common, Texts[0]);
}

static std::string makeCommand(std::vector<std::string> Words,
                               std::initializer_list<std::string> Files) {
  Words.insert(Words.end(), Files);
  return quoteCommand(Words);
}

/// Adds the commands from IR to the image.
void ReproducerWriter::addMachineSteps(Side &S, const PlainSteps &Steps) const {
  const KernelCompiler &C = S.Plan->compiler();
  std::string Name = S.Name.str();
  std::vector<std::string> Llc = Steps.Llc;
  if (Llc.empty())
    S.Missing.push_back(Steps.NoLlc);
  else if (isHip())
    Llc.push_back("-filetype=obj");
  if (!Llc.empty())
    S.CodeCommands.push_back(makeCommand(
        Llc, {Name + ".ll", "-o", Name + (isHip() ? ".o" : ".ptx")}));
  if (isHip()) {
    if (!Llc.empty())
      S.CodeCommands.push_back(makeCommand(
          {"ld.lld", "-m", "elf64_amdgpu", "--no-undefined", "-shared"},
          {Name + ".o", "-o", Name + ImageSuffix}));
    return;
  }
  if (!C.options().PtxasControls.empty()) {
    S.Missing.push_back("ptxas needs the file of --ptxas-controls");
    return;
  }
  AssembleOptions A;
  A.Arch = C.arch().str();
  A.Level = C.codeGenLevel();
  A.Extra = C.options().PtxasOptions;
  LLVMContext Context;
  A.Debug = !S.Plan->cloneModule(Context)->debug_compile_units().empty();
  std::vector<std::string> Ptxas = makePtxasOptions(A);
  llvm::erase(Ptxas, "-v");
  Ptxas.insert(Ptxas.begin(),
               C.options().Ptxas.empty() ? "ptxas" : C.options().Ptxas);
  S.CodeCommands.push_back(
      makeCommand(Ptxas, {Name + ".ptx", "-o", Name + ImageSuffix}));
}

/// Writes the side's IR and, if wanted, its assembly and image. Replays it once
/// more, as the comparison before did not compile the text.
Error ReproducerWriter::compileSide(Side &S, bool WithImage) {
  std::string Name = S.Name.str(), IR = path(Name + ".ll"),
              Assembly = path(Name + (isHip() ? ".s" : ".ptx"));
  ReplayOptions Options = S.Plan->options();
  Options.OutputIR = IR;
  if (WithImage) {
    Options.OutputAsm = Assembly;
    Options.OutputObject = path(Name + ImageSuffix);
  }
  Expected<std::unique_ptr<ReplayPlan>> Variant =
      S.Plan->vary(std::move(Options));
  if (!Variant)
    return Variant.takeError();
  if (Error E = runIsolatedReplay(**Variant).moveInto(S.Result))
    return E;
  bool IsGood = &S == &Sides[0];
  if (S.Result.V == Verdict::CompileError || S.Result.verified() != IsGood)
    return createStringError("the " + S.Name + " side of the kernel as text: " +
                             describeResult(S.Result));
  Expected<PlainSteps> Steps =
      makePlainSteps(*S.Plan, path(S.Input), IR, WithImage ? Assembly : "");
  if (!Steps)
    return Steps.takeError();
  S.Missing.clear();
  if (Steps->Opt.empty())
    S.Missing.push_back(Steps->NoOpt);
  else
    S.IRCommand = makeCommand(Steps->Opt, {S.Input, "-o", Name + ".ll"});
  if (WithImage)
    addMachineSteps(S, *Steps);
  S.IsCompiled = true;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Error ReproducerWriter::writeData() {
  if (std::error_code EC = sys::fs::create_directories(path("data")))
    return createFileError(path("data"), EC);
  const RecordedState &State = Expecting->state();
  for (auto [I, R] : enumerate(State.regions())) {
    std::vector<char> Bytes(R.Info.Size);
    if (Error E = State.readRegion(I, /*After=*/false, Bytes))
      return E;
    std::string Name = formatv("data/{0}", R.Info.Id).str();
    std::vector<char> Before = Bytes;
    if (!all_of(Bytes, [](char C) { return !C; }))
      if (Error E = write(Name + ".before", toStringRef(Bytes)))
        return E;
    if (Error E = State.applyChanges(I, Bytes))
      return E;
    if (Bytes != Before)
      if (Error E = write(Name + ".after", toStringRef(Bytes)))
        return E;
  }
  std::string Arguments;
  for (auto [Arg, Bytes] : zip_equal(Bad.kernel().Args, State.args())) {
    if (Arguments.size() < Arg.Offset + Bytes.size())
      Arguments.resize(Arg.Offset + Bytes.size());
    std::copy(Bytes.begin(), Bytes.end(), Arguments.begin() + Arg.Offset);
  }
  return write("data/arguments", Arguments);
}

static std::string quoteC(StringRef Text) {
  std::string Quoted;
  raw_string_ostream OS(Quoted);
  OS << '"';
  OS.write_escaped(Text, /*UseHexEscapes=*/false);
  OS << '"';
  return Quoted;
}

/// Returns the bits of infinity; 0 for types that are no floating-point type.
static StringRef getInfinity(uint32_t DType) {
  switch (DType) {
  case MNEME_DTYPE_F32:
    return "0x7f800000";
  case MNEME_DTYPE_F64:
    return "0x7ff0000000000000";
  case MNEME_DTYPE_F16:
    return "0x7c00";
  case MNEME_DTYPE_BF16:
    return "0x7f80";
  default:
    return "0";
  }
}

/// Prints elements of a part. NaNs are equal only if the part's own rule knows
/// the type.
static void printPart(raw_ostream &OS, const ComparePart &P, uint64_t Offset,
                      uint64_t Size, uint32_t DType) {
  bool IsExact = P.Rule.Tolerance == MNEME_TOLERANCE_EXACT;
  StringRef Type =
      DType == MNEME_DTYPE_BYTES ? StringRef("byte") : getDTypeName(DType);
  StringRef Infinity = DType == P.Rule.DType ? getInfinity(DType) : "0";
  if (Size)
    OS << formatv("    {{{0}, {1}, {2}, \"{3}\", {4}, {5}, {6}, {7}},\n",
                  P.Region, Offset, Size, Type, getDTypeSize(DType), Infinity,
                  IsExact ? "-1"
                          : formatv("{0:r}", json::Value(P.Rule.Value)).str(),
                  P.Rule.Tolerance == MNEME_TOLERANCE_REL ? "true" : "false");
}

static std::string replaceAll(std::string Text, StringRef From, StringRef To) {
  for (size_t At = 0;
       (At = Text.find(From.data(), At, From.size())) != std::string::npos;
       At += To.size())
    Text.replace(At, From.size(), To.data(), To.size());
  return Text;
}

static std::string printDims(const Dim3 &D) {
  return formatv("{0}, {1}, {2}", D.X, D.Y, D.Z).str();
}

/// Returns the type that the comparison found for a part of unknown type.
uint32_t ReproducerWriter::findType(const ComparePart &P) const {
  uint64_t Address =
      Expecting->state().regions()[P.Region].Info.Address + P.Offset;
  for (const BufferReport &B : Sides[1].Result.Buffers)
    if (B.Address == Address && B.Size == P.Size)
      return B.Rule.DType;
  return P.Rule.DType;
}

/// Writes \p Text with what depends on the launch.
Error ReproducerWriter::writeFilled(StringRef Name, std::string Text) {
  const RecordedState &State = Expecting->state();
  std::string Buffers, Parts;
  raw_string_ostream OS(Buffers), POS(Parts);
  for (const RecordedRegion &R : State.regions()) {
    std::string File = path(formatv("data/{0}", R.Info.Id));
    OS << formatv("    {{{0}, {1:x}, {2}, {3}, {4}, {5}},\n", R.Info.Id,
                  R.Info.Address, R.Info.Size,
                  R.Info.IsGlobal ? quoteC(R.Info.Name) : "nullptr",
                  sys::fs::exists(File + ".before") ? "true" : "false",
                  sys::fs::exists(File + ".after") ? "true" : "false");
  }
  for (const ComparePart &P : Expecting->comparison().Parts) {
    // A tail shorter than an element is compared as bytes.
    uint32_t DType = findType(P);
    uint64_t Whole = alignDown(P.Size, getDTypeSize(DType));
    printPart(POS, P, P.Offset, Whole, DType);
    printPart(POS, P, P.Offset + Whole, P.Size - Whole, MNEME_DTYPE_BYTES);
  }
  const std::pair<StringRef, std::string> Values[] = {
      {"@BUFFERS@", Buffers},
      {"@PARTS@", Parts},
      {"@IMAGE@", "bad" + ImageSuffix},
      {"@GRID@", printDims(Bad.grid())},
      {"@BLOCK@", printDims(Bad.block())},
      {"@SHARED@", std::to_string(Bad.sharedMem())},
      {"@RUN@", RunThreadSymbol.str()},
      {"@REGISTERS@", RegistersSymbol.str()},
      {"@VARIABLES@", listVariables()},
      {"@HEADER@", isHip() ? "hip/hip_runtime.h" : "cuda.h"},
      {"@KERNEL@", quoteC(Bad.kernel().KernelName)},
  };
  for (auto [Variable, Value] : Values)
    Text = replaceAll(std::move(Text), Variable, Value);
  return write(Name, Text);
}

//===----------------------------------------------------------------------===//
// The program for the GPU
//===----------------------------------------------------------------------===//

Error ReproducerWriter::writeGPU() {
  if (isHip() && !findLld())
    return createStringError("no ld.lld in PATH, which links code objects");
  for (Side &S : Sides)
    if (Error E = compileSide(S, /*WithImage=*/true))
      return E;
  if (Error E = writeFilled("memory.h", ReproducerMemory))
    return E;
  std::string Text = ReproducerGPU;
  // More than the default needs the program's consent.
  constexpr uint64_t DefaultShared = 48 << 10;
  Text = replaceAll(std::move(Text), "@ATTRIBUTE@",
                    !isHip() && Bad.sharedMem() > DefaultShared
                        ? "  CHECK(cuFuncSetAttribute(Kernel,\n"
                          "                           "
                          "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,\n"
                          "                           @SHARED@));\n"
                        : "");
  if (isHip())
    for (const ReproducerName &N : ReproducerNames)
      Text = replaceAll(std::move(Text), N.Cuda, N.Hip);
  if (Error E = writeFilled(gpuProgram(), std::move(Text)))
    return E;
  BuildGPU = isHip() ? "$(HIPCC) main.hip -o main"
                     : "$(NVCC) -std=c++17 main.cu -lcuda -o main";
  Out.Programs.push_back(gpuProgram().str());
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The program for the CPU
//===----------------------------------------------------------------------===//

/// Returns the table of the variables' addresses in the program.
std::string ReproducerWriter::listVariables() const {
  std::string Externals, Table = "static char *const Variables[] = {\n";
  for (const RecordedRegion &R : Expecting->state().regions()) {
    if (!R.Info.IsGlobal) {
      Table += "    nullptr,\n";
      continue;
    }
    std::string Name = formatv("Variable{0}", R.Info.Id).str();
    Externals += "extern char " + Name + "[] __asm__(" + quoteC(R.Info.Name) +
                 ") __attribute__((weak));\n";
    Table += "    " + Name + ",\n";
  }
  return Externals + Table + "};\n\n";
}

/// Runs a command in the folder.
Error ReproducerWriter::runCPU(StringRef Command, std::string &Output,
                               bool MayFail) {
  std::string Expanded = Command.str();
  for (auto [Variable, Program] :
       {std::pair<StringRef, StringRef>("$(LLC)", Llc),
        std::pair<StringRef, StringRef>("$(CXX)", "c++")})
    Expanded = replaceAll(std::move(Expanded), Variable, Program);
  std::string Script =
      formatv("cd {0} && {1} 2>&1", quoteWord(O.Output), Expanded).str();
  Expected<std::optional<int>> Code =
      askProgram({"/bin/sh", "-c", Script}, Output, CommandSeconds);
  if (!Code)
    return Code.takeError();
  if (*Code == 0 || (MayFail && (!*Code || **Code != 2)))
    return Error::success();
  return createStringError("'" + Expanded + "' fails: " +
                           StringRef(Output).trim().split('\n').first);
}

/// What the commands for the CPU make.
static constexpr StringLiteral BuiltForCPU[] = {
    "support.o", "main.o",     "cpu-good.ll", "cpu-good.o",
    "cpu-good",  "cpu-bad.ll", "cpu-bad.o",   "cpu-bad"};

void ReproducerWriter::removeFiles(ArrayRef<StringLiteral> Names) const {
  for (StringRef Name : Names)
    sys::fs::remove(path(Name));
}

/// Removes what belongs to a program that turned out to be impossible.
void ReproducerWriter::removeProgram(ReproducerKind Kind) {
  if (Kind == ReproducerKind::CPU) {
    removeFiles(BuiltForCPU);
    removeFiles({"main.cpp", "support.ll", "cpu.sed"});
    BuildCPU.clear();
    return;
  }
  removeFiles({"main.cu", "main.hip", "good.ptx", "bad.ptx", "good.cubin",
               "bad.cubin", "good.s", "bad.s", "good.hsaco", "bad.hsaco"});
  BuildGPU.clear();
  for (Side &S : Sides)
    S.CodeCommands.clear();
}

Error ReproducerWriter::writeCPU() {
  if (!Bad.isNVPTX())
    return createStringError("the kernel is not for an NVIDIA GPU");
  if (Error E = findPlainTool("llc").moveInto(Llc))
    return E;
  LLVMContext Context;
  std::unique_ptr<Module> Modules[2];
  for (auto [S, M] : zip_equal(Sides, Modules)) {
    if (!S.IsCompiled)
      if (Error E = compileSide(S, /*WithImage=*/false))
        return E;
    Expected<std::unique_ptr<MemoryBuffer>> IR = readFile(path(S.Name + ".ll"));
    if (!IR)
      return IR.takeError();
    SmallVector<char, 0> Bitcode;
    if (Error E = readIR(**IR, DefaultIRSeconds, Context, Bitcode).moveInto(M))
      return E;
    for (const RecordedRegion &R : Bad.state().regions())
      if (const GlobalVariable *G = M->getNamedGlobal(R.Info.Name);
          R.Info.IsGlobal && G && G->hasLocalLinkage())
        return createStringError("variable '" + R.Info.Name +
                                 "' is local to the module");
  }
  if (Error E = writeFilled("memory.h", ReproducerMemory))
    return E;
  std::vector<uint64_t> Offsets;
  for (const KernelArg &A : Bad.kernel().Args)
    Offsets.push_back(A.Offset);
  Expected<std::string> Support =
      makeThreadSupport({Modules[0].get(), Modules[1].get()},
                        Bad.kernel().KernelName, Offsets, Bad.sharedMem());
  if (!Support)
    return Support.takeError();
  if (Error E = write("support.ll", *Support))
    return E;
  if (Error E = write("cpu.sed",
                      replaceAll(ReproducerSed, "@PREFIX@", IntrinsicPrefix)))
    return E;
  if (Error E = writeFilled("main.cpp", ReproducerCPU))
    return E;
  static constexpr StringLiteral Compile =
      "$(LLC) -O0 -filetype=obj -relocation-model=pic ";
  BuildCPU = {(Compile + "support.ll -o support.o").str(),
              "$(CXX) -std=c++17 -O1 -c main.cpp -o main.o"};
  for (const Side &S : Sides) {
    std::string Name = S.Name.str(), Base = "cpu-" + Name;
    BuildCPU.push_back("sed -E -f cpu.sed " + Name + ".ll > " + Base + ".ll");
    BuildCPU.push_back((Compile + Base + ".ll -o " + Base + ".o").str());
    BuildCPU.push_back("$(CXX) main.o support.o " + Base + ".o -lm -o " + Base);
  }
  std::string Log;
  for (const std::string &Command : BuildCPU)
    if (Error E = runCPU(Command, Log, /*MayFail=*/false))
      return E;
  if (Error E = runCPU("./cpu-good", GoodText, /*MayFail=*/true))
    return E;
  if (Error E = runCPU("./cpu-bad", BadText, /*MayFail=*/true))
    return E;
  if (GoodText != "ok\n")
    return createStringError("its good side is wrong on the CPU: " +
                             StringRef(GoodText).trim().split('\n').first);
  if (BadText == "ok\n")
    return createStringError("its bad side is right on the CPU");
  if (Sides[1].Result.V == Verdict::Mismatch &&
      !StringRef(BadText).starts_with("buffer "))
    return createStringError("its bad side fails otherwise on the CPU: " +
                             StringRef(BadText).trim().split('\n').first);
  removeFiles(BuiltForCPU);
  Out.Programs.push_back("main.cpp");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Makefile and README.md
//===----------------------------------------------------------------------===//

Error ReproducerWriter::writeMakefile() {
  std::string Text;
  raw_string_ostream OS(Text);
  bool HasGPU = !BuildGPU.empty();
  OS << "# make         " << (HasGPU ? "on the GPU" : "on the CPU")
     << ": runs the good side, then the bad one, which fails\n";
  if (HasGPU && !BuildCPU.empty())
    OS << "# make cpu     the same on the CPU\n";
  std::vector<std::string> IR, Code;
  for (const Side &S : Sides) {
    auto Add = [](std::vector<std::string> &To, const std::string &Command) {
      To.push_back(replaceAll(Command, "$", "$$"));
    };
    if (!S.IRCommand.empty())
      Add(IR, S.IRCommand);
    for (const std::string &Command : S.CodeCommands)
      Add(Code, Command);
  }
  if (!IR.empty())
    OS << "# make ir      runs the passes again\n";
  if (!Code.empty())
    OS << "# make code    generates the GPU's code again, from IR\n";
  OS << '\n';
  if (HasGPU)
    OS << (isHip() ? "HIPCC = hipcc\n" : "NVCC = nvcc\n");
  if (!BuildCPU.empty())
    OS << "LLC = " << Llc << '\n';
  OS << '\n';
  std::string Targets;
  auto Print = [&](StringRef Target, ArrayRef<std::string> Commands) {
    Targets += (" " + Target).str();
    OS << Target << ":\n";
    for (StringRef Command : Commands)
      OS << '\t' << Command << '\n';
    OS << '\n';
  };
  if (HasGPU) {
    std::vector<std::string> Commands{BuildGPU};
    append_range(Commands, runGPU());
    Print("gpu", Commands);
  }
  if (!BuildCPU.empty()) {
    std::vector<std::string> Commands = BuildCPU;
    Commands.insert(Commands.end(), {"./cpu-good", "./cpu-bad"});
    Print("cpu", Commands);
  }
  if (!IR.empty())
    Print("ir", IR);
  if (!Code.empty())
    Print("code", Code);
  OS << ".PHONY:" << Targets << '\n';
  return write("Makefile", Text);
}

/// Returns the commands that run the sides. Memory that the CPU's code left is
/// not expected of a GPU, bit for bit: the good side's is.
std::vector<std::string> ReproducerWriter::runGPU() const {
  std::string Good = "good" + ImageSuffix, Bad = "./main bad" + ImageSuffix;
  if (!Sides[1].Result.GPU)
    return {Bad + " " + Good};
  return {"./main " + Good, Bad};
}

static std::string codeBlock(StringRef Text) {
  std::string Lines;
  for (StringRef Line : split(Text.rtrim(), '\n'))
    Lines += ("    " + Line + "\n").str();
  return Lines;
}

/// Returns what the program for the GPU prints, but for digits.
std::string ReproducerWriter::describeObserved() const {
  if (Sides[1].Result.V != Verdict::Mismatch)
    return describeResult(Sides[1].Result);
  std::string Text;
  for (const BufferReport &B : Sides[1].Result.Buffers)
    if (!B.Stats.Pass && B.Stats.First)
      Text += formatv("buffer {0}: {1} of {2} {3} elements differ, first at "
                      "{4}: {5} instead of {6}\n",
                      B.Id, B.Stats.Mismatches, B.Stats.Elements,
                      getDTypeName(B.Rule.DType), *B.Stats.First,
                      B.Stats.Actual, B.Stats.Expected)
                  .str();
  return Text.empty() ? describeResult(Sides[1].Result) : Text;
}

Error ReproducerWriter::writeReadme() {
  std::string Text;
  raw_string_ostream OS(Text);
  const RecordedKernel &K = Bad.kernel();
  bool HasCPU = !BuildCPU.empty(), HasGPU = !BuildGPU.empty();
  OS << "# " << K.displayName() << ": wrong result\n\n"
     << "A GPU kernel for " << Bad.compiler().arch()
     << ", its launch and its memory. Two compilations of it, `good` and "
        "`bad`,\nleave different memory. The programs here need neither the "
        "application nor Mneme.\n\n";
  if (HasGPU) {
    OS << "## On the GPU\n\nThe program needs "
       << (isHip() ? "ROCm" : "a CUDA toolkit")
       << " and a GPU that runs code for " << Bad.compiler().arch() << ":\n\n"
       << codeBlock((isHip() ? "hipcc main.hip -o main"
                             : "nvcc -std=c++17 main.cu -lcuda -o main"))
       << codeBlock(join(runGPU(), "\n")) << "\nExpected:\n\n"
       << codeBlock("ok")
       << "\nObserved (`bad`; device: " << Sides[1].Result.Device;
    if (Sides[1].Result.GPU)
      OS << ", " << Sides[1].Result.GPU->Info.Name << ", driver "
         << Sides[1].Result.GPU->Info.Driver;
    OS << "):\n\n" << codeBlock(describeObserved()) << '\n';
    if (!Sides[1].Result.GPU)
      OS << "That was observed without a GPU, on code of the CPU made of "
            "`bad.ll`. A GPU may round\notherwise, so the second image leaves "
            "the memory that is expected of the first.\n\n";
  }
  if (HasCPU)
    OS << "## On the CPU\n\nThe program needs LLVM's `llc`, `sed`, and a C++ "
          "compiler. It runs the IR of the kernel as\ncode of the CPU, one "
          "thread after the other:\n\n"
       << codeBlock("make cpu") << "\nExpected (`good`):\n\n"
       << codeBlock(GoodText) << "\nObserved (`bad`):\n\n"
       << codeBlock(BadText.empty() ? "(the program dies)" : BadText) << '\n';
  OS << "## Compiling it\n\n";
  for (const Side &S : Sides) {
    OS << "`" << S.Name << "`:\n\n";
    OS << (S.IRCommand.empty() ? "" : codeBlock(S.IRCommand));
    for (const std::string &Command : S.CodeCommands)
      OS << codeBlock(Command);
    for (const std::string &Reason : S.Missing)
      OS << "\nA command is missing: " << Reason << ".\n";
    OS << '\n';
  }
  printCode(OS, O.Output, Sides[1].Input);
  OS << "## Files\n\n| file | contents |\n|---|---|\n";
  auto Row = [&](StringRef Name, StringRef Contents) {
    OS << "| " << Name << " | " << Contents << " |\n";
  };
  Row(Sides[0].Input == Sides[1].Input ? "`kernel.ll`"
                                       : "`kernel-good.ll`, `kernel-bad.ll`",
      "the kernel before the pipeline");
  Row("`good.ll`, `bad.ll`", "after the pipeline");
  if (HasGPU) {
    std::string S = isHip() ? ".s" : ".ptx";
    Row("`good" + S + "`, `bad" + S + "`", "the GPU's assembly");
    Row("`good" + ImageSuffix + "`, `bad" + ImageSuffix + "`",
        "the GPU's machine code");
  }
  if (HasCPU)
    Row("`cpu.sed`, `support.ll`",
        "what makes the IR code of the CPU: replaces the target, and defines "
        "the GPU's intrinsics");
  Row("`memory.h`, `data`",
      "arguments, and memory before the launch and after the good "
      "side");
  OS << formatv("\nGrid {0}, block {1}, {2} bytes of dynamic shared memory.\n",
                formatDims(Bad.grid()), formatDims(Bad.block()),
                Bad.sharedMem());
  OS << "\n## Versions\n\n```\n";
  printVersions(OS, Bad, Sides[1].Result);
  OS << "```\n";
  return write("README.md", Text);
}

Expected<WrittenReproducer> ReproducerWriter::run(const ReplayOptions &Good) {
  ImageSuffix = isHip() ? ".hsaco" : ".cubin";
  Expecting = Bad.withOutcome(D.Expectation);
  if (Error E = check(Good))
    return std::move(E);
  if (Error E = makeSides(Good))
    return std::move(E);
  if (Error E = writeInputs())
    return std::move(E);
  if (Error E = writeData())
    return std::move(E);
  using WriteFn = Error (ReproducerWriter::*)();
  static constexpr std::pair<ReproducerKind, WriteFn> Kinds[] = {
      {ReproducerKind::GPU, &ReproducerWriter::writeGPU},
      {ReproducerKind::CPU, &ReproducerWriter::writeCPU},
  };
  for (auto [Kind, Write] : Kinds) {
    if (O.Only && *O.Only != Kind)
      continue;
    if (Error E = (this->*Write)()) {
      removeProgram(Kind);
      Out.Notes.push_back(formatv("no program for the {0}: {1}",
                                  Kind == ReproducerKind::GPU ? "GPU" : "CPU",
                                  toString(std::move(E)))
                              .str());
    }
  }
  if (Out.Programs.empty())
    return createStringError(join(Out.Notes, "; "));
  if (Error E = writeMakefile())
    return std::move(E);
  if (Error E = writeReadme())
    return std::move(E);
  return std::move(Out);
}

Expected<WrittenReproducer> mneme::writeReproducer(const ReplayPlan &Bad,
                                                   const ReplayOptions &Good,
                                                   const DifferentialResult &D,
                                                   const ReproducerOptions &O) {
  bool IsNew = !sys::fs::exists(O.Output);
  if (std::error_code EC = sys::fs::create_directories(O.Output))
    return createFileError(O.Output, EC);
  std::error_code EC;
  if (sys::fs::directory_iterator(O.Output, EC) !=
          sys::fs::directory_iterator() ||
      EC)
    return createFileError(
        O.Output, createStringError("the folder is not empty: name another"));
  Expected<WrittenReproducer> R = ReproducerWriter(Bad, D, O).run(Good);
  if (R)
    return R;
  // A partial reproducer would be mistaken for a complete one.
  consumeError(removeTree(O.Output));
  if (!IsNew)
    sys::fs::create_directory(O.Output);
  return R.takeError();
}
