//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePlaces.h"
#include "ParsePass.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Mneme/Transforms/Trace.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static bool parseRange(StringRef Text, TraceRange &R) {
  SmallVector<StringRef, 3> Parts;
  Text.split(Parts, ':');
  return Parts.size() == 3 && !Parts[0].getAsInteger(0, R.Begin) &&
         !Parts[1].getAsInteger(0, R.End) &&
         !Parts[2].getAsInteger(0, R.Marks) && R.Begin < R.End;
}

Expected<TraceOptions> mneme::parseTraceOptions(StringRef Text) {
  TraceOptions Options;
  while (!Text.empty()) {
    StringRef Param;
    std::tie(Param, Text) = Text.split(';');
    auto [Name, Value] = Param.split('=');
    bool Good = false;
    if (Name == "range") {
      TraceRange R;
      Good = parseRange(Value, R) &&
             (Options.Ranges.empty() || Options.Ranges.back().End <= R.Begin);
      Options.Ranges.push_back(R);
    } else if (Name == "read-first") {
      Good = !Value.getAsInteger(0, Options.ReadFirst);
    } else if (Name == "control") {
      Good = !Value.getAsInteger(0, Options.Control);
    } else if (Name == "limit") {
      Good = !Value.getAsInteger(0, Options.Limit);
    }
    if (!Good)
      return createStringError(
          formatv("invalid mneme-trace pass parameter '{0}'", Param).str());
  }
  return Options;
}

std::string mneme::toString(const TraceOptions &Options) {
  std::string Text;
  raw_string_ostream OS(Text);
  OS << "mneme-trace<";
  for (const TraceRange &R : Options.Ranges)
    OS << formatv("range={0:x}:{1:x}:{2:x};", R.Begin, R.End, R.Marks);
  OS << formatv("read-first={0:x};control={1:x}", Options.ReadFirst,
                Options.Control);
  if (Options.Limit)
    OS << ";limit=" << Options.Limit;
  OS << '>';
  return Text;
}

void TracePass::printPipeline(
    raw_ostream &OS, function_ref<StringRef(StringRef)> MapClassName2PassName) {
  OS << toString(Options);
}

//===----------------------------------------------------------------------===//
// The functions that set marks
//===----------------------------------------------------------------------===//

static constexpr StringLiteral ReadName = "mneme_trace_read",
                               WriteName = "mneme_trace_write";

/// {0}: number of ranges; {1}: their initializer.
static constexpr StringLiteral Globals = R"(
@mneme_trace_ranges = internal unnamed_addr addrspace(1) constant [{0} x {{ i64, i64, i64 }] [{1}]
)";

/// Template of both functions, which differ only in their code for a mark. {0}:
/// name; {1}: number of ranges; {2}: address of the control byte; {3}: code for
/// a mark; {4}: code that limits the time; {5}: prefix of the intrinsic that
/// returns the block index along an axis.
static constexpr StringLiteral Notes = R"(
define void @{0}(i64 %address, i64 %size) noinline nounwind {{
entry:
  %control = inttoptr i64 {2} to ptr addrspace(1)
  %off = load volatile i8, ptr addrspace(1) %control
  %is.off = icmp ne i8 %off, 0
  br i1 %is.off, label %exit, label %begin
begin:
{4}
in.time:
  %last = add i64 %address, %size
  %block.x = call i32 @{5}x()
  %block.y = call i32 @{5}y()
  %block.z = call i32 @{5}z()
  %block.y.part = mul i32 %block.y, 31
  %block.z.part = mul i32 %block.z, 17
  %block.xy = add i32 %block.x, %block.y.part
  %block.xyz = add i32 %block.xy, %block.z.part
  %block.rest = urem i32 %block.xyz, 255
  %block.byte = trunc i32 %block.rest to i8
  %block = add i8 %block.byte, 1
  br label %search
search: ; the first range that ends behind the address
  %low = phi i64 [ 0, %in.time ], [ %low.next, %probe ]
  %high = phi i64 [ {1}, %in.time ], [ %high.next, %probe ]
  %is.open = icmp ult i64 %low, %high
  br i1 %is.open, label %probe, label %range
probe:
  %sum = add i64 %low, %high
  %middle = lshr i64 %sum, 1
  %probe.at = getelementptr [{1} x {{ i64, i64, i64 }], ptr addrspace(1) @mneme_trace_ranges, i64 0, i64 %middle, i32 1
  %probe.end = load i64, ptr addrspace(1) %probe.at
  %is.behind = icmp ugt i64 %probe.end, %address
  %up = add i64 %middle, 1
  %low.next = select i1 %is.behind, i64 %low, i64 %up
  %high.next = select i1 %is.behind, i64 %middle, i64 %high
  br label %search
range: ; an access may reach into several
  %index = phi i64 [ %low, %search ], [ %index.next, %next ]
  %is.one = icmp ult i64 %index, {1}
  br i1 %is.one, label %clip, label %exit
clip:
  %begin.at = getelementptr [{1} x {{ i64, i64, i64 }], ptr addrspace(1) @mneme_trace_ranges, i64 0, i64 %index, i32 0
  %range.begin = load i64, ptr addrspace(1) %begin.at
  %end.at = getelementptr [{1} x {{ i64, i64, i64 }], ptr addrspace(1) @mneme_trace_ranges, i64 0, i64 %index, i32 1
  %range.end = load i64, ptr addrspace(1) %end.at
  %marks.at = getelementptr [{1} x {{ i64, i64, i64 }], ptr addrspace(1) @mneme_trace_ranges, i64 0, i64 %index, i32 2
  %marks = load i64, ptr addrspace(1) %marks.at
  %is.before = icmp ugt i64 %range.begin, %address
  %from = select i1 %is.before, i64 %range.begin, i64 %address
  %is.after = icmp ult i64 %range.end, %last
  %to = select i1 %is.after, i64 %range.end, i64 %last
  %is.touched = icmp ult i64 %from, %to
  br i1 %is.touched, label %bytes, label %exit
bytes:
  %byte = phi i64 [ %from, %clip ], [ %byte.next, %noted ]
  %offset = sub i64 %byte, %range.begin
  %mark.at = add i64 %marks, %offset
  %mark = inttoptr i64 %mark.at to ptr addrspace(1)
{3}
noted:
  %byte.next = add i64 %byte, 1
  %is.more = icmp ult i64 %byte.next, %to
  br i1 %is.more, label %bytes, label %next
next:
  %index.next = add i64 %index, 1
  br label %range
exit:
  ret void
}
)";

static constexpr StringLiteral NoteWrite = R"(
  store volatile i8 %block, ptr addrspace(1) %mark
  br label %noted
)";

/// A read counts as a first read unless the same block wrote the byte: a block
/// that waits for another block's write may have read the old value. Bit 0: no
/// block has written it; bit 1: another block has. Of two reads at the same
/// time, one may be lost, but not both. {0}: offset from a mark to its
/// read-first byte.
static constexpr StringLiteral NoteRead = R"(
  %writer = load volatile i8, ptr addrspace(1) %mark
  %is.own = icmp eq i8 %writer, %block
  br i1 %is.own, label %noted, label %first
first:
  %other.at = add i64 %mark.at, {0}
  %other = inttoptr i64 %other.at to ptr addrspace(1)
  %is.unwritten = icmp eq i8 %writer, 0
  br i1 %is.unwritten, label %unwritten, label %shared
unwritten: ; most reads: a store is cheaper than an update
  store volatile i8 1, ptr addrspace(1) %other
  br label %noted
shared:
  %bits = load volatile i8, ptr addrspace(1) %other
  %bits.new = or i8 %bits, 2
  store volatile i8 %bits.new, ptr addrspace(1) %other
  br label %noted
)";

/// {0}: address of the control byte; {1}: limit in nanoseconds. One access in
/// 256, chosen by the multiprocessor's clock, asks the global timer, which all
/// multiprocessors share. When each access asked, an H200 took launches of
/// less than 0.3 s for late.
static constexpr StringLiteral LimitTime = R"(
  %clock = call i32 @llvm.nvvm.read.ptx.sreg.clock()
  %phase = and i32 %clock, 255
  %asks = icmp eq i32 %phase, 0
  br i1 %asks, label %ask, label %in.time
ask:
  %start.at = inttoptr i64 {0} to ptr addrspace(1)
  %start.place = getelementptr i8, ptr addrspace(1) %start.at, i64 8
  %now = call i64 @llvm.nvvm.read.ptx.sreg.globaltimer()
  %start = load volatile i64, ptr addrspace(1) %start.place
  %is.first = icmp eq i64 %start, 0
  br i1 %is.first, label %start.now, label %check
start.now:
  store volatile i64 %now, ptr addrspace(1) %start.place
  br label %in.time
check:
  %spent = sub i64 %now, %start
  ; The clocks of two multiprocessors may differ.
  %is.late = icmp sgt i64 %spent, {1}
  br i1 %is.late, label %again, label %in.time
again: ; its two halves are read one after the other
  %now.again = call i64 @llvm.nvvm.read.ptx.sreg.globaltimer()
  %spent.again = sub i64 %now.again, %start
  %is.late.again = icmp sgt i64 %spent.again, {1}
  br i1 %is.late.again, label %late, label %in.time
late:
  store volatile i8 1, ptr addrspace(1) %control
  br label %exit
)";

/// Returns the IR of both functions.
static std::string printNotes(const TraceOptions &O, bool IsNVPTX) {
  std::string Ranges;
  ListSeparator LS;
  for (const TraceRange &R : O.Ranges)
    Ranges += formatv("{0}{{ i64, i64, i64 } {{ i64 {1}, i64 {2}, i64 {3} }",
                      StringRef(LS), int64_t(R.Begin), int64_t(R.End),
                      int64_t(R.Marks))
                  .str();
  int64_t Control = O.Control;
  std::string Limit = O.Limit
                          ? formatv(LimitTime.data(), Control, O.Limit).str()
                          : "  br label %in.time";
  std::string Text = formatv(Globals.data(), O.Ranges.size(), Ranges).str();
  std::string Read = formatv(NoteRead.data(), int64_t(O.ReadFirst)).str();
  StringRef Block =
      IsNVPTX ? "llvm.nvvm.read.ptx.sreg.ctaid." : "llvm.amdgcn.workgroup.id.";
  for (auto [Name, Note] : {std::make_pair(ReadName, StringRef(Read)),
                            std::make_pair(WriteName, StringRef(NoteWrite))})
    Text += formatv(Notes.data(), Name, O.Ranges.size(), Control, Note, Limit,
                    Block)
                .str();
  for (char Axis : {'x', 'y', 'z'})
    Text += formatv("declare i32 @{0}{1}()\n", Block, Axis).str();
  if (O.Limit)
    Text += "declare i64 @llvm.nvvm.read.ptx.sreg.globaltimer()\n"
            "declare i32 @llvm.nvvm.read.ptx.sreg.clock()\n";
  return Text;
}

static void addNotes(Module &M, const TraceOptions &O) {
  // Parse in a separate context: M's context may discard value names.
  SMDiagnostic Diagnostic;
  LLVMContext Named;
  std::unique_ptr<Module> Text = parseAssemblyString(
      printNotes(O, getTriple(M).isNVPTX()), Diagnostic, Named);
  if (!Text)
    report_fatal_error("cannot parse mneme-trace's functions: " +
                       Diagnostic.getMessage());
  std::unique_ptr<Module> Added = copyModule(*Text, M.getContext());
  Added->setTargetTriple(M.getTargetTriple());
  Added->setDataLayout(M.getDataLayout());
  if (Linker::linkModules(M, std::move(Added)))
    report_fatal_error("cannot link mneme-trace's functions");
  // The linker would drop unused functions that are internal when linked.
  for (StringRef Name : {ReadName, WriteName})
    M.getFunction(Name)->setLinkage(GlobalValue::InternalLinkage);
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

namespace {
/// An access of an instruction to a memory location.
struct Access {
  Value *Pointer;
  Value *Size; ///< In bytes; null: the size of Ty.
  Type *Ty;
  bool Reads, Writes;
};
} // namespace

/// Returns true for NVPTX's own load and atomic intrinsics.
static bool isOtherAccess(const IntrinsicInst &I, bool &Writes) {
  StringRef Name = Intrinsic::getBaseName(I.getIntrinsicID());
  Writes = Name.starts_with("llvm.nvvm.atomic");
  return Writes || Name.starts_with("llvm.nvvm.ldu.global") ||
         Name.starts_with("llvm.nvvm.ldg.global");
}

static SmallVector<Access, 2> findAccesses(Instruction &I) {
  if (auto *L = dyn_cast<LoadInst>(&I))
    return {{L->getPointerOperand(), nullptr, L->getType(), true, false}};
  if (auto *S = dyn_cast<StoreInst>(&I))
    return {{S->getPointerOperand(), nullptr, S->getValueOperand()->getType(),
             false, true}};
  if (auto *A = dyn_cast<AtomicRMWInst>(&I))
    return {{A->getPointerOperand(), nullptr, A->getType(), true, true}};
  if (auto *A = dyn_cast<AtomicCmpXchgInst>(&I))
    return {{A->getPointerOperand(), nullptr, A->getCompareOperand()->getType(),
             true, true}};
  if (auto *T = dyn_cast<AnyMemTransferInst>(&I))
    return {{T->getRawSource(), T->getLength(), nullptr, true, false},
            {T->getRawDest(), T->getLength(), nullptr, false, true}};
  if (auto *S = dyn_cast<AnyMemSetInst>(&I))
    return {{S->getRawDest(), S->getLength(), nullptr, false, true}};
  bool Writes = false;
  if (auto *II = dyn_cast<IntrinsicInst>(&I); II && isOtherAccess(*II, Writes))
    return {{II->getArgOperand(0), nullptr, II->getType(), true, Writes}};
  return {};
}

PreservedAnalyses TracePass::run(Module &M, ModuleAnalysisManager &) {
  if (Options.Ranges.empty())
    return PreservedAnalyses::all();
  SmallVector<std::pair<Instruction *, Access>, 64> Accesses;
  for (Function &F : M)
    for (Instruction &I : instructions(F))
      for (const Access &A : findAccesses(I))
        if (canBeDeviceMemory(A.Pointer))
          Accesses.push_back({&I, A});
  TraceOptions O = Options;
  if (!getTriple(M).isNVPTX())
    O.Limit = 0;
  addNotes(M, O);
  const DataLayout &DL = M.getDataLayout();
  for (auto &[I, A] : Accesses) {
    IRBuilder<> B(I);
    Value *Address = B.CreatePtrToInt(A.Pointer, B.getInt64Ty());
    Value *Size =
        A.Size ? B.CreateZExtOrTrunc(A.Size, B.getInt64Ty())
               : B.CreateTypeSize(B.getInt64Ty(), DL.getTypeStoreSize(A.Ty));
    if (A.Reads)
      B.CreateCall(M.getFunction(ReadName), {Address, Size});
    if (A.Writes)
      B.CreateCall(M.getFunction(WriteName), {Address, Size});
  }
  return PreservedAnalyses::none();
}

void mneme::registerTracePass(PassBuilder &PB) {
  registerPass<TracePass>(PB, "mneme-trace", parseTraceOptions);
}
