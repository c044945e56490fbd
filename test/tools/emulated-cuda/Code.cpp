//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Images and kernels. What a cubin says is believed: names, parameters,
/// resources, variables. Only the instructions come from elsewhere.
///
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "ImageBytes.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Mneme/Compile/Resources.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Runtime/AMDProcessors.h"
#include "llvm/Mneme/Runtime/PackageFormat.h"
#include "llvm/Object/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/OffloadBundle.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include <cstring>
#include <map>
#include <signal.h>
#include <thread>
#include <unistd.h>

using namespace emulated;
using namespace llvm;
using namespace llvm::mneme;
using Elf = object::ELF64LEFile;

//===----------------------------------------------------------------------===//
// The IR that kernels run from
//===----------------------------------------------------------------------===//

// Mneme's own kernels, which it loads as PTX or as code objects
// (lib/Runtime/Kernels).
#ifdef MNEME_EMULATE_HIP
#define MNEME_EMULATE_AMD true
#define MEMORY_KERNELS mneme_memory_kernels_amdgcn_bc
#define MEMORY_KERNELS_SIZE mneme_memory_kernels_amdgcn_bc_size
#else
#define MNEME_EMULATE_AMD false
#define MEMORY_KERNELS mneme_memory_kernels_nvptx64_bc
#define MEMORY_KERNELS_SIZE mneme_memory_kernels_nvptx64_bc_size
#endif
extern "C" const char MEMORY_KERNELS[];
extern "C" const uint64_t MEMORY_KERNELS_SIZE;

namespace {
/// One file.
struct Library {
  std::string Path;
  std::unique_ptr<MemoryBuffer> IR;
  HostOptions Options;
};

/// Kernels are compiled once a process.
struct CompiledKernel {
  const Library *From = nullptr;
  DeviceImage Image;
  std::vector<Parameter> Parameters;
};

struct Libraries {
  std::mutex Lock;
  std::vector<std::unique_ptr<Library>> Files;
  /// By name, and whether the code is for images with variables' addresses.
  std::map<std::pair<std::string, bool>, CompiledKernel> Kernels;
  std::unique_ptr<llvm::mneme::Device> Host = createHostDevice();

  Libraries();
  void add(StringRef Path);
};
} // namespace

static Libraries &libraries() {
  static Libraries &L = *new Libraries;
  return L;
}

void Libraries::add(StringRef Path) {
  auto Buffer = MemoryBuffer::getFile(Path);
  if (!Buffer)
    return complain("cannot read '" + Path + "'");
  auto L = std::make_unique<Library>();
  L->Path = Path.str();
  L->IR = std::move(*Buffer);
  Files.push_back(std::move(L));
}

Libraries::Libraries() {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  for (const std::string &Path : settings().Kernels) {
    if (!sys::fs::is_directory(Path)) {
      add(Path);
      continue;
    }
    std::error_code EC;
    std::vector<std::string> Found;
    for (sys::fs::directory_iterator I(Path, EC), E; I != E && !EC;
         I.increment(EC))
      if (StringRef(I->path()).ends_with(".bc"))
        Found.push_back(I->path());
    llvm::sort(Found);
    for (const std::string &File : Found)
      add(File);
  }
  auto Own = std::make_unique<Library>();
  Own->Path = "memory kernels";
  Own->IR =
      MemoryBuffer::getMemBuffer(StringRef(MEMORY_KERNELS, MEMORY_KERNELS_SIZE),
                                 Own->Path, /*RequiresNullTerminator=*/false);
  // With O3 and without fibers, compiling the comparison takes ten seconds.
  Own->Options.Strategy = HostStrategy::Fiber;
  Own->Options.Finish = HostFinish::Min;
  Own->Options.CodeGen = CodeGenOptLevel::None;
  Files.push_back(std::move(Own));
}

static std::unique_ptr<llvm::Module> parse(const Library &L,
                                           LLVMContext &Context) {
  SMDiagnostic Diagnostic;
  std::unique_ptr<llvm::Module> M =
      parseIR(L.IR->getMemBufferRef(), Diagnostic, Context);
  if (!M)
    complain("'" + L.Path + "': " + Diagnostic.getMessage());
  return M;
}

/// The parameters of \p F as nvptx lays them out.
static std::vector<Parameter> layOutParameters(const llvm::Function &F) {
  std::vector<Parameter> Result;
  const DataLayout &DL = F.getDataLayout();
  uint64_t Offset = 0;
  for (const Argument &A : F.args()) {
    Type *T = A.hasByValAttr() ? A.getParamByValType() : A.getType();
    Align Alignment = DL.getABITypeAlign(T);
    if (A.hasByValAttr() && A.getParamAlign())
      Alignment = *A.getParamAlign();
    Offset = alignTo(Offset, Alignment);
    uint64_t Size = DL.getTypeAllocSize(T);
    Result.push_back({Offset, Size});
    Offset += Size;
  }
  return Result;
}

/// \returns null, having said why, when no file has the kernel. Call with
/// the lock held.
static const CompiledKernel *compile(Libraries &L, const std::string &Name,
                                     bool HasSlots) {
  auto Known = L.Kernels.find({Name, HasSlots});
  if (Known != L.Kernels.end())
    return &Known->second;
  for (const std::unique_ptr<Library> &File : L.Files) {
    LLVMContext Context;
    std::unique_ptr<llvm::Module> M = parse(*File, Context);
    llvm::Function *F = M ? M->getFunction(Name) : nullptr;
    if (!F || F->isDeclaration() ||
        M->getTargetTriple().isAMDGPU() != MNEME_EMULATE_AMD ||
        HasSlots != (M->getNamedGlobal(MNEME_VARIABLE_SLOTS) != nullptr))
      continue;
    CompiledKernel K;
    K.From = File.get();
    K.Parameters = layOutParameters(*F);
    Expected<DeviceImage> Image =
        compileKernelForHost(*M, Name, File->Options);
    if (!Image) {
      complain("kernel '" + Name + "': " + toString(Image.takeError()));
      return nullptr;
    }
    K.Image = std::move(*Image);
    return &(L.Kernels[{Name, HasSlots}] = std::move(K));
  }
  complain("nothing in MNEME_EMULATED_KERNELS has a kernel '" + Name + "'");
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

emulated::Module::~Module() {
  for (const std::unique_ptr<Variable> &V : Variables)
    freeMemory(V->Address);
}

CUresult emulated::Module::addVariable(StringRef Name, StringRef Contents,
                                       uint64_t Size) {
  auto V = std::make_unique<Variable>();
  V->Name = Name.str();
  V->Size = Size;
  if (CUresult R = allocateMemory(Device, std::max<uint64_t>(Size, 1),
                                  V->Address))
    return R;
  std::memset(reinterpret_cast<void *>(V->Address), 0, Size);
  llvm::copy(Contents.take_front(Size), reinterpret_cast<char *>(V->Address));
  Variables.push_back(std::move(V));
  return CUDA_SUCCESS;
}

/// .nv.info.<kernel> holds entries of a format, an attribute and a size or
/// value; a parameter is index, ordinal, offset, and flags with the size.
static void readParameters(StringRef Info, std::vector<Parameter> &Result) {
  constexpr uint8_t Sized = 4, ParameterInfo = 0x17;
  while (Info.size() >= 4) {
    uint16_t Size = support::endian::read16le(Info.data() + 2);
    bool IsSized = Info[0] == Sized;
    bool IsParameter = IsSized && uint8_t(Info[1]) == ParameterInfo;
    Info = Info.drop_front(4);
    if (!IsSized)
      continue;
    if (IsParameter && Size >= 12 && Info.size() >= Size) {
      uint16_t Ordinal = support::endian::read16le(Info.data() + 4);
      if (Result.size() <= Ordinal)
        Result.resize(Ordinal + 1);
      Result[Ordinal] = {support::endian::read16le(Info.data() + 6),
                         support::endian::read32le(Info.data() + 8) >> 18};
    }
    Info = Info.drop_front(std::min<size_t>(Size, Info.size()));
  }
}

/// As the driver: the same major architecture, of the same or a later minor.
static bool runsOn(CUdevice Device, unsigned Arch) {
  unsigned Own = archOf(Device);
  return Arch / 10 == Own / 10 && Arch % 10 <= Own % 10;
}

CUresult emulated::Module::readCubin(StringRef Image) {
  constexpr unsigned EMCuda = 190;
  IsCubin = true;
  Expected<Elf> File = Elf::create(Image);
  if (!File || File->getHeader().e_machine != EMCuda) {
    consumeError(File.takeError());
    return CUDA_ERROR_INVALID_IMAGE;
  }
  const Elf::Elf_Ehdr &Header = File->getHeader();
  unsigned Arch = Header.e_ident[ELF::EI_ABIVERSION] >= 8
                      ? (Header.e_flags >> 8) & 0xff
                      : Header.e_flags & 0xff;
  if (!runsOn(Device, Arch))
    return CUDA_ERROR_NO_BINARY_FOR_GPU;

  auto Fail = [](Error E) {
    complain("damaged cubin: " + toString(std::move(E)));
    return CUDA_ERROR_INVALID_IMAGE;
  };
  Expected<Elf::Elf_Shdr_Range> Sections = File->sections();
  if (!Sections)
    return Fail(Sections.takeError());
  std::vector<std::string> Names;
  std::map<std::string, std::vector<Parameter>> Parameters;
  const Elf::Elf_Shdr *Symbols = nullptr;
  for (const Elf::Elf_Shdr &S : *Sections) {
    Expected<StringRef> Name = File->getSectionName(S);
    if (!Name)
      return Fail(Name.takeError());
    Names.push_back(Name->str());
    if (S.sh_type == ELF::SHT_SYMTAB)
      Symbols = &S;
    StringRef Kernel = *Name;
    if (Kernel.consume_front(".text.")) {
      auto F = std::make_unique<emulated::Function>();
      F->Owner = this;
      F->Name = Kernel.str();
      F->IsWrong = Header.e_ident[ELF::EI_NIDENT - 1] == 'W';
      Functions.push_back(std::move(F));
    } else if (Kernel.consume_front(".nv.info.")) {
      auto Info = File->getSectionContentsAsArray<char>(S);
      if (!Info)
        return Fail(Info.takeError());
      readParameters({Info->data(), Info->size()}, Parameters[Kernel.str()]);
    }
  }
  for (const std::unique_ptr<emulated::Function> &F : Functions) {
    F->Parameters = Parameters[F->Name];
    // A function that is no kernel has no parameters' section; it is kept, as
    // nobody asks for it.
    Expected<KernelResources> R = readResources(Image, F->Name);
    if (!R)
      return Fail(R.takeError());
    F->Registers = R->Registers.value_or(F->Registers);
    F->StaticShared = R->Shared.value_or(0);
    F->Local = R->Local.value_or(0);
    F->Constant = R->Constant.value_or(0);
    F->MaxThreads = R->MaxThreads.value_or(F->MaxThreads);
  }

  if (!Symbols)
    return CUDA_SUCCESS;
  auto Table = File->symbols(Symbols);
  Expected<StringRef> Strings = File->getStringTableForSymtab(*Symbols);
  if (!Table)
    return Fail(Table.takeError());
  if (!Strings)
    return Fail(Strings.takeError());
  for (const Elf::Elf_Sym &Symbol : *Table) {
    if (Symbol.getType() != ELF::STT_OBJECT || Symbol.st_shndx >= Names.size())
      continue;
    const std::string &Section = Names[Symbol.st_shndx];
    if (Section != ".nv.global" && Section != ".nv.global.init" &&
        Section != ".nv.constant3")
      continue;
    Expected<StringRef> Name = Symbol.getName(*Strings);
    if (!Name)
      return Fail(Name.takeError());
    StringRef Contents;
    const Elf::Elf_Shdr &S = (*Sections)[Symbol.st_shndx];
    if (S.sh_type != ELF::SHT_NOBITS) {
      auto Bytes = File->getSectionContentsAsArray<char>(S);
      if (!Bytes)
        return Fail(Bytes.takeError());
      Contents = StringRef(Bytes->data(), Bytes->size())
                     .substr(Symbol.st_value, Symbol.st_size);
    }
    if (CUresult R = addVariable(*Name, Contents, Symbol.st_size))
      return R;
  }
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// AMD's code objects
//===----------------------------------------------------------------------===//

namespace {
/// The arguments of a kernel in a code object.
struct KernelArguments {
  std::vector<Parameter> Explicit;
  std::map<std::string, Parameter> Implicit; ///< By kind.
  uint64_t Bytes = 0;
};
} // namespace

static bool readMetadata(StringRef Note,
                         std::map<std::string, KernelArguments> &Out) {
  msgpack::Document Doc;
  if (!Doc.readFromBlob(Note, /*Multi=*/false) || !Doc.getRoot().isMap())
    return false;
  msgpack::DocNode &Kernels = Doc.getRoot().getMap()["amdhsa.kernels"];
  if (!Kernels.isArray())
    return false;
  for (msgpack::DocNode &Kernel : Kernels.getArray()) {
    msgpack::MapDocNode &Map = Kernel.getMap();
    KernelArguments &Arguments = Out[Map[".name"].getString().str()];
    Arguments.Bytes = Map[".kernarg_segment_size"].getUInt();
    if (!Map[".args"].isArray())
      continue;
    for (msgpack::DocNode &Arg : Map[".args"].getArray()) {
      msgpack::MapDocNode &A = Arg.getMap();
      StringRef Kind = A[".value_kind"].getString();
      Parameter P = {A[".offset"].getUInt(), A[".size"].getUInt()};
      if (Kind.consume_front("hidden_"))
        Arguments.Implicit[Kind.str()] = P;
      else
        Arguments.Explicit.push_back(P);
    }
  }
  return true;
}

CUresult emulated::Module::readCodeObject(StringRef Image) {
  IsCubin = true;
  auto Fail = [](const Twine &What) {
    complain("damaged code object: " + What);
    return CUDA_ERROR_INVALID_IMAGE;
  };
  Expected<std::unique_ptr<object::ObjectFile>> File =
      object::ObjectFile::createELFObjectFile(MemoryBufferRef(Image, "image"));
  if (!File)
    return Fail(toString(File.takeError()));
  auto *Object = dyn_cast<object::ELF64LEObjectFile>(File->get());
  if (!Object || Object->getELFFile().getHeader().e_machine != ELF::EM_AMDGPU ||
      Object->getELFFile().getHeader().e_type != ELF::ET_DYN)
    return CUDA_ERROR_INVALID_IMAGE;
  std::string Arch = Object->tryGetCPUName().value_or("").str();
  // Those of the header; "any" sets none.
  unsigned Flags = Object->getPlatformFlags();
  for (auto [Mask, On, Off, Name] :
       {std::tuple(ELF::EF_AMDGPU_FEATURE_SRAMECC_V4,
                   ELF::EF_AMDGPU_FEATURE_SRAMECC_ON_V4,
                   ELF::EF_AMDGPU_FEATURE_SRAMECC_OFF_V4, ":sramecc"),
        std::tuple(ELF::EF_AMDGPU_FEATURE_XNACK_V4,
                   ELF::EF_AMDGPU_FEATURE_XNACK_ON_V4,
                   ELF::EF_AMDGPU_FEATURE_XNACK_OFF_V4, ":xnack")}) {
    if ((Flags & Mask) == unsigned(On))
      Arch += std::string(Name) + "+";
    if ((Flags & Mask) == unsigned(Off))
      Arch += std::string(Name) + "-";
  }
  if (!::mneme::isForAMDDevice(Arch, amdArchOf(Device)))
    return CUDA_ERROR_NO_BINARY_FOR_GPU;

  std::map<std::string, KernelArguments> Kernels;
  const Elf &E = Object->getELFFile();
  for (const Elf::Elf_Shdr &S : cantFail(E.sections())) {
    if (S.sh_type != ELF::SHT_NOTE)
      continue;
    Error Err = Error::success();
    for (auto Note : E.notes(S, Err))
      if (Note.getType() == ELF::NT_AMDGPU_METADATA &&
          !readMetadata(Note.getDescAsStringRef(4), Kernels))
        return Fail("its metadata");
    if (Err)
      return Fail(toString(std::move(Err)));
  }
  for (auto &[Name, Arguments] : Kernels) {
    auto F = std::make_unique<emulated::Function>();
    F->Owner = this;
    F->Name = Name;
    F->IsWrong = E.getHeader().e_ident[ELF::EI_NIDENT - 1] == 'W';
    F->Parameters = std::move(Arguments.Explicit);
    F->Implicit = std::move(Arguments.Implicit);
    F->ArgumentBytes = Arguments.Bytes;
    Expected<KernelResources> R = readResources(Image, Name);
    if (!R)
      return Fail(toString(R.takeError()));
    F->Registers = R->Registers.value_or(F->Registers);
    F->StaticShared = R->Shared.value_or(0);
    F->Local = R->Local.value_or(0);
    F->MaxThreads = R->MaxThreads.value_or(F->MaxThreads);
    Functions.push_back(std::move(F));
  }
  for (const object::ELFSymbolRef Symbol :
       Object->getDynamicSymbolIterators()) {
    StringRef Name = cantFail(Symbol.getName());
    // Clang's name for the translation unit takes no memory that programs notice.
    if (Symbol.getELFType() != ELF::STT_OBJECT || Name.ends_with(".kd") ||
        Name.starts_with("__hip_cuid_"))
      continue;
    object::section_iterator S = cantFail(Symbol.getSection());
    StringRef Contents;
    if (S != Object->section_end() && !S->isBSS())
      Contents = cantFail(S->getContents())
                     .substr(cantFail(Symbol.getAddress()) - S->getAddress(),
                             Symbol.getSize());
    if (CUresult R = addVariable(Name, Contents, Symbol.getSize()))
      return R;
  }
  return CUDA_SUCCESS;
}

/// Clang's bundle of images for several targets: a magic number, their count,
/// and for each its offset, size, and target with its length.
CUresult emulated::Module::readBundle(const char *Bundle) {
  constexpr size_t MagicSize = 24;
  const char *At = Bundle + MagicSize;
  auto Take = [&] {
    uint64_t N = support::endian::read64le(At);
    At += sizeof(N);
    return N;
  };
  for (uint64_t Count = Take(); Count; --Count) {
    uint64_t Offset = Take(), Size = Take(), Length = Take();
    StringRef Target(At, Length);
    At += Length;
    size_t Processor = Target.find("-gfx");
    if (Processor == StringRef::npos ||
        !::mneme::isForAMDDevice(Target.substr(Processor + 1),
                               amdArchOf(Device)))
      continue;
    return readCodeObject(StringRef(Bundle + Offset, Size));
  }
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult emulated::Module::readCompressed(const char *Bundle) {
  using object::CompressedOffloadBundle;
  constexpr size_t HeaderSize = 32;
  auto Header = CompressedOffloadBundle::CompressedBundleHeader::tryParse(
      StringRef(Bundle, HeaderSize));
  // The first version of the format does not have its size.
  if (!Header || !Header->FileSize) {
    consumeError(Header.takeError());
    return CUDA_ERROR_INVALID_IMAGE;
  }
  auto Plain = CompressedOffloadBundle::decompress(
      *MemoryBuffer::getMemBuffer(StringRef(Bundle, *Header->FileSize), "",
                                  /*RequiresNullTerminator=*/false));
  if (!Plain) {
    consumeError(Plain.takeError());
    return CUDA_ERROR_INVALID_IMAGE;
  }
  Copy = (*Plain)->getBuffer().str();
  return readBundle(Copy.data());
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

CUresult emulated::Module::readPTX(StringRef Text) {
  SmallVector<StringRef, 2> Match;
  unsigned Arch = 0;
  if (!Text.contains(".version") ||
      !Regex("\\.target[ \t]+sm_([0-9]+)").match(Text, &Match) ||
      Match[1].getAsInteger(10, Arch))
    return CUDA_ERROR_INVALID_PTX;
  if (Arch > archOf(Device))
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  Regex Entry("\\.entry[ \t]+([A-Za-z_$%][A-Za-z0-9_$]*)");
  while (Entry.match(Text, &Match)) {
    auto F = std::make_unique<emulated::Function>();
    F->Owner = this;
    F->Name = Match[1].str();
    Text = Text.substr(Match[1].end() - Text.begin());
    Functions.push_back(std::move(F));
  }
  return CUDA_SUCCESS;
}

static bool isElf(const void *Image) {
  return std::memcmp(Image, ELF::ElfMagic, 4) == 0;
}

static bool isForAMD(const void *Image) {
  Elf::Elf_Ehdr Header;
  std::memcpy(&Header, Image, sizeof(Header));
  return Header.e_machine == ELF::EM_AMDGPU;
}

CUresult emulated::Module::load(CUdevice Device, const void *Image,
                                Module *&Result) {
  constexpr uint32_t FatbinMagic = 0xba55ed50;
  const char *Bytes = static_cast<const char *>(Image);
  std::unique_ptr<Module> M(new Module(Device));
  CUresult R = CUDA_SUCCESS;
  if (StringRef(Bytes, 4) == "__CL") {
    R = M->readBundle(Bytes);
  } else if (StringRef(Bytes, 4) == "CCOB") {
    R = M->readCompressed(Bytes);
  } else if (isElf(Image) && isForAMD(Image)) {
    // Whether it is aligned is not the driver's concern.
    M->Copy.assign(Bytes, sizeOfImage(Image));
    R = M->readCodeObject(M->Copy);
  } else if (isElf(Image)) {
    R = M->readCubin({Bytes, sizeOfImage(Image)});
  } else if (support::endian::read32le(Bytes) == FatbinMagic) {
    M->AnyName = true;
  } else if (Bytes[0] == '/' || Bytes[0] == '.' || Bytes[0] == '\n') {
    R = M->readPTX(Bytes);
  } else {
    R = CUDA_ERROR_INVALID_IMAGE;
  }
  if (R == CUDA_SUCCESS)
    Result = M.release();
  return R;
}

CUresult emulated::Module::getVariable(StringRef Name,
                                       const Variable *&Result) {
  Libraries &L = libraries();
  std::lock_guard<std::mutex> Guard(L.Lock);
  for (const std::unique_ptr<Variable> &V : Variables)
    if (V->Name == Name) {
      Result = V.get();
      return CUDA_SUCCESS;
    }
  if (IsCubin)
    return CUDA_ERROR_NOT_FOUND;
  for (const std::unique_ptr<Library> &File : L.Files) {
    LLVMContext Context;
    std::unique_ptr<llvm::Module> M = parse(*File, Context);
    if (!M || !M->getNamedGlobal(Name))
      continue;
    if (CUresult R = addVariables(*M, {Name.str()}))
      return R;
    Result = Variables.back().get();
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

/// Gives the variables \p Names of \p M memory, with their initializers, where
/// they have none: what a pipeline removed from the cubin, the IR may still
/// use.
CUresult emulated::Module::addVariables(const llvm::Module &M,
                                        ArrayRef<std::string> Names) {
  std::vector<HostVariable> All = findHostVariables(M);
  auto Find = [&](StringRef Name) -> const Variable * {
    for (const std::unique_ptr<Variable> &V : Variables)
      if (V->Name == Name)
        return V.get();
    return nullptr;
  };
  std::vector<std::pair<size_t, const Variable *>> Added;
  for (const std::string &Name : Names) {
    auto I =
        find_if(All, [&](const HostVariable &V) { return V.Name == Name; });
    if (I == All.end() || Find(Name))
      continue;
    if (CUresult R = addVariable(Name, "", I->Size))
      return R;
    Added.push_back({I - All.begin(), Variables.back().get()});
  }
  if (Added.empty())
    return CUDA_SUCCESS;
  auto Contents = evaluateInitializers(M, [&](StringRef Name) -> uint64_t {
    const Variable *V = Find(Name);
    return V ? V->Address : 0;
  });
  if (!Contents) {
    complain(toString(Contents.takeError()));
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  for (auto &[Index, V] : Added)
    std::memcpy(reinterpret_cast<void *>(V->Address),
                (*Contents)[Index].data(),
                std::min<uint64_t>(V->Size, (*Contents)[Index].size()));
  return CUDA_SUCCESS;
}

CUresult emulated::Module::findCode(emulated::Function &F) {
  Libraries &L = libraries();
  std::lock_guard<std::mutex> Guard(L.Lock);
  // Another thread may have found it meanwhile, and run it.
  if (F.HasCode)
    return CUDA_SUCCESS;
  bool HasSlots = any_of(Variables, [](const std::unique_ptr<Variable> &V) {
    return V->Name == MNEME_VARIABLE_SLOTS;
  });
  const CompiledKernel *K = compile(L, F.Name, HasSlots);
  if (!K)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (!IsCubin)
    F.Parameters = K->Parameters;
  if (!K->Image.Globals.empty()) {
    LLVMContext Context;
    std::unique_ptr<llvm::Module> M = parse(*K->From, Context);
    if (!M)
      return CUDA_ERROR_NOT_SUPPORTED;
    if (CUresult R = addVariables(*M, K->Image.Globals))
      return R;
  }
  std::vector<KernelGlobal> Globals;
  for (const std::unique_ptr<Variable> &V : Variables)
    Globals.push_back({V->Name, V->Size, V->Address});
  Expected<std::unique_ptr<DeviceKernel>> Code =
      L.Host->load(K->Image, Globals);
  if (!Code) {
    complain("kernel '" + F.Name + "': " + toString(Code.takeError()));
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  F.Code = std::move(*Code);
  F.HasCode = true;
  return CUDA_SUCCESS;
}

CUresult emulated::Module::getFunction(StringRef Name,
                                       emulated::Function *&Result) {
  Result = nullptr;
  for (const std::unique_ptr<emulated::Function> &F : Functions)
    if (F->Name == Name)
      Result = F.get();
  if (!Result) {
    if (!AnyName)
      return CUDA_ERROR_NOT_FOUND;
    Functions.push_back(std::make_unique<emulated::Function>());
    Result = Functions.back().get();
    Result->Owner = this;
    Result->Name = Name.str();
  }
  // Others may never be launched: it takes time to compile them.
  return IsCubin ? Result->findCode() : CUDA_SUCCESS;
}

CUresult emulated::Function::findCode() {
  return HasCode ? CUDA_SUCCESS : Owner->findCode(*this);
}

CUresult
emulated::Function::checkImplicitArguments(const LaunchConfig &Config,
                                           ArrayRef<char> Bytes) const {
  const std::pair<const char *, uint64_t> Values[] = {
      {"block_count_x", Config.Grid.X},
      {"block_count_y", Config.Grid.Y},
      {"block_count_z", Config.Grid.Z},
      {"group_size_x", Config.Block.X},
      {"group_size_y", Config.Block.Y},
      {"group_size_z", Config.Block.Z},
      {"remainder_x", 0},
      {"remainder_y", 0},
      {"remainder_z", 0},
      {"dynamic_lds_size", Config.DynamicShared},
  };
  for (auto [Kind, Value] : Values) {
    auto P = Implicit.find(Kind);
    if (P == Implicit.end())
      continue;
    uint64_t Given = 0;
    std::memcpy(&Given, Bytes.data() + P->second.Offset, P->second.Size);
    if (Given == Value)
      continue;
    complain("kernel '" + Name + "': the implicit argument " + Twine(Kind) +
             " is " + Twine(Given) + " instead of " + Twine(Value));
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {
/// The executor takes over signals; a host device of this very process, another
/// copy of it, must find its own handlers again. So one kernel at a time, as the
/// executor has it anyway.
class SignalGuard {
  static std::mutex &Running;
  std::lock_guard<std::mutex> Guard{Running};
  static constexpr int Signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGURG};
  struct sigaction Old[5];

public:
  SignalGuard() {
    for (unsigned I = 0; I != 5; ++I)
      sigaction(Signals[I], nullptr, &Old[I]);
  }
  ~SignalGuard() {
    for (unsigned I = 0; I != 5; ++I)
      sigaction(Signals[I], &Old[I], nullptr);
  }
};
} // namespace

std::mutex &SignalGuard::Running = *new std::mutex;

CUresult emulated::Function::run(const LaunchConfig &Config,
                                 ArrayRef<void *> Args) const {
  SignalGuard Guard;
  auto Now = [] {
    return std::chrono::steady_clock::now().time_since_epoch() /
           std::chrono::nanoseconds(1);
  };
  uint64_t Start = Now();
  Expected<LaunchOutcome> Outcome =
      libraries().Host->launch(*Code, Config, Args);
  if (!StringRef(Name).starts_with("mneme_"))
    while (Now() - Start <
           Config.Grid.count() * settings().BlockMicroseconds * 1000)
      std::this_thread::yield();
  noteLaunch(*this, Config, Start, Now());
  if (!Outcome) {
    complain("kernel '" + Name + "': " + toString(Outcome.takeError()));
    return CUDA_ERROR_LAUNCH_FAILED;
  }
  if (IsWrong)
    *static_cast<char **>(Args[0])[0] ^= 1;
  switch (Outcome->Status) {
  case LaunchStatus::Ok:
    return CUDA_SUCCESS;
  case LaunchStatus::IllegalAddress:
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  case LaunchStatus::Trap:
    return CUDA_ERROR_LAUNCH_FAILED;
  case LaunchStatus::Assert:
    return CUDA_ERROR_ASSERT;
  case LaunchStatus::IllegalInstruction:
    return CUDA_ERROR_ILLEGAL_INSTRUCTION;
  case LaunchStatus::OutOfMemory:
    return CUDA_ERROR_OUT_OF_MEMORY;
  case LaunchStatus::Deadlock: // A GPU waits on.
    for (;;)
      pause();
  case LaunchStatus::InvalidConfiguration:
  case LaunchStatus::Timeout:
  case LaunchStatus::Unsupported:
    break;
  }
  complain(Outcome->Message);
  return CUDA_ERROR_NOT_SUPPORTED;
}
