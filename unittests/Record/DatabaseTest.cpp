//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/Database.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

static const char Static[] = "00112233445566778899aabbccddeeff";

static RecordedKernel makeKernel() {
  RecordedKernel K;
  K.KernelName = "_Z5saxpyfPf";
  K.DemangledName = "saxpy(float, float*)";
  K.StaticHash = Static;
  K.Triple = "nvptx64-nvidia-cuda";
  K.Arch = "sm_90";
  K.OptLevel = "2";
  K.Device = "host";
  K.Toolchain = "clang 22.1.8";
  K.Modules = {"RecordedIR_" + K.StaticHash + ".bc"};
  K.VAddr = MNEME_ARENA_BASE;
  K.VASize = MNEME_ARENA_SIZE;
  K.Args = {{4, 0, MNEME_ARG_VALUE, "a", "float"},
            {8, 8, MNEME_ARG_POINTER, "", "ptr"}};
  K.Globals = {{"counter", 4, MNEME_ARENA_BASE + 64}};
  K.DynamicHashInputs = {"GridDims"};
  // Not in the order of the hashes.
  K.Instances = {
      {"ff00000000000000", {4, 2, 1}, {256, 1, 1}, 1024, "p1", "e1", 7, false,
       {}},
      {"0000000000000001", {1, 1, 1}, {32, 4, 2}, 0, "p2", "e2", 1, false,
       {}}};
  return K;
}

static std::string textOf(const json::Value &V) {
  return formatv("{0:2}", V).str();
}

/// The error after \p Edit of a good recording.
static std::string errorAfter(function_ref<void(json::Object &)> Edit) {
  json::Value V = toJSON(makeKernel());
  Edit(*V.getAsObject());
  Expected<RecordedKernel> K = parseRecordedKernel(textOf(V));
  return K ? "no error" : toString(K.takeError());
}

TEST(Database, RoundTrip) {
  RecordedKernel K = makeKernel();
  Expected<RecordedKernel> R = parseRecordedKernel(textOf(toJSON(K)));
  ASSERT_THAT_EXPECTED(R, Succeeded());
  EXPECT_EQ(textOf(toJSON(*R)), textOf(toJSON(K)));
  EXPECT_EQ(R->VASize, MNEME_ARENA_SIZE);
  ASSERT_EQ(R->Instances.size(), 2u);
  EXPECT_EQ(R->Instances[0].DynamicHash, "ff00000000000000");
  EXPECT_EQ(R->Instances[0].Occurrences, 7u);
  EXPECT_EQ(R->Instances[1].Block, (Dim3{32, 4, 2}));
  ASSERT_EQ(R->Args.size(), 2u);
  EXPECT_EQ(R->Args[1].Kind, uint32_t(MNEME_ARG_POINTER));
  ASSERT_NE(R->findInstance("0000000000000001"), nullptr);
  EXPECT_EQ(R->findInstance("0000000000000001")->Prologue, "p2");
  EXPECT_EQ(R->findInstance("0"), nullptr);
}

TEST(Database, NamesAsUsersKnowThem) {
  json::Value V = toJSON(makeKernel());
  const json::Object &O = *V.getAsObject();
  for (StringRef Key :
       {"KernelName", "DemangledName", "StaticHash", "Modules", "VAddr",
        "VASize", "instances", "FormatVersion", "Triple", "Arch", "OptLevel",
        "Device", "Toolchain", "Args", "Globals", "DynamicHashInputs"})
    EXPECT_TRUE(O.get(Key)) << Key.str();
  const json::Object *I =
      O.getObject("instances")->getObject("ff00000000000000");
  ASSERT_TRUE(I);
  EXPECT_EQ(*I->getObject("GridDims")->getInteger("x"), 4);
  EXPECT_EQ(*I->getObject("BlockDims")->getInteger("x"), 256);
  EXPECT_EQ(*I->getInteger("SharedMem"), 1024);
  EXPECT_EQ(*I->getInteger("Occurrences"), 7);
}

TEST(Database, SaysWhatALaunchOnAGPUWas) {
  RecordedKernel K = makeKernel();
  json::Value Host = toJSON(K);
  // A recording of the host device has no keys that older readers refuse.
  for (const auto &[Key, V] : *Host.getAsObject()->getObject("instances")) {
    EXPECT_FALSE(V.getAsObject()->get("Cooperative"));
    EXPECT_FALSE(V.getAsObject()->get("ClusterDims"));
    EXPECT_FALSE(V.getAsObject()->get("Device"));
  }
  K.Instances[0].Cooperative = true;
  K.Instances[0].Cluster = {2, 1, 4};
  K.Instances[0].Device = {"NVIDIA H200", "sm_90", "13.0", "12.8"};
  Expected<RecordedKernel> R =
      parseRecordedKernel(formatv("{0}", toJSON(K)).str());
  ASSERT_THAT_EXPECTED(R, Succeeded());
  EXPECT_TRUE(R->Instances[0].Cooperative);
  EXPECT_EQ(R->Instances[0].Cluster, Dim3({2, 1, 4}));
  EXPECT_EQ(R->Instances[0].Device.Name, "NVIDIA H200");
  EXPECT_EQ(R->Instances[0].Device.Arch, "sm_90");
  EXPECT_EQ(R->Instances[0].Device.Driver, "13.0");
  EXPECT_EQ(R->Instances[0].Device.Runtime, "12.8");
  EXPECT_FALSE(R->Instances[1].Cooperative);
  EXPECT_EQ(R->Instances[1].Cluster, Dim3());
  EXPECT_EQ(R->Instances[1].Device.Name, "");
}

TEST(Database, SaysWhatWasLeftOut) {
  RecordedKernel K = makeKernel();
  K.Instances[0].OmittedRegions = 3;
  K.Instances[0].OmittedBytes = uint64_t(1) << 40;
  Expected<RecordedKernel> R = parseRecordedKernel(textOf(toJSON(K)));
  ASSERT_THAT_EXPECTED(R, Succeeded());
  EXPECT_EQ(R->Instances[0].OmittedRegions, 3u);
  EXPECT_EQ(R->Instances[0].OmittedBytes, uint64_t(1) << 40);
  EXPECT_EQ(R->Instances[1].OmittedRegions, 0u);
  // Nothing left out is not mentioned.
  K.Instances[0].OmittedRegions = 0;
  EXPECT_EQ(textOf(toJSON(K)).find("Omitted"), std::string::npos);
}

TEST(Database, RefusesWrongOmissions) {
  auto ErrorOf = [](json::Value Omitted) {
    return errorAfter([&](json::Object &O) {
      (*O.getObject("instances")->getObject("ff00000000000000"))["Omitted"] =
          std::move(Omitted);
    });
  };
  std::string At = "recording.instances.ff00000000000000.Omitted";
  EXPECT_EQ(ErrorOf(3), "expected object at " + At);
  EXPECT_EQ(ErrorOf(json::Object{{"Regions", 1}}),
            "missing key at " + At + ".Bytes");
  EXPECT_THAT(ErrorOf(json::Object{{"Regions", -1}, {"Bytes", 1}}),
              HasSubstr(At + ".Regions"));
  EXPECT_EQ(ErrorOf(json::Object{{"Regions", 1}, {"Bytes", 1}, {"Size", 1}}),
            "unknown key at " + At + ".Size");
}

TEST(Database, EveryKeyIsRequired) {
  json::Value V = toJSON(makeKernel());
  for (const auto &[Key, Value] : *V.getAsObject()) {
    StringRef Name = Key;
    EXPECT_EQ(errorAfter([&](json::Object &O) { O.erase(Name); }),
              "missing key at recording." + Name.str());
  }
}

TEST(Database, EveryTypeIsChecked) {
  json::Value V = toJSON(makeKernel());
  for (const auto &[Key, Value] : *V.getAsObject()) {
    StringRef Name = Key;
    EXPECT_THAT(errorAfter([&](json::Object &O) { O[Name] = true; }),
                HasSubstr("at recording." + Name.str()));
  }
}

TEST(Database, UnknownKeys) {
  EXPECT_EQ(errorAfter([](json::Object &O) { O["x-note"] = "mine"; }),
            "no error");
  EXPECT_EQ(errorAfter([](json::Object &O) { O["Note"] = 1; }),
            "unknown key at recording.Note");
}

TEST(Database, RefusesAnotherVersion) {
  EXPECT_EQ(errorAfter([](json::Object &O) { O["FormatVersion"] = 3; }),
            "this reader knows versions 1 and 2; update Mneme to read a later one at "
            "recording.FormatVersion");
}

//===----------------------------------------------------------------------===//
// Digests
//===----------------------------------------------------------------------===//

static RecordedKernel makeSealedKernel() {
  RecordedKernel K = makeKernel();
  K.ModuleDigests = {std::string(32, 'a')};
  for (RecordedInstance &I : K.Instances) {
    I.PrologueDigest = std::string(32, 'b');
    I.EpilogueDigest = std::string(32, 'c');
  }
  return K;
}

/// The same of a kernel with digests. \p Hash: the instance that \p Edit gets;
/// empty for the kernel.
static std::string errorAfterSealed(StringRef Hash,
                                    function_ref<void(json::Object &)> Edit) {
  json::Value V = toJSON(makeSealedKernel());
  json::Object &O = *V.getAsObject();
  Edit(Hash.empty() ? O : *O.getObject("instances")->getObject(Hash));
  Expected<RecordedKernel> K = parseRecordedKernel(textOf(V));
  return K ? "no error" : toString(K.takeError());
}

TEST(Database, SealedRoundTrip) {
  RecordedKernel K = makeSealedKernel();
  EXPECT_TRUE(K.isSealed());
  EXPECT_EQ(*toJSON(K).getAsObject()->getInteger("FormatVersion"), 2);
  // Neither white space nor the order of keys matters.
  for (std::string Text :
       {textOf(toJSON(K)), formatv("{0}", toJSON(K)).str()}) {
    Expected<RecordedKernel> R = parseRecordedKernel(Text);
    ASSERT_THAT_EXPECTED(R, Succeeded());
    EXPECT_EQ(textOf(toJSON(*R)), textOf(toJSON(K)));
    EXPECT_EQ(R->ModuleDigests, K.ModuleDigests);
    EXPECT_EQ(R->Instances[0].EpilogueDigest, K.Instances[0].EpilogueDigest);
  }
  EXPECT_EQ(errorAfterSealed("", [](json::Object &O) { O["x-note"] = "mine"; }),
            "no error");
  EXPECT_EQ(getFormatWarning(K), "");
}

TEST(Database, OneMissingDigestMakesItVersion1) {
  for (unsigned Missing = 0; Missing != 3; ++Missing) {
    RecordedKernel K = makeSealedKernel();
    (Missing == 0   ? K.ModuleDigests[0]
     : Missing == 1 ? K.Instances[1].PrologueDigest
                    : K.Instances[0].EpilogueDigest)
        .clear();
    if (Missing == 0)
      K.ModuleDigests.clear();
    EXPECT_FALSE(K.isSealed());
    json::Value V = toJSON(K);
    EXPECT_EQ(*V.getAsObject()->getInteger("FormatVersion"), 1);
    EXPECT_EQ(textOf(V).find("Digest"), std::string::npos);
    EXPECT_THAT_EXPECTED(parseRecordedKernel(textOf(V)), Succeeded());
    EXPECT_THAT(getFormatWarning(K), HasSubstr("check --update"));
  }
}

TEST(Database, EveryPropertyOfAKernelIsSealed) {
  RecordedKernel K = makeSealedKernel();
  json::Value V = toJSON(K);
  auto IsChanged =
      HasSubstr("properties have changed since they were recorded");
  for (const auto &[Key, Value] : *V.getAsObject()) {
    StringRef Name = Key;
    if (Name == "FormatVersion" || Name == "instances" || Name == "StaticHash")
      continue;
    EXPECT_THAT(
        errorAfterSealed("",
                         [&](json::Object &O) {
                           json::Value &Old = O[Name];
                           if (auto S = Old.getAsString())
                             Old = (*S + "x").str();
                           else if (auto N = Old.getAsUINT64())
                             Old = *N - 4096;
                           else if (Name == "ModuleDigests")
                             Old = json::Array{std::string(32, 'f')};
                           else if (Name == "Args")
                             (*(*Old.getAsArray())[0].getAsObject())["Type"] =
                                 "double";
                           else if (Name == "Globals")
                             Old = json::Array();
                           else
                             Old = json::Array{"other"};
                         }),
        IsChanged)
        << Name.str();
  }
  EXPECT_THAT(
      errorAfterSealed(
          "", [](json::Object &O) { O["StaticHash"] = std::string(32, '0'); }),
      IsChanged);
}

TEST(Database, EveryPropertyOfALaunchIsSealed) {
  RecordedKernel K = makeSealedKernel();
  K.Instances[0].Cooperative = true;
  StringRef Hash = K.Instances[0].DynamicHash;
  json::Value V = toJSON(K);
  for (const auto &[Key, Value] :
       *V.getAsObject()->getObject("instances")->getObject(Hash)) {
    StringRef Name = Key;
    if (Name == "Cooperative")
      continue;
    EXPECT_THAT(
        errorAfterSealed(Hash,
                         [&](json::Object &O) {
                           json::Value &Old = O[Name];
                           if (Name == "Digest" || Name == "PrologueDigest" ||
                               Name == "EpilogueDigest")
                             Old = std::string(32, 'f');
                           else if (auto S = Old.getAsString())
                             Old = (*S + "x").str();
                           else if (auto N = Old.getAsUINT64())
                             Old = *N + 1;
                           else
                             Old = json::Object{{"x", 3}, {"y", 1}, {"z", 1}};
                         }),
        HasSubstr("the launch's properties have changed since they were "
                  "recorded; restore the file, and replay other launches by "
                  "options such as --grid-dim-x; wrong digest at "
                  "recording.instances." +
                  Hash.str() + ".Digest"))
        << Name.str();
  }
  auto IsChanged = HasSubstr("properties have changed");
  EXPECT_THAT(
      errorAfterSealed(Hash, [](json::Object &O) { O["Cooperative"] = true; }),
      IsChanged);
  EXPECT_THAT(errorAfterSealed(Hash,
                               [](json::Object &O) {
                                 O["Omitted"] =
                                     json::Object{{"Regions", 1}, {"Bytes", 1}};
                               }),
              IsChanged);
  // The launches of another kernel, or each other's.
  EXPECT_THAT(errorAfterSealed("",
                               [](json::Object &O) {
                                 json::Object &All = *O.getObject("instances");
                                 std::swap(All["ff00000000000000"],
                                           All["0000000000000001"]);
                               }),
              IsChanged);
}

TEST(Database, DigestsAreRequiredInVersion2Only) {
  StringRef Hash = "ff00000000000000";
  for (StringRef Key : {"PrologueDigest", "EpilogueDigest", "Digest"})
    EXPECT_EQ(errorAfterSealed(Hash, [&](json::Object &O) { O.erase(Key); }),
              "expected digests of 32 hexadecimal digits at "
              "recording.instances." +
                  Hash.str());
  EXPECT_EQ(
      errorAfterSealed("", [](json::Object &O) { O.erase("ModuleDigests"); }),
      "expected 32 hexadecimal digits a module at recording.ModuleDigests");
  EXPECT_THAT(errorAfterSealed("", [](json::Object &O) { O.erase("Digest"); }),
              HasSubstr("wrong digest at recording.Digest"));
  EXPECT_EQ(
      errorAfterSealed("", [](json::Object &O) { O["FormatVersion"] = 1; }),
      "files of version 1 have no digests at recording.FormatVersion");
  EXPECT_EQ(errorAfter([](json::Object &O) { O["Digest"] = "0"; }),
            "files of version 1 have no digests at recording.FormatVersion");
}

TEST(Database, ModulesAreThoseRecorded) {
  unittest::TempDir Dir("mneme-database", /*Unique=*/true);
  RecordedKernel K = makeKernel();
  std::string Path = std::string(Dir.path(K.Modules[0]));
  ASSERT_THAT_ERROR(writeFileAtomically(Path, "module"), Succeeded());
  auto Read = [&]() -> Expected<std::string> {
    Expected<std::unique_ptr<MemoryBuffer>> Bytes = readModule(Dir.path(), K);
    if (!Bytes)
      return Bytes.takeError();
    return (*Bytes)->getBuffer().str();
  };
  EXPECT_THAT_EXPECTED(Read(), HasValue("module"));
  K.ModuleDigests = {toHexString(digest128("module"))};
  EXPECT_THAT_EXPECTED(Read(), HasValue("module"));
  ASSERT_THAT_ERROR(writeFileAtomically(Path, "nodule"), Succeeded());
  EXPECT_THAT_EXPECTED(
      Read(),
      FailedWithMessage(HasSubstr(
          "has changed since it was recorded: digest " +
          toHexString(digest128("nodule")) + ", not " + K.ModuleDigests[0] +
          "; restore the file, and replay other IR with --ir")));
}

TEST(Database, SealsFilesOfVersion1) {
  unittest::TempDir Dir("mneme-database", /*Unique=*/true);
  RecordedKernel K = makeKernel();
  std::string Path = std::string(Dir.path(K.StaticHash + ".json"));
  ASSERT_THAT_ERROR(writeKernelFile(Path, K), Succeeded());
  for (StringRef Name : {StringRef(K.Modules[0]), StringRef("p1"),
                         StringRef("e1"), StringRef("p2")})
    ASSERT_THAT_ERROR(writeFileAtomically(Dir.path(Name), Name), Succeeded());
  // Not while a file is missing.
  EXPECT_THAT_ERROR(sealKernelFile(Path, K),
                    FailedWithMessage(HasSubstr("e2")));
  EXPECT_FALSE(cantFail(readKernelFile(Path)).isSealed());
  ASSERT_THAT_ERROR(writeFileAtomically(Dir.path("e2"), "e2"), Succeeded());
  RecordedKernel Other = K;
  Other.Arch = "sm_80";
  EXPECT_THAT_ERROR(
      sealKernelFile(Path, Other),
      FailedWithMessage(HasSubstr("has changed meanwhile: check it again")));
  ASSERT_THAT_ERROR(sealKernelFile(Path, K), Succeeded());
  RecordedKernel Sealed = cantFail(readKernelFile(Path));
  EXPECT_TRUE(Sealed.isSealed());
  EXPECT_EQ(Sealed.ModuleDigests[0], toHexString(digest128(K.Modules[0])));
  EXPECT_EQ(Sealed.Instances[0].PrologueDigest, toHexString(digest128("p1")));
  EXPECT_EQ(Sealed.Instances[1].EpilogueDigest, toHexString(digest128("e2")));
}

TEST(Database, DynamicHashes) {
  Digest128 Static = *parseDigest128("00112233445566778899aabbccddeeff");
  RecordedInstance I = {"", {4, 2, 1}, {256, 1, 1}, 1024, "p", "e"};
  uint64_t Hash = computeDynamicHash(Static, I);
  EXPECT_NE(Hash, computeDynamicHash(Static, I, "scalars"));
  I.SharedMem = 0;
  EXPECT_NE(Hash, computeDynamicHash(Static, I));
  I.SharedMem = 1024;
  I.Cooperative = true;
  EXPECT_NE(Hash, computeDynamicHash(Static, I));
}

//===----------------------------------------------------------------------===//
// Files and folders
//===----------------------------------------------------------------------===//

TEST(Database, RefusesFilesElsewhere) {
  for (StringRef Name :
       {"../secret", "/etc/passwd", "a/b", "a\\b", "", ".", ".."}) {
    EXPECT_EQ(
        errorAfter([&](json::Object &O) { O["Modules"] = json::Array{Name}; }),
        "expected name of a file in the recording's folder at "
        "recording.Modules[0]");
    for (StringRef Key : {"Prologue", "Epilogue"})
      EXPECT_THAT(
          errorAfter([&](json::Object &O) {
            (*O.getObject("instances")->getObject("ff00000000000000"))[Key] =
                Name;
          }),
          HasSubstr("expected name of a file in the recording's folder "
                    "at recording.instances.ff00000000000000." +
                    Key.str()));
  }
}

TEST(Database, RefusesWrongValues) {
  auto EditInstance = [](StringRef Key, json::Value V) {
    return errorAfter([&](json::Object &O) {
      (*O.getObject("instances")->getObject("ff00000000000000"))[Key] = V;
    });
  };
  json::Object Dims{{"x", 1}, {"y", 1}, {"z", 0}};
  EXPECT_THAT(EditInstance("GridDims", json::Value(json::Object(Dims))),
              HasSubstr("expected dimensions from 1 up"));
  Dims["z"] = int64_t(1) << 32;
  EXPECT_THAT(EditInstance("GridDims", json::Value(json::Object(Dims))),
              HasSubstr("expected integer of 32 bits"));
  Dims["z"] = -1;
  EXPECT_THAT(EditInstance("BlockDims", json::Value(json::Object(Dims))),
              HasSubstr("at recording.instances.ff00000000000000.BlockDims.z"));
  EXPECT_THAT(EditInstance("SharedMem", 1.5), HasSubstr("SharedMem"));
  EXPECT_THAT(errorAfter([](json::Object &O) {
                json::Object Wrong;
                Wrong["xyz"] = json::Object();
                O["instances"] = std::move(Wrong);
              }),
              HasSubstr("at recording.instances.xyz"));
  // A key too long for a string's own buffer.
  std::string LongKey(100, 'f');
  EXPECT_EQ(
      errorAfter([&](json::Object &O) {
        json::Object &All = *O.getObject("instances");
        json::Value Good = All["ff00000000000000"];
        All[LongKey] = std::move(Good);
      }),
      "expected 16 hexadecimal digits as its key at recording.instances." +
          LongKey);
  EXPECT_THAT(errorAfter([](json::Object &O) { O["StaticHash"] = "ABC"; }),
              HasSubstr("expected 32 hexadecimal digits"));
  EXPECT_THAT(errorAfter([](json::Object &O) { O["KernelName"] = ""; }),
              HasSubstr("expected a name"));
  EXPECT_THAT(errorAfter([](json::Object &O) { O["Modules"] = json::Array(); }),
              HasSubstr("expected a module"));
  EXPECT_THAT(errorAfter([](json::Object &O) { O["VASize"] = 0; }),
              HasSubstr("expected the size of an address range"));
  EXPECT_THAT(errorAfter([](json::Object &O) { O["VASize"] = UINT64_MAX; }),
              HasSubstr("expected the size of an address range"));
  EXPECT_THAT(errorAfter([](json::Object &O) {
                (*(*O.getArray("Args"))[0].getAsObject())["Kind"] = "thing";
              }),
              HasSubstr("expected value, pointer or aggregate at "
                        "recording.Args[0].Kind"));
}

TEST(Database, RefusesWhatIsNoJSON) {
  auto Error = [](StringRef Text) {
    return toString(parseRecordedKernel(Text).takeError());
  };
  EXPECT_EQ(Error(""), "truncated: the file is empty");
  EXPECT_THAT(Error("{\"KernelName\": "), HasSubstr("byte="));
  EXPECT_EQ(Error("[1]"), "expected object when parsing recording");
  EXPECT_EQ(Error(std::string(1000000, '[')),
            "not a recording: nested too deep");
  EXPECT_EQ(Error("{\"FormatVersion\": \"" + std::string(1000, '[') + "\"}"),
            "expected uint64_t at recording.FormatVersion");
}

TEST(Database, FilesOfAFolder) {
  unittest::TempDir Dir("mneme-database", /*Unique=*/true);
  EXPECT_THAT(toString(findKernelFiles(Dir.path()).takeError()),
              HasSubstr("no recordings (no <static hash>.json file)"));
  RecordedKernel K = makeKernel();
  ASSERT_THAT_ERROR(writeKernelFile(Dir.path(K.StaticHash + ".json"), K),
                    Succeeded());
  ASSERT_THAT_ERROR(writeFileAtomically(Dir.path("best.json"), "{}"),
                    Succeeded());
  Expected<std::vector<RecordedKernel>> All = readDatabase(Dir.path());
  ASSERT_THAT_EXPECTED(All, Succeeded());
  ASSERT_EQ(All->size(), 1u);
  EXPECT_EQ((*All)[0].KernelName, K.KernelName);

  std::string Bad =
      std::string(Dir.path("f" + K.StaticHash.substr(1) + ".json"));
  ASSERT_THAT_ERROR(writeFileAtomically(Bad, "{}"), Succeeded());
  EXPECT_EQ(toString(readDatabase(Dir.path()).takeError()),
            "'" + Bad + "': missing key at recording.FormatVersion");
  EXPECT_THAT(toString(readDatabase("/nowhere").takeError()),
              HasSubstr("'/nowhere': "));
}
