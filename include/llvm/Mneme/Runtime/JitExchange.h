//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the JIT's compile server (llvm-mneme-jitd) and the runtimes exchange,
/// over a Unix stream socket and through files of the cache. No LLVM here. Both
/// sides must be of the same build, which the greeting and the files check.
///
/// The socket carries messages as in Wire.h: MnemeWireHeader with the magic
/// number MNEME_JIT_WIRE_MAGIC, then a body. The application sends requests;
/// one at a time per connection. Every answer begins with a string: an error
/// message, or empty. Then:
///
///   Hello    u32 MNEME_JIT_VERSION, u32 JitTarget, string path of the CUDA
///            toolkit or empty, string folder of the cache, empty for none
///     answer bytes identity(16) of the toolchain
///   Compile  a JitRequest; string folder of the cache, empty for none; u64 its
///            size limit in bytes; u32 count of payloads, {bytes payload};
///            string path of the CUDA toolkit or empty; string file of tuned
///            kernels (PROTEUS_TUNED_KERNELS) or empty; u32 count of plugins,
///            {string path}
///     answer bytes facts (JitFacts), bytes image (JitImage), u32 JitOrigin,
///            string why the cache was not written, or empty
///   Build    a JitSource; string its folder, for relative inclusions; string
///            folder of the cache, empty for none; u64 its size limit in bytes;
///            string path of the CUDA toolkit or empty
///     answer a JitBuilt
///
/// A file of the cache has MnemeJitFileHeader, the key, and the contents. Its
/// name is the digest of the key, 32 hexadecimal digits, and ".facts" or
/// ".code". Of a source, these are the files that it includes, and the shared
/// library.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_JITEXCHANGE_H
#define LLVM_MNEME_RUNTIME_JITEXCHANGE_H

#include "llvm/Mneme/Runtime/JitFormat.h"
#include "llvm/Mneme/Runtime/Wire.h"

#include <stdint.h>
#include <string>
#include <sys/mman.h>
#include <utility>
#include <vector>

#define MNEME_JIT_VERSION 3u
#define MNEME_JIT_WIRE_MAGIC 0x314a4e4du /* "MNJ1" */

enum MnemeJitWireType : uint32_t {
  MNEME_JIT_HELLO = 1,
  MNEME_JIT_COMPILE = 2,
  MNEME_JIT_BUILD = 3,
};

typedef struct {
  char Magic[8];       ///< MNEME_JIT_FILE_MAGIC
  uint32_t Version;    ///< MNEME_JIT_VERSION
  uint32_t HeaderSize; ///< sizeof(MnemeJitFileHeader)
  uint64_t KeySize, ContentsSize;
  uint8_t Digest[16]; ///< XXH3-128 (canonical) of key and contents.
} MnemeJitFileHeader;

#define MNEME_JIT_FILE_MAGIC "MNEMEJIT" /* 8 characters, no NUL stored */

namespace mneme {

/// Limits of the bodies of requests and answers.
constexpr uint64_t MaxJitRequest = uint64_t(1) << 30;
constexpr uint64_t MaxJitAnswer = uint64_t(1) << 30;

/// What code is for.
enum class JitTarget : uint32_t {
  Function,    ///< A host function.
  Host,        ///< A kernel on the host device.
  Cuda,        ///< A kernel on an NVIDIA GPU.
  Library,     ///< A source for the CPU.
  CudaLibrary, ///< A source with kernels, for any device.
  HipLibrary,  ///< Likewise, of HIP.
};

/// Whether code for a target depends on the CUDA toolkit.
constexpr bool usesCuda(JitTarget T) {
  return T == JitTarget::Cuda || T == JitTarget::CudaLibrary;
}

/// Whether a target is that of a source.
constexpr bool isLibrary(JitTarget T) {
  return T == JitTarget::Library || T == JitTarget::CudaLibrary ||
         T == JitTarget::HipLibrary;
}

/// Which properties of a launch may become constants.
enum : uint32_t {
  JitArgs = 1,   ///< Fields.
  JitBlock = 2,  ///< Dimensions of the block.
  JitGrid = 4,   ///< Dimensions of the grid.
  JitRanges = 8, ///< Ranges of indices, from the dimensions.
  JitBounds = 16 ///< Threads per block.
};

/// The bytes of a field.
struct JitConstant {
  uint32_t Field; ///< Index in JitRequest::Fields.
  std::string Bytes;
};

/// Everything that code depends on.
struct JitRequest {
  // The first level: the code, and how it is compiled.
  JitTarget Target = JitTarget::Function;
  std::string Arch; ///< "sm_90"; of CPU code: cpuIdentity(), or empty.
  /// 16 bytes: the hash of the device link, or of a function's payload.
  std::string Code;
  std::string Unit; ///< Kernels: the hash of the payload that has it.
  std::string Symbol;
  std::string Config; ///< Settings, in JSON (Config.def), or empty.
  std::string Passes; ///< The pipeline, or empty: that of Config, or O3.
  uint32_t Specialize = 0;
  std::string Tuned; ///< Digest of the file of tuned kernels, or empty.
  struct Plugin {
    std::string Digest, Pipeline;
  };
  std::vector<Plugin> Plugins;
  std::vector<MnemeJitField> Fields;

  // The second level: the launch. As far as it is known or matters.
  std::vector<JitConstant> Constants;
  uint32_t Block[3] = {}; ///< 0: not a constant.
  uint32_t Grid[3] = {};
  uint32_t MaxThreads = 0; ///< 0: no bound.

  // Not sent.
  bool IsByName = false; ///< A kernel without an annotation.
};

inline void writeFirstLevel(WireWriter &W, const JitRequest &Q) {
  W.u32(uint32_t(Q.Target));
  W.str(Q.Arch);
  W.str(Q.Code);
  W.str(Q.Unit);
  W.str(Q.Symbol);
  W.str(Q.Config);
  W.str(Q.Passes);
  W.u32(Q.Specialize);
  W.str(Q.Tuned);
  W.u32(uint32_t(Q.Plugins.size()));
  for (const JitRequest::Plugin &P : Q.Plugins) {
    W.str(P.Digest);
    W.str(P.Pipeline);
  }
  W.bytes(Q.Fields.data(), Q.Fields.size() * sizeof(MnemeJitField));
}

inline void writeSecondLevel(WireWriter &W, const JitRequest &Q) {
  W.u32(uint32_t(Q.Constants.size()));
  for (const JitConstant &C : Q.Constants) {
    W.u32(C.Field);
    W.str(C.Bytes);
  }
  for (unsigned Axis = 0; Axis != 3; ++Axis) {
    W.u32(Q.Block[Axis]);
    W.u32(Q.Grid[Axis]);
  }
  W.u32(Q.MaxThreads);
}

inline bool readRequest(WireReader &R, JitRequest &Q) {
  uint32_t Target = R.u32();
  Q.Target = JitTarget(Target);
  Q.Arch = R.str();
  Q.Code = R.str();
  Q.Unit = R.str();
  Q.Symbol = R.str();
  Q.Config = R.str();
  Q.Passes = R.str();
  Q.Specialize = R.u32();
  Q.Tuned = R.str();
  for (uint32_t N = R.u32(); N && R.ok(); --N) {
    JitRequest::Plugin P;
    P.Digest = R.str();
    P.Pipeline = R.str();
    Q.Plugins.push_back(std::move(P));
  }
  size_t Size;
  const char *Fields = R.bytes(Size);
  if (Size % sizeof(MnemeJitField))
    return false;
  Q.Fields.resize(Size / sizeof(MnemeJitField));
  if (Size) // memcpy must not get the null pointer of an empty vector.
    memcpy(Q.Fields.data(), Fields, Size);
  for (uint32_t N = R.u32(); N && R.ok(); --N) {
    JitConstant C;
    C.Field = R.u32();
    C.Bytes = R.str();
    if (C.Field >= Q.Fields.size())
      return false;
    Q.Constants.push_back(std::move(C));
  }
  for (unsigned Axis = 0; Axis != 3; ++Axis) {
    Q.Block[Axis] = R.u32();
    Q.Grid[Axis] = R.u32();
  }
  Q.MaxThreads = R.u32();
  return R.ok() && Target <= uint32_t(JitTarget::Cuda) && Q.Code.size() == 16 &&
         Q.Fields.size() <= MNEME_JIT_MAX_FIELDS;
}

/// Returns the key of the facts about code, or of the code for a launch, with
/// the identity of the toolchain (16 bytes).
inline std::string makeJitKey(const std::string &Identity, const JitRequest &Q,
                              bool WithLaunch) {
  WireWriter W;
  W.u32(MNEME_JIT_VERSION);
  W.str(Identity);
  writeFirstLevel(W, Q);
  if (WithLaunch)
    writeSecondLevel(W, Q);
  return W.body();
}

/// What the code still uses of a launch after simplification: anything else
/// makes no difference.
struct JitFacts {
  uint64_t Fields = 0; ///< Bit N: field N.
  uint32_t Block = 0;  ///< Bit N: dimension N.
  uint32_t Grid = 0;
  uint32_t Bounds = 0; ///< 1: the number of threads per block.
  /// Why fields that were asked for are not constants.
  std::vector<std::pair<uint32_t, std::string>> Refused;
  // For reports.
  std::string Shown; ///< A JitShown for each field; empty: none is used.
  /// The argument that users count as the first.
  uint32_t FirstArg = 0;
};

/// How reports show values, or elements of arrays.
enum JitShown : char {
  JitShownBytes, ///< Hexadecimal digits, in the order of memory.
  JitShownSigned,
  JitShownUnsigned,
  JitShownFloat, ///< float or double.
};

inline void writeFacts(WireWriter &W, const JitFacts &F) {
  W.u64(F.Fields);
  W.u32(F.Block);
  W.u32(F.Grid);
  W.u32(F.Bounds);
  W.u32(uint32_t(F.Refused.size()));
  for (const auto &[Field, Why] : F.Refused) {
    W.u32(Field);
    W.str(Why);
  }
  W.str(F.Shown);
  W.u32(F.FirstArg);
}

inline bool readFacts(WireReader &R, JitFacts &F) {
  F.Fields = R.u64();
  F.Block = R.u32();
  F.Grid = R.u32();
  F.Bounds = R.u32();
  for (uint32_t N = R.u32(); N && R.ok(); --N) {
    uint32_t Field = R.u32();
    F.Refused.push_back({Field, R.str()});
  }
  F.Shown = R.str();
  F.FirstArg = R.u32();
  return R.ok();
}

/// Removes everything from the launch that makes no difference.
inline void applyFacts(JitRequest &Q, const JitFacts &F) {
  std::vector<JitConstant> Kept;
  for (JitConstant &C : Q.Constants)
    if (F.Fields >> C.Field & 1)
      Kept.push_back(std::move(C));
  Q.Constants = std::move(Kept);
  for (unsigned Axis = 0; Axis != 3; ++Axis) {
    if (!(F.Block >> Axis & 1))
      Q.Block[Axis] = 0;
    if (!(F.Grid >> Axis & 1))
      Q.Grid[Axis] = 0;
  }
  if (!F.Bounds)
    Q.MaxThreads = 0;
}

/// Machine code that can be loaded at any address: words depend on addresses,
/// nothing else. Or the image of a GPU.
struct JitImage {
  struct Segment {
    uint64_t Offset, Size; ///< In memory; the rest of Contents is zeros.
    uint32_t Protection;   ///< PROT_* of <sys/mman.h>.
    std::string Contents;
  };
  /// The word at Offset is the address of a symbol plus Addend.
  struct Fixup {
    uint64_t Offset;
    uint32_t Symbol; ///< Index, or Base: the address of the image.
    int64_t Addend;
    static constexpr uint32_t Base = 0xffffffffu;
  };
  struct External {
    std::string Name;
    uint32_t IsWeak; ///< 1: null if it is missing.
  };
  struct Function {
    std::string Name;
    uint64_t Offset, Size;
  };

  // CPU code.
  uint64_t Size = 0; ///< Of all segments.
  uint64_t Entry = 0;
  std::vector<Segment> Segments;
  std::vector<External> Externals;
  std::vector<Fixup> Fixups;
  uint64_t FrameOffset = 0, FrameSize = 0; ///< .eh_frame
  std::vector<Function> Functions;         ///< For debuggers.
  MnemeHostKernel Host = {};               ///< JitTarget::Host.

  // JitTarget::Cuda.
  std::string Cubin;
  std::string Kernel; ///< Symbol.
  /// The program's variables that it uses, as MNEME_GUARD_VARIABLE says.
  struct Variable {
    std::string Name;
    uint64_t Size, Slot;
  };
  std::vector<Variable> Variables;

  uint64_t CompileNanoseconds = 0;
};

inline void writeImage(WireWriter &W, const JitImage &I) {
  W.u64(I.Size);
  W.u64(I.Entry);
  W.u32(uint32_t(I.Segments.size()));
  for (const JitImage::Segment &S : I.Segments) {
    W.u64(S.Offset);
    W.u64(S.Size);
    W.u32(S.Protection);
    W.str(S.Contents);
  }
  W.u32(uint32_t(I.Externals.size()));
  for (const JitImage::External &E : I.Externals) {
    W.str(E.Name);
    W.u32(E.IsWeak);
  }
  W.u32(uint32_t(I.Fixups.size()));
  for (const JitImage::Fixup &F : I.Fixups) {
    W.u64(F.Offset);
    W.u32(F.Symbol);
    W.u64(uint64_t(F.Addend));
  }
  W.u64(I.FrameOffset);
  W.u64(I.FrameSize);
  W.u32(uint32_t(I.Functions.size()));
  for (const JitImage::Function &F : I.Functions) {
    W.str(F.Name);
    W.u64(F.Offset);
    W.u64(F.Size);
  }
  writeHostKernel(W, I.Host);
  W.str(I.Cubin);
  W.str(I.Kernel);
  W.u32(uint32_t(I.Variables.size()));
  for (const JitImage::Variable &V : I.Variables) {
    W.str(V.Name);
    W.u64(V.Size);
    W.u64(V.Slot);
  }
  W.u64(I.CompileNanoseconds);
}

/// Reads and checks an image: all offsets are within it, the entry can be
/// executed, and the frames can be read.
inline bool readImage(WireReader &R, JitImage &I) {
  constexpr uint64_t MaxSize = uint64_t(1) << 30, PageSize = 4096;
  I.Size = R.u64();
  I.Entry = R.u64();
  uint64_t End = 0;
  bool Ok = I.Size <= MaxSize && (I.Size || !I.Entry);
  auto IsInside = [&](uint64_t Offset, uint64_t Bytes) {
    return Offset <= I.Size && Bytes <= I.Size - Offset;
  };
  for (uint32_t N = R.u32(); N && R.ok() && Ok; --N) {
    JitImage::Segment S;
    S.Offset = R.u64();
    S.Size = R.u64();
    S.Protection = R.u32();
    S.Contents = R.str();
    // In order, and protected by pages.
    Ok = S.Offset >= End && S.Offset % PageSize == 0 &&
         IsInside(S.Offset, S.Size) && S.Contents.size() <= S.Size;
    End = S.Offset + S.Size;
    I.Segments.push_back(std::move(S));
  }
  auto IsMapped = [&](uint64_t Offset, uint64_t Bytes, uint32_t Protection) {
    for (const JitImage::Segment &S : I.Segments)
      if (Offset >= S.Offset && Offset - S.Offset <= S.Size &&
          Bytes <= S.Size - (Offset - S.Offset))
        return (S.Protection & Protection) == Protection;
    return false;
  };
  Ok = Ok && (!I.Size || IsMapped(I.Entry, 1, PROT_EXEC));
  for (uint32_t N = R.u32(); N && R.ok() && Ok; --N) {
    JitImage::External E;
    E.Name = R.str();
    E.IsWeak = R.u32();
    I.Externals.push_back(std::move(E));
  }
  for (uint32_t N = R.u32(); N && R.ok() && Ok; --N) {
    JitImage::Fixup F;
    F.Offset = R.u64();
    F.Symbol = R.u32();
    F.Addend = int64_t(R.u64());
    Ok = IsInside(F.Offset, sizeof(uint64_t)) &&
         (F.Symbol == JitImage::Fixup::Base || F.Symbol < I.Externals.size());
    I.Fixups.push_back(F);
  }
  I.FrameOffset = R.u64();
  I.FrameSize = R.u64();
  Ok = Ok && (I.FrameSize ? IsMapped(I.FrameOffset, I.FrameSize, PROT_READ)
                          : !I.FrameOffset);
  for (uint32_t N = R.u32(); N && R.ok() && Ok; --N) {
    JitImage::Function F;
    F.Name = R.str();
    F.Offset = R.u64();
    F.Size = R.u64();
    Ok = IsInside(F.Offset, F.Size);
    I.Functions.push_back(std::move(F));
  }
  I.Host = readHostKernel(R);
  I.Cubin = R.str();
  I.Kernel = R.str();
  for (uint32_t N = R.u32(); N && R.ok() && Ok; --N) {
    JitImage::Variable V;
    V.Name = R.str();
    V.Size = R.u64();
    V.Slot = R.u64();
    I.Variables.push_back(std::move(V));
  }
  I.CompileNanoseconds = R.u64();
  return R.ok() && R.atEnd() && Ok;
}

/// Where the server had an image or a library from.
enum class JitOrigin : uint32_t { Compiled, Memory, Disk };

/// As in mneme/jit_module.h.
enum class JitLanguage : uint32_t { Cpp, IR, MLIR };
enum class JitCompiler : uint32_t { Clang, Nvcc };

/// A source that becomes a shared library.
struct JitSource {
  JitTarget Target = JitTarget::Library;
  JitLanguage Language = JitLanguage::Cpp;
  JitCompiler Compiler = JitCompiler::Clang;
  std::string Arch; ///< "sm_90", "gfx90a"; empty for the CPU.
  std::string Text;
  /// C++ behind Text. Sources with the same Text have it compiled ahead.
  std::string Tail;
  std::vector<std::string> Options;
};

inline void writeSource(WireWriter &W, const JitSource &S) {
  W.u32(uint32_t(S.Target));
  W.u32(uint32_t(S.Language));
  W.u32(uint32_t(S.Compiler));
  W.str(S.Arch);
  W.str(S.Text);
  W.str(S.Tail);
  W.u32(uint32_t(S.Options.size()));
  for (const std::string &Option : S.Options)
    W.str(Option);
}

inline bool readSource(WireReader &R, JitSource &S) {
  uint32_t Target = R.u32();
  S.Target = JitTarget(Target);
  uint32_t Language = R.u32(), Compiler = R.u32();
  S.Language = JitLanguage(Language);
  S.Compiler = JitCompiler(Compiler);
  S.Arch = R.str();
  S.Text = R.str();
  S.Tail = R.str();
  for (uint32_t N = R.u32(); N && R.ok(); --N)
    S.Options.push_back(R.str());
  return R.ok() && Language <= uint32_t(JitLanguage::MLIR) &&
         Compiler <= uint32_t(JitCompiler::Nvcc) && isLibrary(S.Target);
}

/// A message of a compiler.
struct JitMessage {
  std::string Severity, File, Text;
  uint32_t Line = 0, Column = 0; ///< From 1; 0: unknown.
};

/// The result for a source.
struct JitBuilt {
  std::vector<JitMessage> Messages;
  std::string Library; ///< Empty if the source does not compile.
  JitOrigin Origin = JitOrigin::Compiled;
  uint64_t Nanoseconds = 0;
  std::string Note; ///< Why the cache was not written, or empty.
};

inline void writeBuilt(WireWriter &W, const JitBuilt &B) {
  W.u32(uint32_t(B.Messages.size()));
  for (const JitMessage &M : B.Messages) {
    W.str(M.Severity);
    W.str(M.File);
    W.str(M.Text);
    W.u32(M.Line);
    W.u32(M.Column);
  }
  W.str(B.Library);
  W.u32(uint32_t(B.Origin));
  W.u64(B.Nanoseconds);
  W.str(B.Note);
}

inline bool readBuilt(WireReader &R, JitBuilt &B) {
  for (uint32_t N = R.u32(); N && R.ok(); --N) {
    JitMessage M;
    M.Severity = R.str();
    M.File = R.str();
    M.Text = R.str();
    M.Line = R.u32();
    M.Column = R.u32();
    B.Messages.push_back(std::move(M));
  }
  B.Library = R.str();
  B.Origin = JitOrigin(R.u32());
  B.Nanoseconds = R.u64();
  B.Note = R.str();
  return R.ok() && R.atEnd();
}

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_JITEXCHANGE_H
