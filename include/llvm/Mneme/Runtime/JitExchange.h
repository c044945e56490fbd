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
#include "llvm/Mneme/Runtime/WireFields.h"

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

template <typename V> void visitFields(V &Visit, JitRequest::Plugin &P) {
  Visit(P.Digest, P.Pipeline);
}

template <typename V> void visitFields(V &Visit, JitConstant &C) {
  Visit(C.Field, C.Bytes);
}

template <typename V, typename Request>
void visitFirstLevel(V &Visit, Request &Q) {
  Visit(Q.Target, Q.Arch, Q.Code, Q.Unit, Q.Symbol, Q.Config, Q.Passes,
        Q.Specialize, Q.Tuned, Q.Plugins);
  Visit.raw(Q.Fields);
}

template <typename V, typename Request>
void visitSecondLevel(V &Visit, Request &Q) {
  Visit(Q.Constants, Q.Block[0], Q.Grid[0], Q.Block[1], Q.Grid[1], Q.Block[2],
        Q.Grid[2], Q.MaxThreads);
}

template <typename V> void visitFields(V &Visit, JitRequest &Q) {
  visitFirstLevel(Visit, Q);
  visitSecondLevel(Visit, Q);
}

inline bool readRequest(WireReader &R, JitRequest &Q) {
  if (!readFields(R, Q) || Q.Target > JitTarget::Cuda || Q.Code.size() != 16 ||
      Q.Fields.size() > MNEME_JIT_MAX_FIELDS)
    return false;
  for (const JitConstant &C : Q.Constants)
    if (C.Field >= Q.Fields.size())
      return false;
  return true;
}

/// Returns the key of the facts about code, or of the code for a launch, with
/// the identity of the toolchain (16 bytes).
inline std::string makeJitKey(const std::string &Identity, const JitRequest &Q,
                              bool WithLaunch) {
  WireWriter W;
  W.u32(MNEME_JIT_VERSION);
  W.str(Identity);
  FieldWriter Fields(W);
  visitFirstLevel(Fields, Q);
  if (WithLaunch)
    visitSecondLevel(Fields, Q);
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

template <typename V>
void visitFields(V &Visit, std::pair<uint32_t, std::string> &Refused) {
  Visit(Refused.first, Refused.second);
}

template <typename V> void visitFields(V &Visit, JitFacts &F) {
  Visit(F.Fields, F.Block, F.Grid, F.Bounds, F.Refused, F.Shown, F.FirstArg);
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

template <typename V> void visitFields(V &Visit, JitImage::Segment &S) {
  Visit(S.Offset, S.Size, S.Protection, S.Contents);
}

template <typename V> void visitFields(V &Visit, JitImage::External &E) {
  Visit(E.Name, E.IsWeak);
}

template <typename V> void visitFields(V &Visit, JitImage::Fixup &F) {
  Visit(F.Offset, F.Symbol, F.Addend);
}

template <typename V> void visitFields(V &Visit, JitImage::Function &F) {
  Visit(F.Name, F.Offset, F.Size);
}

template <typename V> void visitFields(V &Visit, JitImage::Variable &Variable) {
  Visit(Variable.Name, Variable.Size, Variable.Slot);
}

template <typename V> void visitFields(V &Visit, JitImage &I) {
  Visit(I.Size, I.Entry, I.Segments, I.Externals, I.Fixups, I.FrameOffset,
        I.FrameSize, I.Functions, I.Host, I.Cubin, I.Kernel, I.Variables,
        I.CompileNanoseconds);
}

/// Reads and checks an image: all offsets are within it, the entry can be
/// executed, and the frames can be read.
inline bool readImage(WireReader &R, JitImage &I) {
  constexpr uint64_t MaxSize = uint64_t(1) << 30, PageSize = 4096;
  if (!readFields(R, I) || !R.atEnd())
    return false;
  auto IsInside = [&](uint64_t Offset, uint64_t Bytes) {
    return Offset <= I.Size && Bytes <= I.Size - Offset;
  };
  bool Ok = I.Size <= MaxSize && (I.Size || !I.Entry);
  uint64_t End = 0;
  for (const JitImage::Segment &S : I.Segments) {
    // In order, and protected by pages.
    Ok = Ok && S.Offset >= End && S.Offset % PageSize == 0 &&
         IsInside(S.Offset, S.Size) && S.Contents.size() <= S.Size;
    End = S.Offset + S.Size;
  }
  auto IsMapped = [&](uint64_t Offset, uint64_t Bytes, uint32_t Protection) {
    for (const JitImage::Segment &S : I.Segments)
      if (Offset >= S.Offset && Offset - S.Offset <= S.Size &&
          Bytes <= S.Size - (Offset - S.Offset))
        return (S.Protection & Protection) == Protection;
    return false;
  };
  Ok = Ok && (!I.Size || IsMapped(I.Entry, 1, PROT_EXEC)) &&
       (I.FrameSize ? IsMapped(I.FrameOffset, I.FrameSize, PROT_READ)
                    : !I.FrameOffset);
  for (const JitImage::Fixup &F : I.Fixups)
    Ok = Ok && IsInside(F.Offset, sizeof(uint64_t)) &&
         (F.Symbol == JitImage::Fixup::Base || F.Symbol < I.Externals.size());
  for (const JitImage::Function &F : I.Functions)
    Ok = Ok && IsInside(F.Offset, F.Size);
  return Ok;
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

template <typename V> void visitFields(V &Visit, JitSource &S) {
  Visit(S.Target, S.Language, S.Compiler, S.Arch, S.Text, S.Tail, S.Options);
}

inline bool readSource(WireReader &R, JitSource &S) {
  return readFields(R, S) && S.Language <= JitLanguage::MLIR &&
         S.Compiler <= JitCompiler::Nvcc && isLibrary(S.Target);
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

template <typename V> void visitFields(V &Visit, JitMessage &M) {
  Visit(M.Severity, M.File, M.Text, M.Line, M.Column);
}

template <typename V> void visitFields(V &Visit, JitBuilt &B) {
  Visit(B.Messages, B.Library, B.Origin, B.Nanoseconds, B.Note);
}

inline bool readBuilt(WireReader &R, JitBuilt &B) {
  return readFields(R, B) && R.atEnd();
}

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_JITEXCHANGE_H
