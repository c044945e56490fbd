//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/JitCache.h"
#include "Descriptor.h"
#include "Hex.h"
#include "llvm/Mneme/Runtime/WarmStart.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cpuid.h>
#include <cstring>
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <tuple>
#include <unistd.h>

using namespace mneme;

namespace mneme {
template <typename V> static void visitFields(V &Visit, JitInputs::File &F) {
  Visit(F.Path, F.Digest, F.Stamp);
}

template <typename V> static void visitFields(V &Visit, JitToolchain::File &F) {
  Visit(F.Path, F.Device, F.Inode, F.Size, F.Modified);
}
} // namespace mneme

std::string mneme::jitDigest(const void *Bytes, size_t Size) {
  XXH128_canonical_t Digest;
  XXH128_canonicalFromHash(&Digest, XXH3_128bits(Bytes, Size));
  return std::string(reinterpret_cast<const char *>(Digest.digest),
                     sizeof(Digest.digest));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static const char *suffixOf(JitFile Kind) {
  switch (Kind) {
  case JitFile::Facts:
    return ".facts";
  case JitFile::Code:
    return ".code";
  case JitFile::Toolchain:
    break;
  }
  return ".toolchain";
}

static constexpr size_t DigestChars = 32;

std::string mneme::jitFileName(const std::string &Key, JitFile Kind) {
  std::string Digest = jitDigest(Key);
  return hexDigits(Digest.data(), Digest.size()) + suffixOf(Kind);
}

bool mneme::isJitFileName(const std::string &Name, JitFile Kind) {
  return Name.size() >= DigestChars &&
         Name.find_first_not_of("0123456789abcdef") == DigestChars &&
         !Name.compare(DigestChars, std::string::npos, suffixOf(Kind));
}

static std::string digestOf(const XXH3_state_t &State) {
  XXH128_canonical_t Digest;
  XXH128_canonicalFromHash(&Digest, XXH3_128bits_digest(&State));
  return std::string(reinterpret_cast<const char *>(Digest.digest),
                     sizeof(Digest.digest));
}

static std::string digestOf(const std::string &Key, const char *Contents,
                            size_t Size) {
  XXH3_state_t State;
  XXH3_128bits_reset(&State);
  XXH3_128bits_update(&State, Key.data(), Key.size());
  XXH3_128bits_update(&State, Contents, Size);
  return digestOf(State);
}

std::string mneme::jitFileBytes(const std::string &Key,
                                const std::string &Contents) {
  MnemeJitFileHeader Header = {};
  memcpy(Header.Magic, MNEME_JIT_FILE_MAGIC, sizeof(Header.Magic));
  Header.Version = MNEME_JIT_VERSION;
  Header.HeaderSize = sizeof(Header);
  Header.KeySize = Key.size();
  Header.ContentsSize = Contents.size();
  std::string Digest = digestOf(Key, Contents.data(), Contents.size());
  memcpy(Header.Digest, Digest.data(), Digest.size());
  return std::string(reinterpret_cast<const char *>(&Header), sizeof(Header)) +
         Key + Contents;
}

/// Sets the time by which the server removes old files, now and then.
static void markUsed(int Fd, const struct stat &Status) {
  constexpr time_t Seldom = 3600;
  if (time(nullptr) - Status.st_mtime > Seldom)
    futimens(Fd, nullptr);
}

/// Whether only this user and root can have written what \p S describes.
static bool isOwn(const struct stat &S) {
  // In a sticky folder, others cannot replace files.
  bool IsSticky = S_ISDIR(S.st_mode) && S.st_mode & S_ISVTX;
  return (S.st_uid == geteuid() || S.st_uid == 0) &&
         (IsSticky || !(S.st_mode & (S_IWGRP | S_IWOTH)));
}

JitRead mneme::readJitFile(const std::string &Folder, const std::string &Key,
                           JitFile Kind, std::string &Contents) {
  OwnedDescriptor Dir(open(Folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  struct stat Status;
  if (Dir < 0)
    return JitRead::Missing;
  if (fstat(Dir, &Status) || !isOwn(Status))
    return JitRead::Damaged;
  OwnedDescriptor Fd(openat(Dir, jitFileName(Key, Kind).c_str(),
                            O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (Fd < 0)
    return errno == ELOOP ? JitRead::Damaged : JitRead::Missing;
  if (fstat(Fd, &Status) || !S_ISREG(Status.st_mode) || !isOwn(Status))
    return JitRead::Damaged;
  MnemeJitFileHeader Header;
  uint64_t Size = Status.st_size;
  auto Read = [&](void *To, size_t Bytes) {
    return transferAll(Bytes, [&](size_t Done, size_t Left) {
      return ::read(Fd, static_cast<char *>(To) + Done, Left);
    });
  };
  if (Size < sizeof(Header) || Size > MaxJitAnswer ||
      !Read(&Header, sizeof(Header)) ||
      memcmp(Header.Magic, MNEME_JIT_FILE_MAGIC, sizeof(Header.Magic)) ||
      Header.Version != MNEME_JIT_VERSION ||
      Header.HeaderSize != sizeof(Header) || Header.KeySize != Key.size() ||
      Header.ContentsSize != Size - sizeof(Header) - Key.size() ||
      Size < sizeof(Header) + Key.size())
    return JitRead::Damaged;
  std::string Rest(Size - sizeof(Header), '\0');
  if (!Read(&Rest[0], Rest.size()) || Rest.compare(0, Key.size(), Key))
    return JitRead::Damaged;
  std::string Digest =
      digestOf(Key, Rest.data() + Key.size(), Header.ContentsSize);
  if (memcmp(Header.Digest, Digest.data(), Digest.size()))
    return JitRead::Damaged;
  Rest.erase(0, Key.size());
  Contents = std::move(Rest);
  markUsed(Fd, Status);
  return JitRead::Found;
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

static int openInput(const std::string &Path) {
  return open(Path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/// Returns the digest of a file's contents; empty if it cannot be read.
/// \param Status  set to that of the file at the end.
static std::string digestFile(int Fd, struct stat &Status) {
  if (Fd < 0 || fstat(Fd, &Status) || !S_ISREG(Status.st_mode) ||
      uint64_t(Status.st_size) > MaxJitAnswer)
    return "";
  // Programs have tens of megabytes: a part stays in the processor's cache.
  std::vector<char> Part(std::min<size_t>(Status.st_size, 128 << 10));
  XXH3_state_t State;
  XXH3_128bits_reset(&State);
  auto Read = [&](size_t, size_t Left) {
    ssize_t Size = ::read(Fd, Part.data(), std::min(Part.size(), Left));
    if (Size > 0)
      XXH3_128bits_update(&State, Part.data(), Size);
    return Size;
  };
  if (!transferAll(Status.st_size, Read) || fstat(Fd, &Status))
    return "";
  return digestOf(State);
}

bool mneme::isSharedLibrary(const std::string &Bytes) {
  Elf64_Ehdr Header;
  if (Bytes.size() < sizeof(Header))
    return false;
  memcpy(&Header, Bytes.data(), sizeof(Header));
  return !memcmp(Header.e_ident, ELFMAG, SELFMAG) && Header.e_type == ET_DYN;
}

static std::string pathFrom(const std::string &Folder,
                            const std::string &Path) {
  return !Path.empty() && Path[0] == '/' ? Path : Folder + "/" + Path;
}

/// What is no digest, and never that of a file.
static const char *const NeverCurrent = "changed";

/// Returns the digest of the names in a folder.
static std::string listFolder(const std::string &Path, struct stat &S) {
  std::vector<std::string> Names;
  DIR *Folder = opendir(Path.c_str());
  if (!Folder)
    return NeverCurrent;
  while (const dirent *Entry = readdir(Folder))
    Names.push_back(Entry->d_name);
  int Failed = fstat(dirfd(Folder), &S);
  closedir(Folder);
  if (Failed)
    return NeverCurrent;
  std::sort(Names.begin(), Names.end());
  WireWriter W;
  for (const std::string &Name : Names)
    W.str(Name);
  return jitDigest(W.body());
}

/// Returns the stamp of a file's contents; empty if other contents can have the
/// same.
static std::string stampOf(const struct stat &S) {
  // A file can change twice within a tick of the clock.
  constexpr time_t Tick = 2;
  // Images of reproducible builds have equal times, without nanoseconds.
  return S.st_ctim.tv_nsec && S.st_ctim.tv_sec + Tick < time(nullptr)
             ? jitDigest(mnemeFileIdentity(S))
             : "";
}

/// Describes what is at a path.
/// \param KnownOf  returns the digest for a stamp, or an empty string.
/// \param S  set to the status of what is described, if there is anything.
template <typename Fn>
static JitInputs::File describeInput(const std::string &Path,
                                     const std::string &Folder, Fn KnownOf,
                                     struct stat &S) {
  JitInputs::File F{Path, "", ""};
  std::string Full = pathFrom(Folder, Path);
  if (stat(Full.c_str(), &S))
    return F;
  F.Digest = NeverCurrent;
  if (S_ISDIR(S.st_mode)) {
    F.Digest = Path.back() == '/' ? listFolder(Full, S) : "folder";
  } else if (S_ISREG(S.st_mode)) {
    F.Stamp = stampOf(S);
    std::string Digest = F.Stamp.empty() ? "" : KnownOf(F.Stamp);
    if (Digest.empty()) {
      // By now, the path may be that of another file.
      OwnedDescriptor Fd(openInput(Full));
      Digest = digestFile(Fd, S);
      F.Stamp = stampOf(S);
    }
    if (!Digest.empty())
      F.Digest = std::move(Digest);
  }
  return F;
}

void JitInputs::add(const std::string &Path, const std::string &Folder,
                    const timespec &Read, bool Found,
                    const std::string &Identity, Digests &Known) {
  auto KnownOf = [&](const std::string &Stamp) {
    auto It = Known.find(Stamp);
    return It == Known.end() ? "" : It->second;
  };
  struct stat S;
  File F = describeInput(Path, Folder, KnownOf, S);
  if (!F.Stamp.empty() && F.isRead())
    Known[F.Stamp] = F.Digest;
  auto HasChanged = [&] {
    return Identity.empty()
               ? F.isRead() && std::tie(S.st_ctim.tv_sec, S.st_ctim.tv_nsec) >=
                                   std::tie(Read.tv_sec, Read.tv_nsec)
               : Identity != F.Identity;
  };
  if (!F.Digest.empty())
    F.Identity = mnemeFileIdentity(S);
  if (F.Digest.empty() == Found || (Found && HasChanged()))
    F.Digest = NeverCurrent;
  Files.push_back(std::move(F));
}

bool JitInputs::isCurrent(const std::string &Folder) const {
  return std::all_of(Files.begin(), Files.end(), [&](const File &F) {
    auto Known = [&](const std::string &Stamp) {
      return Stamp == F.Stamp ? F.Digest : "";
    };
    struct stat S;
    return F.Digest != NeverCurrent &&
           describeInput(F.Path, Folder, Known, S).Digest == F.Digest;
  });
}

std::string JitInputs::encode() const {
  WireWriter W;
  writeFields(W, Files);
  return W.body();
}

bool JitInputs::decode(const std::string &Bytes, JitInputs &Result) {
  WireReader R(Bytes.data(), Bytes.size());
  return readFields(R, Result.Files) && R.atEnd() &&
         std::none_of(Result.Files.begin(), Result.Files.end(),
                      [](const File &F) { return F.Path.empty(); });
}

/// Returns true if the text has a directive whose file may be searched in the
/// current folder: other than <...>.
static bool includesFromFolder(const std::string &Text) {
  for (const char *Word : {"include", "embed", "import"})
    for (size_t At = Text.find(Word); At != std::string::npos;
         At = Text.find(Word, At)) {
      At = Text.find_first_not_of(" \t", At + strlen(Word));
      if (At == std::string::npos || Text[At] != '<')
        return true;
    }
  return false;
}

/// Returns false if the code is the same in all folders.
static bool dependsOnFolder(const JitSource &S) {
  return includesFromFolder(S.Text) || includesFromFolder(S.Tail) ||
         !std::all_of(
             S.Options.begin(), S.Options.end(), [](const std::string &Option) {
               for (const char *Start :
                    {"-D", "-U", "-O", "-std=", "-I/", "-L/", "-march="})
                 if (!Option.compare(0, strlen(Start), Start))
                   return Option.size() > strlen(Start);
               return false;
             });
}

std::string mneme::makeSourceKey(const std::string &Identity,
                                 const JitSource &S,
                                 const std::string &Folder) {
  WireWriter W;
  W.str("source");
  W.u32(MNEME_JIT_VERSION);
  W.str(Identity);
  W.str(dependsOnFolder(S) ? Folder : "");
  W.str(cpuIdentity()); // -march=native
  writeFields(W, S);
  return W.body();
}

//===----------------------------------------------------------------------===//
// Toolchains
//===----------------------------------------------------------------------===//

std::string mneme::cpuIdentity() {
  WireWriter W;
  unsigned A = 0, B = 0, C = 0, D = 0;
  for (unsigned Leaf : {0u, 1u, 7u, 0x80000001u})
    if (__get_cpuid_count(Leaf, 0, &A, &B, &C, &D)) {
      // The number of the core that this runs on, and a bit of its state.
      if (Leaf == 1)
        B = 0;
      constexpr unsigned OSXSAVE = 1u << 27;
      if (Leaf == 1)
        C &= ~OSXSAVE;
      for (unsigned Register : {A, B, C, D})
        W.u32(Register);
    }
  return jitDigest(W.body());
}

static bool describeFile(const std::string &Path, JitToolchain::File &F) {
  struct stat Status;
  if (stat(Path.c_str(), &Status))
    return false;
  F = {Path, Status.st_dev, Status.st_ino, uint64_t(Status.st_size),
       uint64_t(Status.st_mtim.tv_sec) * 1000000000u +
           uint64_t(Status.st_mtim.tv_nsec)};
  return true;
}

bool JitToolchain::add(const std::string &Path) {
  File F;
  if (!describeFile(Path, F))
    return false;
  Files.push_back(std::move(F));
  return true;
}

bool JitToolchain::isCurrent() const {
  return !Files.empty() &&
         std::all_of(Files.begin(), Files.end(), [](const File &Then) {
           File Now;
           return describeFile(Then.Path, Now) && Now.Device == Then.Device &&
                  Now.Inode == Then.Inode && Now.Size == Then.Size &&
                  Now.Modified == Then.Modified;
         });
}

std::string JitToolchain::encode() const {
  WireWriter W;
  W.str(Identity);
  writeFields(W, Files);
  return W.body();
}

bool JitToolchain::decode(const std::string &Bytes, JitToolchain &Result) {
  WireReader R(Bytes.data(), Bytes.size());
  Result.Identity = R.str();
  constexpr size_t IdentitySize = 16;
  return readFields(R, Result.Files) && R.atEnd() &&
         Result.Identity.size() == IdentitySize;
}

std::string mneme::makeToolchainKey(const std::string &Server,
                                    const std::string &CudaPath,
                                    JitTarget Target) {
  char Machine[256] = {};
  gethostname(Machine, sizeof(Machine) - 1);
  WireWriter W;
  W.str("toolchain");
  W.str(Machine);
  W.str(Server);
  W.str(CudaPath);
  W.u32(uint32_t(Target));
  return W.body();
}
