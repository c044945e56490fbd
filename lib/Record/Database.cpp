//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/Database.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Mneme/Record/Folder.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// Versions of the JSON files. Version 1 has no digests.
static constexpr int64_t Unsealed = 1, Sealed = 2;

/// Key of the digest of an object's other members.
static constexpr StringLiteral DigestKey = "Digest";

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

Expected<std::string>
mneme::completeRecordId(StringRef Beginning, ArrayRef<RecordedKernel> Kernels) {
  std::set<std::string> Found;
  for (const RecordedKernel &K : Kernels)
    for (const RecordedInstance &I : K.Instances)
      if (StringRef(I.DynamicHash).starts_with(Beginning))
        Found.insert(I.DynamicHash);
  if (Found.size() > 1 && !Beginning.empty())
    return createStringError("several records begin with '" + Beginning +
                             "': " + join(Found, ", "));
  return Found.size() == 1 ? *Found.begin() : Beginning.str();
}

std::vector<std::string> RecordedKernel::codeFiles() const {
  std::vector<std::string> Files = Modules;
  if (!Image.File.empty())
    Files.push_back(Image.File);
  return Files;
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

bool RecordedKernel::isSealed() const {
  return ModuleDigests.size() == Modules.size() &&
         llvm::all_of(Instances, [](const RecordedInstance &I) {
           return !I.PrologueDigest.empty() && !I.EpilogueDigest.empty();
         });
}

//===----------------------------------------------------------------------===//
// Digests
//===----------------------------------------------------------------------===//

static Expected<std::string> digestFile(StringRef Path) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  return toHexString(digest128((*Buffer)->getBuffer()));
}

Error RecordedInstance::seal(StringRef ProloguePath, StringRef EpiloguePath) {
  if (Error E = digestFile(ProloguePath).moveInto(PrologueDigest))
    return E;
  return digestFile(EpiloguePath).moveInto(EpilogueDigest);
}

/// Printing sorts the keys, so the order in the file does not matter.
static std::string digestOf(const json::Object &Facts, StringRef Prefix = "") {
  std::string Text = Prefix.str();
  raw_string_ostream(Text) << json::Value(json::Object(Facts));
  return toHexString(digest128(Text));
}

/// The hashes make digests of different launches differ, so that an instance
/// cannot be moved to another kernel.
static std::string digestOf(const json::Object &Facts, StringRef StaticHash,
                            StringRef DynamicHash) {
  return digestOf(Facts, (StaticHash + "." + DynamicHash + " ").str());
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static json::Value dimsToJSON(const Dim3 &D) {
  return json::Object{{"x", D.X}, {"y", D.Y}, {"z", D.Z}};
}

/// Omits keys that have their default values: readers that predate GPU support
/// do not know them.
static json::Object instanceToJSON(const RecordedInstance &I, int64_t Index,
                                   bool IsSealed) {
  json::Object O{{"Index", Index},
                 {"GridDims", dimsToJSON(I.Grid)},
                 {"BlockDims", dimsToJSON(I.Block)},
                 {"SharedMem", I.SharedMem},
                 {"Prologue", I.Prologue},
                 {"Epilogue", I.Epilogue},
                 {"Occurrences", I.Occurrences}};
  if (!I.VaryingArgs.empty())
    O["VaryingArgs"] = json::Array(I.VaryingArgs);
  if (I.Cooperative)
    O["Cooperative"] = true;
  if (I.Cluster != Dim3())
    O["ClusterDims"] = dimsToJSON(I.Cluster);
  if (I.OmittedRegions)
    O["Omitted"] =
        json::Object{{"Regions", I.OmittedRegions}, {"Bytes", I.OmittedBytes}};
  if (!I.Device.Name.empty())
    O["Device"] = json::Object{{"Name", json::fixUTF8(I.Device.Name)},
                               {"Arch", json::fixUTF8(I.Device.Arch)},
                               {"Driver", json::fixUTF8(I.Device.Driver)},
                               {"Runtime", json::fixUTF8(I.Device.Runtime)}};
  if (IsSealed) {
    O["PrologueDigest"] = I.PrologueDigest;
    O["EpilogueDigest"] = I.EpilogueDigest;
  }
  return O;
}

json::Value mneme::toJSON(const KernelArg &A) {
  return json::Object{{"Name", json::fixUTF8(A.Name)},
                      {"Type", json::fixUTF8(A.Type)},
                      {"Size", A.Size},
                      {"Offset", A.Offset},
                      {"Kind", ArgKinds[A.Kind]}};
}

static StringRef kindOf(const RecordedImage &Image) {
  StringRef Kind = getImageKind(Image.IsPTX, Image.Arch);
  return Kind == "PTX" ? "ptx" : Kind;
}

/// Everything except the instances.
static json::Object kernelToJSON(const RecordedKernel &K, bool IsSealed) {
  json::Array Args(K.Args), Globals;
  for (const KernelGlobal &G : K.Globals)
    Globals.push_back(json::Object{{"Name", json::fixUTF8(G.Name)},
                                   {"Size", G.Size},
                                   {"Address", G.Address}});
  json::Object O{{"FormatVersion", IsSealed ? Sealed : Unsealed},
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
                 {"DynamicHashInputs", json::Array(K.DynamicHashInputs)}};
  if (IsSealed)
    O["ModuleDigests"] = json::Array(K.ModuleDigests);
  // Readers that predate kernels of other compilers do not know these keys.
  if (!K.Image.File.empty())
    O["Image"] = json::Object{{"File", K.Image.File},
                              {"Digest", K.Image.Digest},
                              {"Arch", json::fixUTF8(K.Image.Arch)},
                              {"Kind", kindOf(K.Image)},
                              {"Only", K.Image.IsOnly}};
  if (!K.Configuration.empty())
    O["Configuration"] = json::fixUTF8(K.Configuration);
  return O;
}

json::Value mneme::toJSON(const RecordedKernel &K) {
  bool IsSealed = K.isSealed();
  json::Object Facts = kernelToJSON(K, IsSealed);
  json::Object Instances;
  for (const auto &[Index, I] : llvm::enumerate(K.Instances)) {
    json::Object Launch =
        instanceToJSON(I, static_cast<int64_t>(Index), IsSealed);
    if (IsSealed)
      Launch[DigestKey] = digestOf(Launch, K.StaticHash, I.DynamicHash);
    Instances[I.DynamicHash] = std::move(Launch);
  }
  if (IsSealed)
    Facts[DigestKey] = digestOf(Facts);
  Facts["instances"] = std::move(Instances);
  return Facts;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// Maps an object strictly: keys are required unless mapped as optional, and
/// unknown keys are errors unless they begin with "x-".
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

  /// Leaves \p Out unchanged if the key is missing.
  template <typename T> bool mapOptional(StringLiteral Key, T &Out) {
    Known.push_back(Key);
    const json::Value *V = O->get(Key);
    return !V || fromJSON(*V, Out, P.field(Key));
  }

  /// Returns the value itself, for callers that map several fields from it.
  bool mapOptional(StringLiteral Key, const json::Value *&Out) {
    Known.push_back(Key);
    Out = O->get(Key);
    return true;
  }

  /// Must be called after all keys have been mapped.
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

/// Accepts only names of files in the recording's own folder.
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

// Declared in the namespace, so that json::fromJSON finds them for vectors.
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

static bool fromJSON(const json::Value &V, RecordedImage &Out, json::Path P) {
  StrictMapper O(V, P);
  std::string Kind;
  if (!O || !O.map("File", Out.File) || !O.map("Digest", Out.Digest) ||
      !O.map("Arch", Out.Arch) || !O.map("Kind", Kind) ||
      !O.map("Only", Out.IsOnly))
    return false;
  if (!isHash(Out.Digest, 32)) {
    P.field("Digest").report("expected 32 hexadecimal digits");
    return false;
  }
  Out.IsPTX = Kind == "ptx";
  if (Kind != kindOf(Out)) {
    P.field("Kind").report("expected cubin, ptx, or code object for an AMD "
                           "GPU");
    return false;
  }
  return checkFileName(Out.File, P.field("File")) && O.finish();
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
/// An instance and its index in the order of recording, which JSON objects do
/// not preserve.
struct OrderedInstance {
  uint64_t Index = 0;
  RecordedInstance Instance;
  std::string Digest; ///< As in the file; empty if missing.

  bool isSealed() const {
    return isHash(Digest, 32) && isHash(Instance.PrologueDigest, 32) &&
           isHash(Instance.EpilogueDigest, 32);
  }
  bool hasDigests() const {
    return !Digest.empty() || !Instance.PrologueDigest.empty() ||
           !Instance.EpilogueDigest.empty();
  }

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
           O.mapOptional("VaryingArgs", I.VaryingArgs) &&
           O.mapOptional("Cooperative", I.Cooperative) &&
           O.mapOptional("ClusterDims", I.Cluster) &&
           O.mapOptional("Device", I.Device) && readOmitted(O, I, P) &&
           O.mapOptional("PrologueDigest", I.PrologueDigest) &&
           O.mapOptional("EpilogueDigest", I.EpilogueDigest) &&
           O.mapOptional(DigestKey, Out.Digest) && O.finish();
  }
};

/// All instances, in the order of recording.
struct OrderedInstances {
  std::vector<OrderedInstance> List;

  friend bool fromJSON(const json::Value &V, OrderedInstances &Out,
                       json::Path P) {
    using json::fromJSON;
    std::map<std::string, OrderedInstance> ByHash;
    if (!fromJSON(V, ByHash, P))
      return false;
    // json::Path stores a reference to the key, so use the document's keys.
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
      Out.List.push_back(std::move(*I));
    return true;
  }
};
} // namespace

/// Checks the digests of a file of version 2.
static bool checkSeals(const json::Object &File, const RecordedKernel &K,
                       StringRef Digest, ArrayRef<OrderedInstance> Instances,
                       json::Path P) {
  if (K.ModuleDigests.size() != K.Modules.size() ||
      !llvm::all_of(K.ModuleDigests,
                    [](StringRef D) { return isHash(D, 32); })) {
    P.field("ModuleDigests").report("expected 32 hexadecimal digits a module");
    return false;
  }
  if (Digest != digestOf(kernelToJSON(K, /*IsSealed=*/true))) {
    P.field(DigestKey).report(
        "the kernel's properties have changed since they were recorded; "
        "restore "
        "the file, and replay with other properties by options of "
        "llvm-mneme-replay; wrong digest");
    return false;
  }
  json::Path All = P.field("instances");
  for (const OrderedInstance &O : Instances) {
    // json::Path stores a reference to the key, so use the document's keys.
    StringRef Hash =
        File.getObject("instances")->find(O.Instance.DynamicHash)->first;
    json::Path Here = All.field(Hash);
    if (!O.isSealed()) {
      Here.report("expected digests of 32 hexadecimal digits");
      return false;
    }
    json::Object Facts = instanceToJSON(
        O.Instance, static_cast<int64_t>(O.Index), /*IsSealed=*/true);
    if (O.Digest == digestOf(Facts, K.StaticHash, Hash))
      continue;
    Here.field(DigestKey).report(
        "the launch's properties have changed since they were recorded; "
        "restore "
        "the file, and replay other launches by options such as --grid-dim-x; "
        "wrong digest");
    return false;
  }
  return true;
}

/// A file of version 1 must not have digests. If it has some, its version was
/// changed.
static bool checkUnsealed(const RecordedKernel &K, StringRef Digest,
                          ArrayRef<OrderedInstance> Instances, json::Path P) {
  if (K.ModuleDigests.empty() && Digest.empty() &&
      llvm::none_of(Instances,
                    [](const OrderedInstance &O) { return O.hasDigests(); }))
    return true;
  P.field("FormatVersion").report("files of version 1 have no digests");
  return false;
}

bool mneme::fromJSON(const json::Value &V, RecordedKernel &K, json::Path P) {
  StrictMapper O(V, P);
  // Read the version first: keys may have another meaning in other versions.
  uint64_t Version;
  if (!O || !O.map("FormatVersion", Version))
    return false;
  if (Version != Unsealed && Version != Sealed) {
    P.field("FormatVersion")
        .report("this reader knows versions 1 and 2; update Mneme to read a later one");
    return false;
  }
  OrderedInstances Instances;
  std::string Digest;
  if (!O.map("KernelName", K.KernelName) ||
      !O.map("DemangledName", K.DemangledName) ||
      !O.map("StaticHash", K.StaticHash) || !O.map("Triple", K.Triple) ||
      !O.map("Arch", K.Arch) || !O.map("OptLevel", K.OptLevel) ||
      !O.map("Device", K.Device) || !O.map("Toolchain", K.Toolchain) ||
      !O.map("Modules", K.Modules) || !O.map("VAddr", K.VAddr) ||
      !O.map("VASize", K.VASize) || !O.map("Args", K.Args) ||
      !O.map("Globals", K.Globals) ||
      !O.map("DynamicHashInputs", K.DynamicHashInputs) ||
      !O.map("instances", Instances) || !O.mapOptional("Image", K.Image) ||
      !O.mapOptional("Configuration", K.Configuration) ||
      !O.mapOptional("ModuleDigests", K.ModuleDigests) ||
      !O.mapOptional(DigestKey, Digest) || !O.finish())
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
  if (Version == Sealed
          ? !checkSeals(*V.getAsObject(), K, Digest, Instances.List, P)
          : !checkUnsealed(K, Digest, Instances.List, P))
    return false;
  K.Instances.clear();
  for (OrderedInstance &I : Instances.List)
    K.Instances.push_back(std::move(I.Instance));
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

static bool isExecutable(StringRef Contents) {
  file_magic Magic = identify_magic(Contents);
  return Magic == file_magic::elf_executable ||
         Magic == file_magic::elf_shared_object;
}

Expected<RecordedKernel> mneme::readKernelFile(StringRef Path) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readTextFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  if (isExecutable((*Buffer)->getBuffer()))
    return createFileError(
        Path, createStringError("is an executable, not a recording: record its "
                                "kernels with llvm-mneme-record -- " +
                                quoteWord(Path)));
  Expected<RecordedKernel> K = parseRecordedKernel((*Buffer)->getBuffer());
  if (!K)
    return createFileError(Path, K.takeError());
  // Code that replaces or removes kernel files derives the name from the static
  // hash.
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

Expected<std::unique_ptr<MemoryBuffer>>
mneme::readModule(StringRef Dir, const RecordedKernel &K, size_t Index) {
  SmallString<128> Path(Dir);
  sys::path::append(Path, K.Modules[Index]);
  Expected<std::unique_ptr<MemoryBuffer>> File = readFile(Path, MaxIRFile);
  if (!File)
    return File.takeError();
  // A mapped file may change between this check and its use.
  std::unique_ptr<MemoryBuffer> Copy =
      MemoryBuffer::getMemBufferCopy((*File)->getBuffer(), Path);
  if (K.ModuleDigests.empty())
    return std::move(Copy);
  std::string Digest = toHexString(digest128(Copy->getBuffer()));
  if (Digest == K.ModuleDigests[Index])
    return std::move(Copy);
  return createFileError(
      Path, createStringError("has changed since it was recorded: digest " +
                              Digest + ", not " + K.ModuleDigests[Index] +
                              "; restore the file, and replay other IR with "
                              "--ir"));
}

Expected<std::unique_ptr<MemoryBuffer>>
mneme::readImage(StringRef Dir, const RecordedKernel &K) {
  std::string Path = pathIn(Dir, K.Image.File);
  Expected<std::unique_ptr<MemoryBuffer>> File = readFile(Path, MaxIRFile);
  if (!File)
    return File.takeError();
  std::unique_ptr<MemoryBuffer> Copy =
      MemoryBuffer::getMemBufferCopy((*File)->getBuffer(), Path);
  std::string Digest = toHexString(digest128(Copy->getBuffer()));
  if (Digest == K.Image.Digest)
    return std::move(Copy);
  return createFileError(
      Path,
      createStringError("has changed since it was recorded: digest " + Digest +
                        ", not " + K.Image.Digest + "; restore the file"));
}

std::string mneme::getFormatWarning(const RecordedKernel &K) {
  if (K.isSealed())
    return "";
  return "'" + K.StaticHash +
         ".json' has format version 1, without digests: changes of the "
         "recording are not noticed; 'llvm-mneme-record check --update' adds "
         "digests";
}

Error mneme::sealKernelFile(StringRef Path, const RecordedKernel &K) {
  StringRef Dir = sys::path::parent_path(Path);
  if (Dir.empty())
    Dir = ".";
  auto InDir = [&](StringRef Name) { return pathIn(Dir, Name); };
  Expected<LockedFile> Lock = lockFolder(Dir);
  if (!Lock)
    return Lock.takeError();
  Expected<RecordedKernel> Now = readKernelFile(Path);
  if (!Now)
    return Now.takeError();
  if (toJSON(*Now) != toJSON(K))
    return createFileError(Path,
                           createStringError("has changed meanwhile: check it "
                                             "again"));
  for (const std::string &Module : K.Modules)
    if (Error E = digestFile(InDir(Module))
                      .moveInto(Now->ModuleDigests.emplace_back()))
      return E;
  for (RecordedInstance &I : Now->Instances)
    if (Error E = I.seal(InDir(I.Prologue), InDir(I.Epilogue)))
      return E;
  return writeKernelFile(Path, *Now);
}

Expected<std::vector<std::string>> mneme::findKernelFiles(StringRef Dir) {
  std::vector<std::string> Files;
  std::error_code EC;
  for (sys::fs::directory_iterator It(Dir, EC), End; !EC && It != End;
       It.increment(EC)) {
    StringRef Path = It->path();
    // Other JSON files may be in the folder: results of replay and tuning.
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
