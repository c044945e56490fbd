//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/Database.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

/// Of the JSON files; readers refuse any other.
static constexpr int64_t FormatVersion = 1;

static constexpr StringLiteral ArgKinds[] = {"value", "pointer", "aggregate"};

std::string RecordedKernel::displayName() const {
  return printable(DemangledName.empty() ? KernelName : DemangledName);
}

const RecordedInstance *
RecordedKernel::findInstance(StringRef DynamicHash) const {
  auto It = llvm::find_if(Instances, [&](const RecordedInstance &I) {
    return I.DynamicHash == DynamicHash;
  });
  return It == Instances.end() ? nullptr : &*It;
}

void RecordedKernel::addArena(uint64_t Base, uint64_t Size) {
  uint64_t End = Base + Size;
  if (VASize) {
    End = std::max(End, VAddr + VASize);
    Base = std::min(Base, VAddr);
  }
  VAddr = Base;
  VASize = End - Base;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static json::Value dimsToJSON(const Dim3 &D) {
  return json::Object{{"x", D.X}, {"y", D.Y}, {"z", D.Z}};
}

/// Readers of before GPUs know no such keys: left out where they say nothing.
static json::Value instanceToJSON(const RecordedInstance &I, int64_t Index) {
  json::Object O{{"Index", Index},
                 {"GridDims", dimsToJSON(I.Grid)},
                 {"BlockDims", dimsToJSON(I.Block)},
                 {"SharedMem", I.SharedMem},
                 {"Prologue", I.Prologue},
                 {"Epilogue", I.Epilogue},
                 {"Occurrences", I.Occurrences}};
  if (I.Cooperative)
    O["Cooperative"] = true;
  if (I.OmittedRegions)
    O["Omitted"] = json::Object{{"Regions", I.OmittedRegions},
                                {"Bytes", I.OmittedBytes}};
  if (!I.Device.Name.empty())
    O["Device"] = json::Object{{"Name", json::fixUTF8(I.Device.Name)},
                               {"Arch", json::fixUTF8(I.Device.Arch)},
                               {"Driver", json::fixUTF8(I.Device.Driver)},
                               {"Runtime", json::fixUTF8(I.Device.Runtime)}};
  return O;
}

json::Value mneme::toJSON(const KernelArg &A) {
  return json::Object{{"Name", json::fixUTF8(A.Name)},
                      {"Type", json::fixUTF8(A.Type)},
                      {"Size", A.Size},
                      {"Offset", A.Offset},
                      {"Kind", ArgKinds[A.Kind]}};
}

json::Value mneme::toJSON(const RecordedKernel &K) {
  json::Array Args(K.Args), Globals;
  for (const KernelGlobal &G : K.Globals)
    Globals.push_back(json::Object{{"Name", json::fixUTF8(G.Name)},
                                   {"Size", G.Size},
                                   {"Address", G.Address}});
  json::Object Instances;
  for (const auto &[Index, I] : llvm::enumerate(K.Instances))
    Instances[I.DynamicHash] = instanceToJSON(I, static_cast<int64_t>(Index));
  return json::Object{{"FormatVersion", FormatVersion},
                      {"KernelName", json::fixUTF8(K.KernelName)},
                      {"DemangledName", json::fixUTF8(K.DemangledName)},
                      {"StaticHash", K.StaticHash},
                      {"Triple", json::fixUTF8(K.Triple)},
                      {"Arch", json::fixUTF8(K.Arch)},
                      {"OptLevel", json::fixUTF8(K.OptLevel)},
                      {"Device", K.Device},
                      {"Toolchain", json::fixUTF8(K.Toolchain)},
                      {"Modules", json::Array(K.Modules)},
                      {"VAddr", K.VAddr},
                      {"VASize", K.VASize},
                      {"Args", std::move(Args)},
                      {"Globals", std::move(Globals)},
                      {"DynamicHashInputs", json::Array(K.DynamicHashInputs)},
                      {"instances", std::move(Instances)}};
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// An object whose keys are required unless mapped as optional, and all known
/// but for "x-...".
class StrictMapper {
public:
  StrictMapper(const json::Value &V, json::Path P) : O(V.getAsObject()), P(P) {
    if (!O)
      P.report("expected object");
  }

  explicit operator bool() const { return O; }

  template <typename T> bool map(StringLiteral Key, T &Out) {
    const json::Value *V = find(Key);
    return V && fromJSON(*V, Out, P.field(Key));
  }

  // json::fromJSON would drop the high bits.
  bool map(StringLiteral Key, uint32_t &Out) {
    uint64_t N;
    if (!map(Key, N))
      return false;
    Out = static_cast<uint32_t>(N);
    if (Out != N)
      P.field(Key).report("expected integer of 32 bits");
    return Out == N;
  }

  /// Leaves \p Out as it is when there is no such key.
  template <typename T> bool mapOptional(StringLiteral Key, T &Out) {
    Known.push_back(Key);
    const json::Value *V = O->get(Key);
    return !V || fromJSON(*V, Out, P.field(Key));
  }

  /// The value itself, for those that map more than one thing.
  bool mapOptional(StringLiteral Key, const json::Value *&Out) {
    Known.push_back(Key);
    Out = O->get(Key);
    return true;
  }

  /// Call when all keys have been mapped.
  bool finish() {
    for (const auto &[Key, Value] : *O)
      if (!llvm::is_contained(Known, StringRef(Key)) &&
          !StringRef(Key).starts_with("x-")) {
        P.field(Key).report("unknown key");
        return false;
      }
    return true;
  }

private:
  const json::Value *find(StringLiteral Key) {
    Known.push_back(Key);
    const json::Value *V = O->get(Key);
    if (!V)
      P.field(Key).report("missing key");
    return V;
  }

  const json::Object *O;
  json::Path P;
  SmallVector<StringRef, 16> Known;
};
} // namespace

/// A name that stays in its folder.
static bool checkFileName(StringRef Name, json::Path P) {
  if (!Name.empty() && Name != "." && Name != ".." &&
      Name.find_first_of(StringRef("/\\\0", 3)) == StringRef::npos)
    return true;
  P.report("expected name of a file in the recording's folder");
  return false;
}

static bool isHash(StringRef Text, size_t Digits) {
  return Text.size() == Digits &&
         Text.find_first_not_of("0123456789abcdef") == StringRef::npos;
}

// In the namespace, so that json::fromJSON finds them for vectors.
namespace llvm {
namespace mneme {

static bool fromJSON(const json::Value &V, Dim3 &Out, json::Path P) {
  StrictMapper O(V, P);
  if (!O || !O.map("x", Out.X) || !O.map("y", Out.Y) || !O.map("z", Out.Z))
    return false;
  if (Out.X == 0 || Out.Y == 0 || Out.Z == 0) {
    P.report("expected dimensions from 1 up");
    return false;
  }
  return O.finish();
}

static bool fromJSON(const json::Value &V, RecordedDevice &Out, json::Path P) {
  StrictMapper O(V, P);
  return O && O.map("Name", Out.Name) && O.map("Arch", Out.Arch) &&
         O.map("Driver", Out.Driver) && O.map("Runtime", Out.Runtime) &&
         O.finish();
}

static bool fromJSON(const json::Value &V, KernelGlobal &Out, json::Path P) {
  StrictMapper O(V, P);
  return O && O.map("Name", Out.Name) && O.map("Size", Out.Size) &&
         O.map("Address", Out.Address) && O.finish();
}

} // namespace mneme
} // namespace llvm

bool mneme::fromJSON(const json::Value &V, KernelArg &Out, json::Path P) {
  StrictMapper O(V, P);
  std::string Kind;
  if (!O || !O.map("Name", Out.Name) || !O.map("Type", Out.Type) ||
      !O.map("Size", Out.Size) || !O.map("Offset", Out.Offset) ||
      !O.map("Kind", Kind))
    return false;
  const StringLiteral *It = llvm::find(ArgKinds, Kind);
  if (It == std::end(ArgKinds)) {
    P.field("Kind").report("expected value, pointer or aggregate");
    return false;
  }
  Out.Kind = It - std::begin(ArgKinds);
  return O.finish();
}

static bool readOmitted(StrictMapper &O, RecordedInstance &I, json::Path P) {
  const json::Value *V = nullptr;
  if (!O.mapOptional("Omitted", V))
    return false;
  if (!V)
    return true;
  StrictMapper Omitted(*V, P.field("Omitted"));
  return Omitted && Omitted.map("Regions", I.OmittedRegions) &&
         Omitted.map("Bytes", I.OmittedBytes) && Omitted.finish();
}

namespace {
/// An instance with its place in the order of recording, which objects lose.
struct OrderedInstance {
  uint64_t Index = 0;
  RecordedInstance Instance;

  friend bool fromJSON(const json::Value &V, OrderedInstance &Out,
                       json::Path P) {
    StrictMapper O(V, P);
    RecordedInstance &I = Out.Instance;
    return O && O.map("Index", Out.Index) && O.map("GridDims", I.Grid) &&
           O.map("BlockDims", I.Block) && O.map("SharedMem", I.SharedMem) &&
           O.map("Prologue", I.Prologue) &&
           checkFileName(I.Prologue, P.field("Prologue")) &&
           O.map("Epilogue", I.Epilogue) &&
           checkFileName(I.Epilogue, P.field("Epilogue")) &&
           O.map("Occurrences", I.Occurrences) &&
           O.mapOptional("Cooperative", I.Cooperative) &&
           O.mapOptional("Device", I.Device) && readOmitted(O, I, P) &&
           O.finish();
  }
};

/// All instances, in order of recording.
struct OrderedInstances {
  std::vector<RecordedInstance> List;

  friend bool fromJSON(const json::Value &V, OrderedInstances &Out,
                       json::Path P) {
    using json::fromJSON;
    std::map<std::string, OrderedInstance> ByHash;
    if (!fromJSON(V, ByHash, P))
      return false;
    // A path refers to the key it is given: take those of the document.
    for (const auto &[Key, Value] : *V.getAsObject())
      if (!isHash(Key, 16)) {
        P.field(Key).report("expected 16 hexadecimal digits as its key");
        return false;
      }
    std::vector<OrderedInstance *> Sorted;
    for (auto &[Hash, I] : ByHash) {
      I.Instance.DynamicHash = Hash;
      Sorted.push_back(&I);
    }
    llvm::sort(Sorted, [](const auto *A, const auto *B) {
      return std::tie(A->Index, A->Instance.DynamicHash) <
             std::tie(B->Index, B->Instance.DynamicHash);
    });
    Out.List.clear();
    for (OrderedInstance *I : Sorted)
      Out.List.push_back(std::move(I->Instance));
    return true;
  }
};
} // namespace

bool mneme::fromJSON(const json::Value &V, RecordedKernel &K, json::Path P) {
  StrictMapper O(V, P);
  // The version first: what another version means by a key is not known.
  uint64_t Version;
  if (!O || !O.map("FormatVersion", Version))
    return false;
  if (Version != FormatVersion) {
    P.field("FormatVersion").report("this reader knows version 1 only");
    return false;
  }
  OrderedInstances Instances;
  if (!O.map("KernelName", K.KernelName) ||
      !O.map("DemangledName", K.DemangledName) ||
      !O.map("StaticHash", K.StaticHash) || !O.map("Triple", K.Triple) ||
      !O.map("Arch", K.Arch) || !O.map("OptLevel", K.OptLevel) ||
      !O.map("Device", K.Device) || !O.map("Toolchain", K.Toolchain) ||
      !O.map("Modules", K.Modules) || !O.map("VAddr", K.VAddr) ||
      !O.map("VASize", K.VASize) || !O.map("Args", K.Args) ||
      !O.map("Globals", K.Globals) ||
      !O.map("DynamicHashInputs", K.DynamicHashInputs) ||
      !O.map("instances", Instances) || !O.finish())
    return false;
  if (K.KernelName.empty()) {
    P.field("KernelName").report("expected a name");
    return false;
  }
  if (!isHash(K.StaticHash, 32)) {
    P.field("StaticHash").report("expected 32 hexadecimal digits");
    return false;
  }
  if (K.Modules.empty()) {
    P.field("Modules").report("expected a module");
    return false;
  }
  for (const auto &[Index, Name] : llvm::enumerate(K.Modules))
    if (!checkFileName(Name, P.field("Modules").index(Index)))
      return false;
  if (K.VASize == 0 || K.VAddr + K.VASize < K.VAddr) {
    P.field("VASize").report("expected the size of an address range");
    return false;
  }
  K.Instances = std::move(Instances.List);
  return true;
}

Expected<RecordedKernel> mneme::parseRecordedKernel(StringRef Text) {
  if (Text.empty())
    return createStringError("truncated: the file is empty");
  if (isNestedTooDeep(Text))
    return createStringError("not a recording: nested too deep");
  Expected<json::Value> V = json::parse(Text);
  if (!V)
    return V.takeError();
  RecordedKernel K;
  json::Path::Root Root("recording");
  if (!fromJSON(*V, K, Root))
    return Root.getError();
  return K;
}

Expected<RecordedKernel> mneme::readKernelFile(StringRef Path) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readTextFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  Expected<RecordedKernel> K = parseRecordedKernel((*Buffer)->getBuffer());
  if (!K)
    return createFileError(Path, K.takeError());
  // Whoever replaces or removes a kernel's file knows it by this name.
  StringRef Name = sys::path::filename(Path);
  if (isHash(sys::path::stem(Name), 32) && Name != K->StaticHash + ".json")
    return createFileError(
        Path, createStringError("has the name of another kernel, not '" +
                                K->StaticHash + ".json'"));
  return K;
}

Error mneme::writeKernelFile(StringRef Path, const RecordedKernel &K,
                             bool Sync) {
  return writeFileAtomically(
      Path,
      [&](raw_ostream &OS) {
        OS << formatv("{0:2}\n", toJSON(K));
        return Error::success();
      },
      Sync);
}

Expected<std::vector<std::string>> mneme::findKernelFiles(StringRef Dir) {
  std::vector<std::string> Files;
  std::error_code EC;
  for (sys::fs::directory_iterator It(Dir, EC), End; !EC && It != End;
       It.increment(EC)) {
    StringRef Path = It->path();
    // Other JSON files may lie beside them: results of replay and tuning.
    if (sys::path::extension(Path) == ".json" &&
        isHash(sys::path::stem(Path), 32))
      Files.push_back(Path.str());
  }
  if (EC)
    return createFileError(Dir, EC);
  if (Files.empty())
    return createFileError(
        Dir, createStringError("no recordings (no <static hash>.json file)"));
  llvm::sort(Files);
  return Files;
}

Expected<std::vector<RecordedKernel>> mneme::readDatabase(StringRef Dir) {
  Expected<std::vector<std::string>> Files = findKernelFiles(Dir);
  if (!Files)
    return Files.takeError();
  std::vector<RecordedKernel> Kernels;
  for (const std::string &Path : *Files) {
    Expected<RecordedKernel> K = readKernelFile(Path);
    if (!K)
      return K.takeError();
    Kernels.push_back(std::move(*K));
  }
  return Kernels;
}
