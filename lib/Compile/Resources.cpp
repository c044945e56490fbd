//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/Resources.h"
#include "GPUImage.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace llvm::mneme;

static Error damaged(const Twine &What) {
  return createStringError("damaged GPU image: " + What);
}

//===----------------------------------------------------------------------===//
// NVPTX: .nv.info sections of a cubin describe its kernels
//===----------------------------------------------------------------------===//

namespace {
enum NvInfoFormat : uint8_t { NvSized = 4 };
enum NvInfoAttr : uint8_t {
  NvMaxThreads = 0x05,
  NvFrameSize = 0x11,
  NvMinStackSize = 0x12,
  NvReqNTid = 0x10,
  NvParamSize = 0x19,
  NvRegCount = 0x2f,
  NvNumBarriers = 0x4c,
};

struct NvInfoEntry {
  uint8_t Attr;
  StringRef Payload; ///< Empty in unsized entries.
  uint16_t Value;    ///< Used in unsized entries.
};
} // namespace

static Error forEachNvInfo(StringRef Bytes,
                           function_ref<void(const NvInfoEntry &)> Fn) {
  while (!Bytes.empty()) {
    if (Bytes.size() < 4)
      return damaged("truncated .nv.info");
    NvInfoEntry E{static_cast<uint8_t>(Bytes[1]), "",
                  support::endian::read16le(Bytes.data() + 2)};
    bool Sized = Bytes[0] == NvSized;
    Bytes = Bytes.drop_front(4);
    if (Sized) {
      if (Bytes.size() < E.Value)
        return damaged("truncated .nv.info");
      E.Payload = Bytes.take_front(E.Value);
      Bytes = Bytes.drop_front(E.Value);
    }
    Fn(E);
  }
  return Error::success();
}

static uint32_t wordAt(StringRef Payload, size_t Index) {
  return Payload.size() >= 4 * (Index + 1)
             ? support::endian::read32le(Payload.data() + 4 * Index)
             : 0;
}

/// Returns the index of the kernel's symbol in .symtab; 0 if there is none.
static Expected<uint32_t> findSymbol(const Elf &File, StringRef Kernel) {
  uint32_t Found = 0;
  Error E = forEachSymbol(
      File, [&](uint32_t Index, StringRef Name, const Elf::Elf_Sym &) {
        if (Name == Kernel && !Found)
          Found = Index;
      });
  if (E)
    return std::move(E);
  return Found;
}

static Error readKernelNvInfo(StringRef Bytes, KernelResources &R) {
  R.Barriers = 0;
  R.Params = 0;
  return forEachNvInfo(Bytes, [&](const NvInfoEntry &E) {
    if (E.Attr == NvParamSize)
      R.Params = E.Value;
    else if (E.Attr == NvNumBarriers)
      R.Barriers = E.Payload.empty() ? E.Value & 0xff : wordAt(E.Payload, 0);
    else if (E.Attr == NvMaxThreads || E.Attr == NvReqNTid)
      R.MaxThreads = uint64_t(wordAt(E.Payload, 0)) *
                     std::max(1u, wordAt(E.Payload, 1)) *
                     std::max(1u, wordAt(E.Payload, 2));
  });
}

static Expected<KernelResources> readCubin(const Elf &File, StringRef Kernel) {
  KernelResources R;
  R.Local = R.Shared = R.Constant = 0;
  Expected<uint32_t> Symbol = findSymbol(File, Kernel);
  if (!Symbol)
    return Symbol.takeError();
  unsigned SM = getSMNumber(File);
  auto Sections = File.sections();
  if (!Sections)
    return Sections.takeError();
  for (const Elf::Elf_Shdr &S : *Sections) {
    Expected<StringRef> SectionName = File.getSectionName(S);
    if (!SectionName)
      return SectionName.takeError();
    StringRef Name = *SectionName;
    if (Name == ".nv.info" || Name == (".nv.info." + Kernel).str()) {
      Expected<StringRef> Bytes = getContents(File, S);
      if (!Bytes)
        return Bytes.takeError();
      if (Name != ".nv.info") {
        if (Error E = readKernelNvInfo(*Bytes, R))
          return std::move(E);
        continue;
      }
      Error E = forEachNvInfo(*Bytes, [&](const NvInfoEntry &Entry) {
        if (wordAt(Entry.Payload, 0) != *Symbol)
          return;
        uint32_t Value = wordAt(Entry.Payload, 1);
        if (Entry.Attr == NvRegCount)
          R.Registers = Value;
        else if (Entry.Attr == NvFrameSize || Entry.Attr == NvMinStackSize)
          R.Local = std::max<uint64_t>(*R.Local, Value);
      });
      if (E)
        return std::move(E);
    } else if (Name == (".nv.shared." + Kernel).str()) {
      // From sm_90 on, the section begins with 1 KiB reserved for the system.
      uint64_t Reserved = SM >= 90 ? 1024 : 0;
      R.Shared = S.sh_size - std::min<uint64_t>(S.sh_size, Reserved);
    } else if (Name == ".nv.constant3") {
      R.Constant = S.sh_size;
    } else if (Name == (".text." + Kernel).str()) {
      R.CodeSize = S.sh_size;
    }
  }
  if (!R.CodeSize || !R.Registers)
    return createStringError(
        formatv("the GPU image has no kernel '{0}'", Kernel).str());
  return R;
}

//===----------------------------------------------------------------------===//
// AMDGPU: a note holds the kernels' metadata as MessagePack
//===----------------------------------------------------------------------===//

/// \p Note is the text of a note.
static Expected<bool>
findMetadata(StringRef Note, StringRef Kernel,
             function_ref<void(msgpack::MapDocNode &)> Fn) {
  msgpack::Document Doc;
  if (!Doc.readFromBlob(Note, /*Multi=*/false) || !Doc.getRoot().isMap())
    return damaged("AMDGPU metadata is not a MessagePack map");
  msgpack::DocNode &Kernels = Doc.getRoot().getMap()["amdhsa.kernels"];
  if (!Kernels.isArray())
    return damaged("AMDGPU metadata lists no kernels");
  for (msgpack::DocNode &Node : Kernels.getArray()) {
    if (!Node.isMap())
      return damaged("AMDGPU metadata of a kernel is not a map");
    msgpack::DocNode &Name = Node.getMap()[".name"];
    if (!Name.isString() || Name.getString() != Kernel)
      continue;
    Fn(Node.getMap());
    return true;
  }
  return false;
}

Expected<bool>
mneme::readKernelMetadata(const Elf &File, StringRef Kernel,
                          function_ref<void(msgpack::MapDocNode &)> Fn) {
  auto Sections = File.sections();
  if (!Sections)
    return Sections.takeError();
  bool Found = false;
  for (const Elf::Elf_Shdr &S : *Sections) {
    if (S.sh_type != ELF::SHT_NOTE)
      continue;
    Error Err = Error::success();
    for (auto Note : File.notes(S, Err)) {
      if (Found || Note.getName() != "AMDGPU" ||
          Note.getType() != ELF::NT_AMDGPU_METADATA)
        continue;
      // A smaller alignment means 4, as in File.notes().
      size_t Alignment = std::max<size_t>(S.sh_addralign, 4);
      Expected<bool> Here =
          findMetadata(Note.getDescAsStringRef(Alignment), Kernel, Fn);
      if (!Here) {
        consumeError(std::move(Err));
        return Here.takeError();
      }
      Found = *Here;
    }
    if (Err)
      return std::move(Err);
  }
  return Found;
}

std::optional<uint64_t> mneme::getInteger(msgpack::MapDocNode &Map,
                                          StringRef Key) {
  msgpack::DocNode &Value = Map[Key];
  if (Value.getKind() == msgpack::Type::UInt)
    return Value.getUInt();
  if (Value.getKind() == msgpack::Type::Int)
    return Value.getInt();
  return std::nullopt;
}

static Expected<KernelResources> readAMDGPU(const Elf &File, StringRef Kernel) {
  KernelResources R;
  Expected<bool> Found =
      readKernelMetadata(File, Kernel, [&](msgpack::MapDocNode &Map) {
        R.Registers = getInteger(Map, ".vgpr_count");
        R.ScalarRegisters = getInteger(Map, ".sgpr_count");
        R.AccumRegisters = getInteger(Map, ".agpr_count");
        R.SpillStores = getInteger(Map, ".vgpr_spill_count");
        R.ScalarSpills = getInteger(Map, ".sgpr_spill_count");
        R.Shared = getInteger(Map, ".group_segment_fixed_size");
        R.Local = getInteger(Map, ".private_segment_fixed_size");
        R.Params = getInteger(Map, ".kernarg_segment_size");
        R.MaxThreads = getInteger(Map, ".max_flat_workgroup_size");
        R.WaveSize = getInteger(Map, ".wavefront_size");
      });
  if (!Found)
    return Found.takeError();
  Error E = forEachSymbol(
      File, [&](uint32_t, StringRef Name, const Elf::Elf_Sym &Symbol) {
        if (Name == Kernel && Symbol.getType() == ELF::STT_FUNC)
          R.CodeSize = Symbol.st_size;
      });
  if (E)
    return std::move(E);
  if (!*Found)
    return createStringError(
        formatv("the GPU image has no kernel '{0}'", Kernel).str());
  return R;
}

Expected<KernelResources> mneme::readResources(StringRef Image,
                                               StringRef Kernel) {
  Expected<Elf> File = openGPUImage(Image);
  if (!File)
    return File.takeError();
  Expected<KernelResources> R = File->getHeader().e_machine == ELF::EM_CUDA
                                    ? readCubin(*File, Kernel)
                                    : readAMDGPU(*File, Kernel);
  return R;
}

void mneme::readPtxasLog(StringRef Log, StringRef Kernel, KernelResources &R) {
  static const char *const Pattern = "([0-9]+) bytes spill stores, "
                                     "([0-9]+) bytes spill loads";
  Regex Spills(Pattern);
  while (!Log.empty()) {
    StringRef Line;
    std::tie(Line, Log) = Log.split('\n');
    if (!Line.contains("Function properties for") ||
        Line.rtrim().rsplit(' ').second != Kernel)
      continue;
    SmallVector<StringRef, 3> Match;
    if (!Spills.match(Log.split('\n').first, &Match))
      return;
    uint64_t Stores, Loads;
    if (Match[1].getAsInteger(10, Stores) || Match[2].getAsInteger(10, Loads))
      return;
    R.SpillStores = Stores;
    R.SpillLoads = Loads;
    return;
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static constexpr std::pair<StringLiteral,
                           std::optional<uint64_t> KernelResources::*>
    ResourceKeys[] = {
        {"registers", &KernelResources::Registers},
        {"scalar_registers", &KernelResources::ScalarRegisters},
        {"accum_registers", &KernelResources::AccumRegisters},
        {"spill_stores", &KernelResources::SpillStores},
        {"spill_loads", &KernelResources::SpillLoads},
        {"scalar_spills", &KernelResources::ScalarSpills},
        {"local", &KernelResources::Local},
        {"shared", &KernelResources::Shared},
        {"constant", &KernelResources::Constant},
        {"params", &KernelResources::Params},
        {"barriers", &KernelResources::Barriers},
        {"code_size", &KernelResources::CodeSize},
        {"max_threads", &KernelResources::MaxThreads},
        {"wave_size", &KernelResources::WaveSize},
};

json::Value mneme::toJSON(const KernelResources &R) {
  json::Object O;
  for (auto [Key, Member] : ResourceKeys)
    O[Key] = R.*Member;
  return O;
}

bool mneme::fromJSON(const json::Value &V, KernelResources &R, json::Path P) {
  json::ObjectMapper O(V, P);
  if (!O)
    return false;
  for (auto [Key, Member] : ResourceKeys)
    if (!O.map(Key, R.*Member))
      return false;
  return true;
}
