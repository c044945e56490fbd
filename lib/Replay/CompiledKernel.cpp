//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Serialization of a compiled kernel: Header, then JSON, then the image.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace llvm;
using namespace llvm::mneme;

namespace {
struct Header {
  char Magic[8];
  support::ulittle64_t JSONSize, ImageSize;
  uint8_t Digest[16]; ///< Of all bytes that follow.
};
} // namespace

static constexpr char Magic[] = "MNEMECK1";

StringRef mneme::getCodeStageName(CodeStage S) {
  return S == CodeStage::IR ? "ir" : "assembly";
}

static std::optional<CodeStage> parseCodeStage(StringRef Name) {
  for (CodeStage S : {CodeStage::IR, CodeStage::Assembly})
    if (Name == getCodeStageName(S))
      return S;
  return std::nullopt;
}

static json::Value imageToJSON(const DeviceImage &Image) {
  json::Object O{{"triple", Image.Triple},
                 {"arch", Image.Arch},
                 {"kernel", json::fixUTF8(Image.KernelName)},
                 {"globals", json::Array(Image.Globals)},
                 {"own_variables", json::Array(Image.OwnVariables)},
                 {"slots", json::Array(Image.Slots)},
                 {"args", json::Array(Image.Args)}};
  O["host"] = Image.HostInfo ? toJSON(getHostKernelInfo(Image))
                             : json::Value(nullptr);
  return O;
}

static bool imageFromJSON(const json::Value &V, DeviceImage &Image,
                          json::Path P) {
  json::ObjectMapper O(V, P);
  std::optional<HostKernelInfo> Host;
  if (!O || !O.map("triple", Image.Triple) || !O.map("arch", Image.Arch) ||
      !O.map("kernel", Image.KernelName) || !O.map("globals", Image.Globals) ||
      !O.map("own_variables", Image.OwnVariables) ||
      !O.map("slots", Image.Slots) || !O.map("args", Image.Args) ||
      !O.map("host", Host))
    return false;
  if (Host)
    setHostKernelInfo(Image, std::move(*Host));
  return true;
}

static json::Value codeToJSON(const CompiledKernel &Code) {
  return json::Object{
      {"image", imageToJSON(Code.Image)},
      {"times", toJSON(Code.Times)},
      {"obj_size", Code.ObjectSize},
      {"ir_hash", Code.IRHash},
      {"assembly_hash", Code.AssemblyHash},
      {"code_hash", Code.CodeHash},
      {"assembler", Code.Assembler},
      {"resources", Code.Resources ? toJSON(*Code.Resources) : nullptr},
      {"app", Code.App ? toJSON(*Code.App) : nullptr},
      {"host_strategy", Code.HostStrategy},
      {"host_reason", json::fixUTF8(Code.HostReason)},
      {"verdict", getVerdictName(Code.V)},
      {"error", json::fixUTF8(Code.Error)},
      {"stopped_at", Code.StoppedAt
                         ? json::Value(getCodeStageName(*Code.StoppedAt))
                         : json::Value(nullptr)}};
}

static bool codeFromJSON(const json::Value &V, CompiledKernel &Code,
                         json::Path P) {
  json::ObjectMapper O(V, P);
  std::string Name;
  std::optional<std::string> Stage;
  if (!O || !O.map("times", Code.Times) ||
      !O.map("obj_size", Code.ObjectSize) ||
      !O.map("ir_hash", Code.IRHash) ||
      !O.map("assembly_hash", Code.AssemblyHash) ||
      !O.map("code_hash", Code.CodeHash) ||
      !O.map("assembler", Code.Assembler) ||
      !O.map("resources", Code.Resources) || !O.map("app", Code.App) ||
      !O.map("host_strategy", Code.HostStrategy) ||
      !O.map("host_reason", Code.HostReason) || !O.map("verdict", Name) ||
      !O.map("error", Code.Error) || !O.map("stopped_at", Stage))
    return false;
  const json::Value *Image = V.getAsObject()->get("image");
  if (!Image) {
    P.field("image").report("missing value");
    return false;
  }
  std::optional<Verdict> Known = parseVerdict(Name);
  if (!Known) {
    P.field("verdict").report("unknown verdict");
    return false;
  }
  Code.V = *Known;
  if (Stage) {
    Code.StoppedAt = parseCodeStage(*Stage);
    if (!Code.StoppedAt) {
      P.field("stopped_at").report("unknown stage");
      return false;
    }
  }
  return imageFromJSON(*Image, Code.Image, P.field("image"));
}

std::string mneme::serialize(const CompiledKernel &Code) {
  std::string Bytes(sizeof(Header), 0);
  raw_string_ostream OS(Bytes);
  OS << codeToJSON(Code);
  Header H;
  std::memcpy(H.Magic, Magic, sizeof(H.Magic));
  H.JSONSize = Bytes.size() - sizeof(Header);
  H.ImageSize = Code.Image.Object.size();
  OS << StringRef(Code.Image.Object.data(), Code.Image.Object.size());
  Digest128 D = digest128(StringRef(Bytes).drop_front(sizeof(Header)));
  std::copy(D.begin(), D.end(), H.Digest);
  std::memcpy(Bytes.data(), &H, sizeof(H));
  return Bytes;
}

Expected<CompiledKernel> mneme::deserializeCompiledKernel(StringRef Bytes) {
  Header H;
  if (Bytes.size() < sizeof(H))
    return createStringError(
        formatv("not a compiled kernel: {0} bytes", Bytes.size()).str());
  std::memcpy(&H, Bytes.data(), sizeof(H));
  StringRef Body = Bytes.drop_front(sizeof(H));
  if (StringRef(H.Magic, sizeof(H.Magic)) != Magic)
    return createStringError("not a compiled kernel");
  if (H.JSONSize > Body.size() || H.ImageSize != Body.size() - H.JSONSize)
    return createStringError("damaged compiled kernel: wrong size");
  Digest128 D = digest128(Body);
  if (!std::equal(D.begin(), D.end(), H.Digest))
    return createStringError("damaged compiled kernel: wrong digest");
  Expected<json::Value> V = json::parse(Body.take_front(H.JSONSize));
  if (!V)
    return V.takeError();
  CompiledKernel Code;
  json::Path::Root Root("compiled kernel");
  if (!codeFromJSON(*V, Code, Root))
    return Root.getError();
  StringRef Image = Body.drop_front(H.JSONSize);
  Code.Image.Object.assign(Image.begin(), Image.end());
  return std::move(Code);
}
