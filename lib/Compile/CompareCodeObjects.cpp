//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Code objects have no relocations for their instructions: an instruction
/// s_getpc_b64 is followed by two additions whose literals are the distance to
/// a variable, a function, or a slot of the global offset table. The distance
/// depends on the rest of the module. It is therefore compared by the symbol at
/// its end. A function that the plugin has copied for a tuned kernel is the one
/// that it is a copy of.
///
//===----------------------------------------------------------------------===//

#include "CompareCodeObjects.h"
#include "GPUImage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Mneme/Transforms/Apply.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::support::endian;

static Error damagedObject(const Twine &What) {
  return createStringError("damaged GPU image: " + What);
}

//===----------------------------------------------------------------------===//
// Sections, symbols, relocations and metadata of a code object
//===----------------------------------------------------------------------===//

namespace {
struct CodeSymbol {
  StringRef Name;
  uint64_t Value, Size;
  uint32_t Section;
  bool IsFunction, IsSection, IsLocal;
};

struct CodeRelocation {
  uint32_t Type, Symbol;
  int64_t Addend;
};

/// A symbol, and an offset from it. Private constants have no symbol.
struct CodePlace {
  const CodeSymbol *Symbol = nullptr;
  uint64_t Distance = 0;
  /// Without a symbol: the bytes before the place and from it on, between the
  /// symbols around it. The constant is among them. Empty if it is not known.
  StringRef Before, After;
};

class CodeObject {
public:
  static Expected<CodeObject> create(StringRef Image);

  struct Section {
    StringRef Name, Bytes;
    uint64_t Address, Size;
    std::map<uint64_t, CodeRelocation> Relocations; ///< By offset.
  };

  bool isRelocatable() const { return Relocatable; }
  const CodeSymbol *find(StringRef Name) const;
  const Section *section(const CodeSymbol &S) const {
    return S.Section < Sections.size() ? &Sections[S.Section] : nullptr;
  }
  /// Returns the initial value or the code of a symbol; empty if it has none.
  StringRef getData(const CodeSymbol &S) const;
  /// Returns the relocations of [\p S, +Size), by offset from \p S.
  std::map<uint64_t, CodeRelocation> relocations(const CodeSymbol &S) const;
  /// Returns the place that a relocation of an instruction refers to. \p Bias
  /// is the distance from the word to where the addition counts from.
  CodePlace target(const CodeRelocation &R, uint64_t Bias) const;
  /// Returns the symbol at an address of the loaded image, through a slot of
  /// the global offset table if it is one.
  CodePlace at(uint64_t Address) const;
  /// Returns the metadata of a kernel as text; empty if it has none.
  std::string metadata(StringRef Kernel) const {
    return Metadata.lookup(Kernel);
  }

private:
  std::vector<Section> Sections;
  std::vector<CodeSymbol> Symbols;
  std::map<uint64_t, CodeRelocation> Slots; ///< By address.
  std::vector<CodeSymbol> SlotSymbols;      ///< Of the dynamic relocations.
  StringMap<std::string> Metadata;
  bool Relocatable = false;

  Error readRelocations(const Elf &File, const Elf::Elf_Shdr &Header);
  Error readDynamicSymbols(const Elf &File, const Elf::Elf_Shdr &Header);
  Error readMetadata(const Elf &File, const Elf::Elf_Shdr &Header);
  CodePlace inSection(uint32_t Section, uint64_t Address) const;
  CodePlace inConstant(uint32_t Section, uint64_t Address) const;
};
} // namespace

Expected<CodeObject> CodeObject::create(StringRef Image) {
  Expected<Elf> File = openGPUImage(Image);
  if (!File)
    return File.takeError();
  if (File->getHeader().e_machine != ELF::EM_AMDGPU)
    return createStringError("the GPU image is not AMD's");
  CodeObject C;
  C.Relocatable = File->getHeader().e_type == ELF::ET_REL;
  auto Headers = File->sections();
  if (!Headers)
    return damagedObject(toString(Headers.takeError()));
  for (const Elf::Elf_Shdr &Header : *Headers) {
    Expected<StringRef> Name = File->getSectionName(Header);
    if (!Name)
      return damagedObject(toString(Name.takeError()));
    Expected<StringRef> Bytes = getContents(*File, Header);
    if (!Bytes)
      return damagedObject(toString(Bytes.takeError()));
    C.Sections.push_back({*Name, *Bytes, Header.sh_addr, Header.sh_size, {}});
  }
  Error E = forEachSymbol(*File, [&](uint32_t, StringRef Name,
                                     const Elf::Elf_Sym &S) {
    C.Symbols.push_back(
        {Name, S.st_value, S.st_size, S.st_shndx, S.getType() == ELF::STT_FUNC,
         S.getType() == ELF::STT_SECTION, S.getBinding() == ELF::STB_LOCAL});
  });
  if (E)
    return damagedObject(toString(std::move(E)));
  for (const Elf::Elf_Shdr &Header : *Headers) {
    if (Error E = C.readDynamicSymbols(*File, Header))
      return std::move(E);
    if (Error E = C.readRelocations(*File, Header))
      return std::move(E);
    if (Error E = C.readMetadata(*File, Header))
      return std::move(E);
  }
  return C;
}

Error CodeObject::readDynamicSymbols(const Elf &File,
                                     const Elf::Elf_Shdr &Header) {
  if (Header.sh_type != ELF::SHT_DYNSYM)
    return Error::success();
  Expected<StringRef> Names = File.getStringTableForSymtab(Header);
  if (!Names)
    return damagedObject(toString(Names.takeError()));
  auto All = File.symbols(&Header);
  if (!All)
    return damagedObject(toString(All.takeError()));
  for (const Elf::Elf_Sym &S : *All) {
    Expected<StringRef> Name = S.getName(*Names);
    if (!Name)
      return damagedObject(toString(Name.takeError()));
    SlotSymbols.push_back({*Name, S.st_value, S.st_size, S.st_shndx,
                           S.getType() == ELF::STT_FUNC, false, false});
  }
  return Error::success();
}

Error CodeObject::readRelocations(const Elf &File,
                                  const Elf::Elf_Shdr &Header) {
  if (Header.sh_type != ELF::SHT_RELA)
    return Error::success();
  auto Relas = File.relas(Header);
  if (!Relas)
    return damagedObject(toString(Relas.takeError()));
  if (Relocatable && Header.sh_info >= Sections.size())
    return damagedObject("relocations of no section");
  auto &Out = Relocatable ? Sections[Header.sh_info].Relocations : Slots;
  for (const Elf::Elf_Rela &R : *Relas)
    Out[R.r_offset] = {R.getType(false), R.getSymbol(false), R.r_addend};
  return Error::success();
}

Error CodeObject::readMetadata(const Elf &File, const Elf::Elf_Shdr &Header) {
  if (Header.sh_type != ELF::SHT_NOTE)
    return Error::success();
  std::string Problem;
  Error Err = Error::success();
  for (auto Note : File.notes(Header, Err)) {
    if (Note.getName() != "AMDGPU" || Note.getType() != ELF::NT_AMDGPU_METADATA)
      continue;
    msgpack::Document Doc;
    size_t Alignment = std::max<size_t>(Header.sh_addralign, 4);
    if (!Doc.readFromBlob(Note.getDescAsStringRef(Alignment), false) ||
        !Doc.getRoot().isMap()) {
      Problem = "AMDGPU metadata is not a MessagePack map";
      break;
    }
    msgpack::DocNode &Kernels = Doc.getRoot().getMap()["amdhsa.kernels"];
    if (!Kernels.isArray())
      continue;
    for (msgpack::DocNode Node : std::vector<msgpack::DocNode>(
             Kernels.getArray().begin(), Kernels.getArray().end())) {
      if (!Node.isMap() || !Node.getMap()[".name"].isString())
        continue;
      std::string &Text = Metadata[Node.getMap()[".name"].getString()];
      raw_string_ostream OS(Text);
      Doc.getRoot() = Node;
      Doc.toYAML(OS);
    }
  }
  if (Err)
    return damagedObject(toString(std::move(Err)));
  return Problem.empty() ? Error::success() : damagedObject(Problem);
}

const CodeSymbol *CodeObject::find(StringRef Name) const {
  auto It = find_if(Symbols, [&](const CodeSymbol &S) {
    return S.Name == Name && S.Section != ELF::SHN_UNDEF &&
           S.Section < Sections.size();
  });
  return It == Symbols.end() ? nullptr : &*It;
}

StringRef CodeObject::getData(const CodeSymbol &S) const {
  const Section *In = section(S);
  if (!In || S.Value < In->Address)
    return "";
  // In an object, sections have no addresses.
  return In->Bytes.substr(S.Value - In->Address, S.Size);
}

std::map<uint64_t, CodeRelocation>
CodeObject::relocations(const CodeSymbol &S) const {
  std::map<uint64_t, CodeRelocation> Found;
  if (const Section *In = section(S))
    for (auto I = In->Relocations.lower_bound(S.Value);
         I != In->Relocations.end() && I->first - S.Value < S.Size; ++I)
      Found[I->first - S.Value] = I->second;
  return Found;
}

CodePlace CodeObject::inSection(uint32_t In, uint64_t Address) const {
  for (const CodeSymbol &S : Symbols)
    if (S.Section == In && !S.IsSection && Address >= S.Value &&
        (Address - S.Value < S.Size || Address == S.Value))
      return {&S, Address - S.Value, "", ""};
  return inConstant(In, Address);
}

CodePlace CodeObject::inConstant(uint32_t In, uint64_t Address) const {
  // Elsewhere, constants of linked images have relocations.
  const Section &S = Sections[In];
  if (!S.Name.starts_with(".rodata") || Address < S.Address ||
      Address - S.Address >= S.Bytes.size())
    return {};
  uint64_t Begin = S.Address, End = S.Address + S.Bytes.size();
  for (const CodeSymbol &Other : Symbols) {
    if (Other.Section != In || Other.IsSection)
      continue;
    if (Other.Value > Address)
      End = std::min(End, Other.Value);
    else if (Other.Size && Address - Other.Value >= Other.Size)
      Begin = std::max(Begin, Other.Value + Other.Size);
  }
  // In an object, sections have no addresses.
  const auto &Relocations = Relocatable ? S.Relocations : Slots;
  auto Relocation = Relocations.lower_bound(Begin);
  if (Relocation != Relocations.end() && Relocation->first < End)
    return {};
  return {nullptr, 0, S.Bytes.slice(Begin - S.Address, Address - S.Address),
          S.Bytes.slice(Address - S.Address, End - S.Address)};
}

CodePlace CodeObject::target(const CodeRelocation &R, uint64_t Bias) const {
  if (R.Symbol >= Symbols.size())
    return {};
  const CodeSymbol &S = Symbols[R.Symbol];
  uint64_t Distance = R.Addend - Bias;
  if (S.IsSection)
    return S.Section < Sections.size()
               ? inSection(S.Section, S.Value + Distance)
               : CodePlace();
  return {&S, Distance, "", ""};
}

CodePlace CodeObject::at(uint64_t Address) const {
  if (auto Slot = Slots.find(Address); Slot != Slots.end()) {
    const CodeRelocation &R = Slot->second;
    if (R.Type == ELF::R_AMDGPU_RELATIVE64)
      Address = R.Addend;
    else if (R.Symbol < SlotSymbols.size())
      return {&SlotSymbols[R.Symbol], static_cast<uint64_t>(R.Addend), "", ""};
  }
  for (auto [I, S] : enumerate(Sections))
    if (S.Address && Address >= S.Address && Address - S.Address < S.Size)
      return inSection(I, Address);
  return {};
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

namespace {
class CodeObjectComparer {
public:
  CodeObjectComparer(const CodeObject &A, const CodeObject &B, StringRef Kernel)
      : A(A), B(B), Kernel(Kernel) {}

  Expected<CodeComparison> run();

private:
  const CodeObject &A, &B;
  StringRef Kernel;
  CodeComparison Result;
  /// Names in A and B of the functions that have been or will be compared.
  SmallVector<std::pair<StringRef, StringRef>, 4> Functions;

  void compareFunction(StringRef InA, StringRef InB);
  bool sameWord(const CodeSymbol &X, const CodeSymbol &Y, uint64_t Offset,
                const CodeRelocation *R);
  bool samePlace(const CodePlace &X, const CodePlace &Y);
  void compareDescriptors();

  void differ(StringRef What) {
    if (Result.Difference.empty())
      Result.Difference = What.str();
  }
};
} // namespace

/// The word after s_getpc_b64's result is at offset 4 from where that counts,
/// and the word of the upper half at 12.
static constexpr uint64_t LowBias = 4, HighBias = 12, WordSize = 4;

static bool isHighHalf(const CodeRelocation &R) {
  return R.Type == ELF::R_AMDGPU_REL32_HI ||
         R.Type == ELF::R_AMDGPU_GOTPCREL32_HI;
}

/// Returns the distance from the result of s_getpc_b64 to the word at \p Offset
/// if that is the literal of the addition behind it; otherwise zero.
static uint64_t getBiasOfLiteral(StringRef Code, uint64_t Offset) {
  auto IsScalar = [&](uint64_t Back, ArrayRef<uint32_t> Opcodes) {
    if (Offset < Back * WordSize)
      return false;
    uint32_t Word = read32le(Code.data() + Offset - Back * WordSize);
    return (Word & 0xff800000) == 0xbe800000 &&
           is_contained(Opcodes, (Word >> 8) & 0xff);
  };
  // Of gfx6, gfx7 and gfx10; of gfx8 and gfx9; of gfx11 and later.
  constexpr uint32_t GetPC[] = {0x1f, 0x1c, 0x47};
  if (IsScalar(2, GetPC))
    return LowBias;
  // gfx12 extends the sign first, by s_sext_i32_i16.
  constexpr uint32_t SignExtend[] = {0x0f};
  return IsScalar(2, SignExtend) && IsScalar(3, GetPC) ? LowBias + WordSize : 0;
}

/// Returns a place with the bytes of its constant before and after it. There
/// are no others if the constant has a symbol, as in objects that are not
/// linked.
static CodePlace getConstant(const CodeObject &In, const CodePlace &P) {
  if (!P.Symbol)
    return P;
  const CodeSymbol &S = *P.Symbol;
  StringRef Data = In.getData(S);
  if (!S.IsLocal || S.IsFunction || P.Distance >= Data.size() ||
      !In.relocations(S).empty())
    return {};
  return {&S, P.Distance, Data.take_front(P.Distance),
          Data.drop_front(P.Distance)};
}

/// Returns true if two places without a symbol in at least one image are in
/// equal constants. A constant has no more bytes than there are between symbols
/// in either image. The place may be anywhere in it.
static bool sameConstant(const CodeObject &A, const CodePlace &X,
                         const CodeObject &B, const CodePlace &Y) {
  CodePlace P = getConstant(A, X), Q = getConstant(B, Y);
  if (P.After.empty() || Q.After.empty())
    return false;
  auto Size = [&](size_t V, size_t W) {
    return P.Symbol ? V : Q.Symbol ? W : std::min(V, W);
  };
  size_t Before = Size(P.Before.size(), Q.Before.size());
  size_t After = Size(P.After.size(), Q.After.size());
  return std::min(P.Before.size(), Q.Before.size()) >= Before &&
         std::min(P.After.size(), Q.After.size()) >= After &&
         P.Before.take_back(Before) == Q.Before.take_back(Before) &&
         P.After.take_front(After) == Q.After.take_front(After);
}

bool CodeObjectComparer::samePlace(const CodePlace &X, const CodePlace &Y) {
  if (!X.Symbol || !Y.Symbol)
    return sameConstant(A, X, B, Y);
  if (X.Distance != Y.Distance)
    return false;
  const CodeSymbol &S = *X.Symbol, &T = *Y.Symbol;
  // Code does not read descriptors, but the start of a constant behind one may
  // be computed from a place before it.
  if (S.Name.ends_with(".kd") || T.Name.ends_with(".kd"))
    return false;
  if (S.Name == T.Name || T.Name == getTunedCopyName(S.Name, Kernel)) {
    std::pair<StringRef, StringRef> Names(S.Name, T.Name);
    if (T.IsFunction && !is_contained(Functions, Names))
      Functions.push_back(Names);
    return true;
  }
  // LLVM's own constants have numbered names, which depend on the module.
  return S.IsLocal && T.IsLocal && !S.IsFunction && !T.IsFunction &&
         !A.getData(S).empty() && A.getData(S) == B.getData(T);
}

/// \param R  the relocation of our word, or null. A linked image has none;
/// words that differ are then taken for distances.
bool CodeObjectComparer::sameWord(const CodeSymbol &X, const CodeSymbol &Y,
                                  uint64_t Offset, const CodeRelocation *R) {
  uint32_t V = read32le(A.getData(X).data() + Offset);
  uint32_t W = read32le(B.getData(Y).data() + Offset);
  bool IsUpper = W == 0 || W == UINT32_MAX;
  uint64_t Literal = getBiasOfLiteral(B.getData(Y), Offset);
  uint64_t Bias = Literal ? Literal : LowBias;
  auto Reached = [&](const CodeObject &In, const CodeSymbol &F, uint32_t Word) {
    return In.at(F.Value + Offset + static_cast<int32_t>(Word) - Bias);
  };
  if (R) {
    if (isHighHalf(*R))
      return IsUpper;
    if (R->Type != ELF::R_AMDGPU_REL32_LO &&
        R->Type != ELF::R_AMDGPU_GOTPCREL32_LO)
      return false;
    if (!samePlace(A.target(*R, Bias), Reached(B, Y, W)))
      return false;
    Result.Relocated = true;
    return true;
  }
  // Constants or variables of equal size may be at equal distances.
  if (V == W)
    return A.isRelocatable() || !Literal ||
           samePlace(Reached(A, X, V), Reached(B, Y, W));
  if (A.isRelocatable())
    return false;
  Result.Relocated = true;
  return (IsUpper && (V == 0 || V == UINT32_MAX)) ||
         samePlace(Reached(A, X, V), Reached(B, Y, W));
}

void CodeObjectComparer::compareFunction(StringRef InA, StringRef InB) {
  const CodeSymbol *X = A.find(InA), *Y = B.find(InB);
  if (!X && !Y)
    return;
  if (!X || !Y)
    return differ("function");
  StringRef P = A.getData(*X), Q = B.getData(*Y);
  std::map<uint64_t, CodeRelocation> Relocations = A.relocations(*X);
  uint64_t Common = std::min(P.size(), Q.size()) / WordSize * WordSize;
  for (uint64_t Offset = 0; Offset < Common; Offset += WordSize) {
    auto R = Relocations.find(Offset);
    if (sameWord(*X, *Y, Offset, R == Relocations.end() ? nullptr : &R->second))
      continue;
    if (InA == Kernel)
      Result.FirstDifference = Offset;
    return differ(InA == Kernel ? "instruction" : "function");
  }
  if (P.size() == Q.size())
    return;
  if (InA == Kernel)
    Result.FirstDifference = Common;
  differ(InA == Kernel ? "size" : "function");
}

/// The descriptor has the registers and the memory that a launch sets up, and
/// the distance to the code.
void CodeObjectComparer::compareDescriptors() {
  constexpr uint64_t EntryOffset = 16, EntrySize = 8;
  std::string Name = (Kernel + ".kd").str();
  const CodeSymbol *X = A.find(Name), *Y = B.find(Name);
  StringRef P = X ? A.getData(*X) : "", Q = Y ? B.getData(*Y) : "";
  if (P.size() != Q.size() ||
      P.take_front(EntryOffset) != Q.take_front(EntryOffset) ||
      P.substr(EntryOffset + EntrySize) != Q.substr(EntryOffset + EntrySize))
    return differ("descriptor");
  if (A.metadata(Kernel) != B.metadata(Kernel))
    differ("metadata");
}

Expected<CodeComparison> CodeObjectComparer::run() {
  for (const CodeObject *C : {&A, &B})
    if (const CodeSymbol *S = C->find(Kernel); !S || !S->IsFunction)
      return createStringError(
          formatv("the GPU image has no kernel '{0}'", Kernel).str());
  Functions.push_back({Kernel, Kernel});
  // The loop adds functions.
  for (size_t I = 0; I != Functions.size(); ++I)
    compareFunction(Functions[I].first, Functions[I].second);
  compareDescriptors();
  Result.Identical = Result.Difference.empty();
  return std::move(Result);
}

Expected<CodeComparison>
mneme::compareCodeObjects(StringRef Ours, StringRef Theirs, StringRef Kernel) {
  Expected<CodeObject> A = CodeObject::create(Ours);
  if (!A)
    return A.takeError();
  Expected<CodeObject> B = CodeObject::create(Theirs);
  if (!B)
    return B.takeError();
  return CodeObjectComparer(*A, *B, Kernel).run();
}
