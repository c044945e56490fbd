//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/CompareCode.h"
#include "CompareCodeObjects.h"
#include "GPUImage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::support::endian;

static Error damagedImage(const Twine &What) {
  return createStringError("damaged GPU image: " + What);
}

//===----------------------------------------------------------------------===//
// Sections, symbols and relocations of a cubin
//===----------------------------------------------------------------------===//

namespace {
struct CubinSymbol {
  StringRef Name;
  uint64_t Value, Size;
  uint32_t Section;
  bool IsFunction, IsSection, IsLocal;
};

struct CubinRelocation {
  uint32_t Type, Symbol;
  int64_t Addend;
};

/// A location in a module: a symbol and an offset from it.
struct Place {
  const CubinSymbol *Symbol = nullptr;
  uint64_t Distance = 0;
};

class Cubin {
public:
  static Expected<Cubin> create(StringRef Image);

  struct Section {
    StringRef Name, Bytes;
    std::map<uint64_t, CubinRelocation> Relocations; ///< By offset.
  };
  const Section *find(StringRef Name) const;
  uint32_t indexOf(const Section &S) const { return &S - Sections.data(); }
  /// Returns the variable or function at an address of a section.
  Place at(uint32_t Section, uint64_t Address) const;
  /// Returns the location that a relocation refers to.
  Place target(const CubinRelocation &R) const;
  /// Returns the initial value of a symbol; empty if it has none.
  StringRef getData(const CubinSymbol &S) const;
  const CubinSymbol *symbol(uint32_t Index) const {
    return Index < Symbols.size() ? &Symbols[Index] : nullptr;
  }
  /// Returns true for the 16-byte instruction format that sm_70 introduced.
  bool hasWideInstructions() const { return SM >= 70; }

private:
  std::vector<Section> Sections;
  std::vector<CubinSymbol> Symbols;
  unsigned SM = 0;

  Error readRelocations(const Elf &File, const Elf::Elf_Shdr &Header);
};
} // namespace

Expected<Cubin> Cubin::create(StringRef Image) {
  Expected<Elf> File = openGPUImage(Image);
  if (!File)
    return File.takeError();
  if (File->getHeader().e_machine != ELF::EM_CUDA)
    return createStringError("the GPU image is not NVIDIA's");
  Cubin C;
  C.SM = getSMNumber(*File);
  auto Headers = File->sections();
  if (!Headers)
    return damagedImage(toString(Headers.takeError()));
  for (const Elf::Elf_Shdr &Header : *Headers) {
    Expected<StringRef> Name = File->getSectionName(Header);
    if (!Name)
      return damagedImage(toString(Name.takeError()));
    Expected<StringRef> Bytes = getContents(*File, Header);
    if (!Bytes)
      return damagedImage(toString(Bytes.takeError()));
    C.Sections.push_back({*Name, *Bytes, {}});
  }
  Error E = forEachSymbol(
      *File, [&](uint32_t, StringRef Name, const Elf::Elf_Sym &S) {
        C.Symbols.push_back({Name, S.st_value, S.st_size, S.st_shndx,
                             S.getType() == ELF::STT_FUNC,
                             S.getType() == ELF::STT_SECTION,
                             S.getBinding() == ELF::STB_LOCAL});
      });
  if (E)
    return damagedImage(toString(std::move(E)));
  for (const Elf::Elf_Shdr &Header : *Headers)
    if (Error E = C.readRelocations(*File, Header))
      return std::move(E);
  return C;
}

Error Cubin::readRelocations(const Elf &File, const Elf::Elf_Shdr &Header) {
  if (Header.sh_type != ELF::SHT_RELA && Header.sh_type != ELF::SHT_REL)
    return Error::success();
  if (Header.sh_info >= Sections.size())
    return damagedImage("relocations of no section");
  auto &Out = Sections[Header.sh_info].Relocations;
  auto Add = [&](const auto &R, int64_t Addend) {
    Out[R.r_offset] = {R.getType(false), R.getSymbol(false), Addend};
  };
  if (Header.sh_type == ELF::SHT_RELA) {
    auto Relas = File.relas(Header);
    if (!Relas)
      return damagedImage(toString(Relas.takeError()));
    for (const Elf::Elf_Rela &R : *Relas)
      Add(R, R.r_addend);
    return Error::success();
  }
  auto Rels = File.rels(Header);
  if (!Rels)
    return damagedImage(toString(Rels.takeError()));
  for (const Elf::Elf_Rel &R : *Rels)
    Add(R, 0);
  return Error::success();
}

const Cubin::Section *Cubin::find(StringRef Name) const {
  auto It = find_if(Sections, [&](const Section &S) { return S.Name == Name; });
  return It == Sections.end() ? nullptr : &*It;
}

Place Cubin::at(uint32_t Section, uint64_t Address) const {
  for (const CubinSymbol &S : Symbols)
    if (S.Section == Section && !S.IsSection && Address >= S.Value &&
        Address - S.Value < S.Size)
      return {&S, Address - S.Value};
  return {};
}

Place Cubin::target(const CubinRelocation &R) const {
  const CubinSymbol *S = symbol(R.Symbol);
  if (!S)
    return {};
  if (S->IsSection)
    return at(S->Section, S->Value + R.Addend);
  return {S, static_cast<uint64_t>(R.Addend)};
}

StringRef Cubin::getData(const CubinSymbol &S) const {
  if (S.Section >= Sections.size())
    return "";
  return Sections[S.Section].Bytes.substr(S.Value, S.Size);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace {
constexpr uint64_t InstructionSize = 16;

/// An operand "c[Bank][Offset]", or "c[Bank][R + Offset]" in a load.
struct ConstantOperand {
  unsigned Bank;
  uint64_t Offset;
  std::optional<unsigned> Index; ///< The register R.
};

// Bit positions and fields in the lower eight bytes of an instruction.
constexpr unsigned FormShift = 9, TargetShift = 16, IndexShift = 24,
                   ImmediateShift = 32, OffsetShift = 38, BankShift = 54;
constexpr uint64_t OpcodeMask = 0xfff, FormMask = 7, RegisterMask = 0xff,
                   OffsetMask = 0xffff, BankMask = 31;
constexpr uint64_t MoveImmediate = 0x802, LoadConstant = 0xb82;
constexpr unsigned ZeroRegister = 255;
/// Forms with the constant as second or third operand.
constexpr uint64_t ConstantForms[] = {3, 5};
} // namespace

static std::optional<ConstantOperand> getConstant(StringRef Instruction) {
  uint64_t Low = read64le(Instruction.data());
  if (!is_contained(ConstantForms, Low >> FormShift & FormMask))
    return std::nullopt;
  ConstantOperand C{static_cast<unsigned>(Low >> BankShift & BankMask),
                    Low >> OffsetShift & OffsetMask, std::nullopt};
  unsigned Register = Low >> IndexShift & RegisterMask;
  if ((Low & OpcodeMask) == LoadConstant && Register != ZeroRegister)
    C.Index = Register;
  return C;
}

/// Matches a "MOV R, immediate" at \p Offset whose register is the index of a
/// later "LDC c[4][R]", the code that loads the address of a system function.
/// \returns the offset of the slot that is loaded.
static std::optional<uint64_t> getSlotImmediate(StringRef Code,
                                                uint64_t Offset) {
  /// ptxas places the two instructions close together.
  constexpr uint64_t Distance = 64 * InstructionSize;
  uint64_t Move = read64le(Code.data() + Offset);
  if ((Move & OpcodeMask) != MoveImmediate)
    return std::nullopt;
  uint64_t End = std::min<uint64_t>(Code.size(), Offset + Distance);
  for (uint64_t At = Offset + InstructionSize; At + InstructionSize <= End;
       At += InstructionSize) {
    std::optional<ConstantOperand> C = getConstant(Code.substr(At));
    if (C && C->Bank == 4 && C->Index == (Move >> TargetShift & RegisterMask))
      return C->Offset + (Move >> ImmediateShift);
  }
  return std::nullopt;
}

/// Returns true if the instructions are equal except for a 32-bit immediate.
static bool differInImmediateOnly(StringRef A, StringRef B) {
  return A.take_front(4) == B.take_front(4) &&
         A.drop_front(8) == B.drop_front(8);
}

/// Returns true if the instructions are equal except for the offset into the
/// constant bank.
static bool differInOffsetOnly(StringRef A, StringRef B) {
  constexpr uint64_t Mask = OffsetMask << OffsetShift;
  return (read64le(A.data()) & ~Mask) == (read64le(B.data()) & ~Mask) &&
         A.drop_front(8) == B.drop_front(8);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

namespace {
/// Compares the code that a kernel runs in two cubins.
class CodeComparer {
public:
  CodeComparer(const Cubin &A, const Cubin &B, StringRef Kernel)
      : A(A), B(B), Kernel(Kernel) {}

  Expected<CodeComparison> run();

private:
  const Cubin &A, &B;
  StringRef Kernel;
  CodeComparison Result;
  /// Functions that have been or will be compared.
  SmallVector<StringRef, 4> Functions;

  void compareFunction(StringRef Name);
  bool sameInstruction(const Cubin::Section &X, const Cubin::Section &Y,
                       uint64_t Offset);
  bool sameConstant(StringRef X, StringRef Y);
  bool sameVariable(uint64_t X, uint64_t Y);
  bool sameRelocations(const Cubin::Section &X, const Cubin::Section &Y,
                       uint64_t Begin, uint64_t End);
  bool sameSlot(uint64_t X, uint64_t Y);
  bool samePlace(const Place &X, const Place &Y);
  void compareConstants();

  void differ(StringRef What) {
    if (Result.Difference.empty())
      Result.Difference = What.str();
  }
};
} // namespace

bool CodeComparer::samePlace(const Place &X, const Place &Y) {
  if (!X.Symbol || !Y.Symbol || X.Distance != Y.Distance)
    return false;
  const CubinSymbol &S = *X.Symbol, &T = *Y.Symbol;
  if (S.IsFunction != T.IsFunction)
    return false;
  if (S.IsFunction) {
    if (S.Name != T.Name)
      return false;
    if (!is_contained(Functions, S.Name))
      Functions.push_back(S.Name);
    return true;
  }
  if (S.Name == T.Name)
    return S.Size == T.Size;
  // LLVM names its own constants with dots, which become "_$_", and merges
  // constants of equal value; the remaining name depends on the module.
  return S.IsLocal && T.IsLocal && S.Name.contains("_$_") &&
         T.Name.contains("_$_") && !A.getData(S).empty() &&
         A.getData(S) == B.getData(T);
}

/// Returns true if two slots of the address table hold the same address.
bool CodeComparer::sameSlot(uint64_t X, uint64_t Y) {
  constexpr uint64_t SlotMask = 7;
  auto Find = [](const Cubin &C, uint64_t Offset) -> const CubinRelocation * {
    const Cubin::Section *Table = C.find(".nv.constant4");
    if (!Table)
      return nullptr;
    auto It = Table->Relocations.find(Offset & ~SlotMask);
    return It == Table->Relocations.end() ? nullptr : &It->second;
  };
  const CubinRelocation *V = Find(A, X), *W = Find(B, Y);
  if (!V && !W)
    return X == Y;
  return V && W && (X & SlotMask) == (Y & SlotMask) &&
         samePlace(A.target(*V), B.target(*W));
}

/// Returns true if two offsets in bank 3 refer to the same location of a
/// variable. An offset outside of all variables of an image, e.g. past the end
/// of an array, equals only the same offset.
bool CodeComparer::sameVariable(uint64_t X, uint64_t Y) {
  const Cubin::Section *S = A.find(".nv.constant3");
  const Cubin::Section *T = B.find(".nv.constant3");
  Place V = S ? A.at(A.indexOf(*S), X) : Place();
  Place W = T ? B.at(B.indexOf(*T), Y) : Place();
  return V.Symbol && W.Symbol ? samePlace(V, W) : X == Y;
}

bool CodeComparer::sameConstant(StringRef X, StringRef Y) {
  std::optional<ConstantOperand> P = getConstant(X), Q = getConstant(Y);
  if (!P || !Q || P->Bank != Q->Bank)
    return X == Y;
  if (P->Bank == 3)
    return sameVariable(P->Offset, Q->Offset);
  // If the offset is in an index register, it is compared where the register is
  // set.
  if (P->Bank == 4 && !P->Index && !Q->Index)
    return sameSlot(P->Offset, Q->Offset);
  return X == Y;
}

bool CodeComparer::sameRelocations(const Cubin::Section &X,
                                   const Cubin::Section &Y, uint64_t Begin,
                                   uint64_t End) {
  auto I = X.Relocations.lower_bound(Begin);
  auto J = Y.Relocations.lower_bound(Begin);
  auto IE = X.Relocations.lower_bound(End), JE = Y.Relocations.lower_bound(End);
  for (; I != IE && J != JE; ++I, ++J)
    if (I->first != J->first || I->second.Type != J->second.Type ||
        !samePlace(A.target(I->second), B.target(J->second)))
      return false;
  return I == IE && J == JE;
}

bool CodeComparer::sameInstruction(const Cubin::Section &X,
                                   const Cubin::Section &Y, uint64_t Offset) {
  StringRef P = X.Bytes.substr(Offset, InstructionSize);
  StringRef Q = Y.Bytes.substr(Offset, InstructionSize);
  if (P.size() != Q.size() ||
      !sameRelocations(X, Y, Offset, Offset + InstructionSize))
    return false;
  if (P.size() != InstructionSize || !A.hasWideInstructions())
    return P == Q;
  std::optional<uint64_t> V = getSlotImmediate(X.Bytes, Offset);
  std::optional<uint64_t> W = getSlotImmediate(Y.Bytes, Offset);
  if (V && W ? !differInImmediateOnly(P, Q) || !sameSlot(*V, *W)
             : !differInOffsetOnly(P, Q) || !sameConstant(P, Q))
    return false;
  Result.Relocated |= P != Q;
  return true;
}

void CodeComparer::compareFunction(StringRef Name) {
  std::string SectionName = (".text." + Name).str();
  const Cubin::Section *X = A.find(SectionName), *Y = B.find(SectionName);
  // A system function, or a function in the section of its kernel.
  if (!X && !Y)
    return;
  if (!X || !Y)
    return differ("function");
  uint64_t Common = std::min(X->Bytes.size(), Y->Bytes.size());
  for (uint64_t Offset = 0; Offset < Common; Offset += InstructionSize) {
    if (sameInstruction(*X, *Y, Offset))
      continue;
    if (Name == Kernel)
      Result.FirstDifference = Offset;
    return differ(Name == Kernel ? "instruction" : "function");
  }
  if (X->Bytes.size() == Y->Bytes.size())
    return;
  if (Name == Kernel)
    Result.FirstDifference = Common;
  differ(Name == Kernel ? "size" : "function");
}

/// Bank 2 holds the literals and jump tables of a kernel.
void CodeComparer::compareConstants() {
  std::string Name = (".nv.constant2." + Kernel).str();
  const Cubin::Section *X = A.find(Name), *Y = B.find(Name);
  if (!X && !Y)
    return;
  if (!X || !Y || X->Bytes != Y->Bytes ||
      !sameRelocations(*X, *Y, 0, X->Bytes.size()))
    differ("constants");
}

Expected<CodeComparison> CodeComparer::run() {
  std::string Name = (".text." + Kernel).str();
  for (const Cubin *C : {&A, &B})
    if (!C->find(Name))
      return createStringError(
          formatv("the GPU image has no kernel '{0}'", Kernel).str());
  Functions.push_back(Kernel);
  // The loop adds functions.
  for (size_t I = 0; I != Functions.size(); ++I)
    compareFunction(Functions[I]);
  compareConstants();
  Result.Identical = Result.Difference.empty();
  return std::move(Result);
}

Expected<CodeComparison> mneme::compareKernelCode(StringRef Ours,
                                                  StringRef Theirs,
                                                  StringRef Kernel) {
  Expected<Elf> File = openGPUImage(Ours);
  if (!File)
    return File.takeError();
  if (File->getHeader().e_machine == ELF::EM_AMDGPU)
    return compareCodeObjects(Ours, Theirs, Kernel);
  Expected<Cubin> A = Cubin::create(Ours);
  if (!A)
    return A.takeError();
  Expected<Cubin> B = Cubin::create(Theirs);
  if (!B)
    return B.takeError();
  return CodeComparer(*A, *B, Kernel).run();
}

//===----------------------------------------------------------------------===//
// ptxas' note about itself
//===----------------------------------------------------------------------===//

/// Words of the note's description: a version, a number, the offsets of the
/// tool's name, version, build and options. The strings follow.
enum ToolWord : size_t { NameWord = 2, BuildWord = 4, OptionsWord = 5 };

static std::optional<StringRef> getToolText(StringRef Note, ToolWord Wanted) {
  constexpr size_t StringsAt = 24;
  if (Note.size() < StringsAt)
    return std::nullopt;
  StringRef Strings = Note.drop_front(StringsAt);
  auto Get = [&](size_t Word) {
    StringRef Rest = Strings.substr(read32le(Note.data() + 4 * Word));
    return Rest.take_until([](char C) { return C == '\0'; });
  };
  if (Get(NameWord) != "ptxas")
    return std::nullopt;
  return Get(Wanted).trim();
}

static std::string readToolText(StringRef Image, ToolWord Wanted) {
  constexpr uint32_t ToolInfo = 2000;
  auto Give = [](auto &&Value) {
    consumeError(Value.takeError());
    return std::string();
  };
  Expected<Elf> File = openElf(Image);
  if (!File)
    return Give(File);
  Expected<const Elf::Elf_Shdr *> Section =
      findSection(*File, ".note.nv.tkinfo");
  if (!Section)
    return Give(Section);
  if (!*Section)
    return "";
  Expected<StringRef> Bytes = getContents(*File, **Section);
  if (!Bytes)
    return Give(Bytes);
  // Do not use Elf::notes(): the section does not always have the note type.
  StringRef Rest = *Bytes;
  constexpr size_t NoteHeader = 12;
  while (Rest.size() >= NoteHeader) {
    uint64_t NameSize = alignTo(read32le(Rest.data()), 4);
    uint64_t Size = read32le(Rest.data() + 4);
    uint32_t Type = read32le(Rest.data() + 8);
    StringRef Description = Rest.substr(NoteHeader + NameSize, Size);
    if (Type == ToolInfo)
      if (std::optional<StringRef> Text = getToolText(Description, Wanted))
        return Text->str();
    Rest = Rest.substr(NoteHeader + NameSize + alignTo(Size, 4));
  }
  return "";
}

std::string mneme::readPtxasOptions(StringRef Image) {
  return readToolText(Image, OptionsWord);
}

std::string mneme::readPtxasBuild(StringRef Image) {
  std::string Text = readToolText(Image, BuildWord);
  StringRef Build = Text;
  Build.consume_front("Build ");
  return Build.str();
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

json::Value mneme::toJSON(const AppComparison &C) {
  return json::Object{
      {"app", json::fixUTF8(C.App)},
      {"identical", C.Code.Identical},
      {"relocations",
       C.Code.Relocated ? json::Value("equal") : json::Value(nullptr)},
      {"difference", orNull(C.Code.Difference)},
      {"first_difference", C.Code.FirstDifference},
      {"copies", C.Copies},
      {"ptxas_options", orNull(C.Options)},
      {"resources", toJSON(C.Resources)}};
}

bool mneme::fromJSON(const json::Value &V, AppComparison &C, json::Path P) {
  json::ObjectMapper O(V, P);
  std::optional<std::string> Relocations, Difference, Options;
  if (!O || !O.map("app", C.App) || !O.map("identical", C.Code.Identical) ||
      !O.map("relocations", Relocations) ||
      !O.map("difference", Difference) ||
      !O.map("first_difference", C.Code.FirstDifference) ||
      !O.map("copies", C.Copies) || !O.map("ptxas_options", Options) ||
      !O.map("resources", C.Resources))
    return false;
  C.Code.Relocated = Relocations.has_value();
  C.Code.Difference = Difference.value_or("");
  C.Options = Options.value_or("");
  return true;
}
