//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The protocol between the runtime inside the application and its parent, the
/// launcher (llvm-mneme-record), over a Unix stream socket. The application
/// sends requests, the launcher answers; one request at a time per connection.
/// Both sides must be of the same build, which Hello checks. No LLVM here.
///
/// A message is MnemeWireHeader and a body of Size bytes, written with
/// WireWriter and read with WireReader: u32 and u64 in little-endian order;
/// bytes and strings as a u64 length and their bytes.
///
/// Every answer begins with a string: an error message, or empty. Then:
///
///   Hello       u32 version, u32 pid, string device ("host", "cuda", "hip"),
///   string
///               environment variable that holds the rank in a distributed run,
///               else empty; u64 code base, u64 code size, u32 count, {string
///               name, u64 address} of mneme_host_symbols; zeros except on the
///               host device
///     answer    string staging folder, on the file system of the output
///               directory, string output directory; empty if nothing is to be
///               recorded
///   LoadModule  bytes hash(16), u32 count, {bytes payload} (whole, as in the
///               executable): one translation unit, with the hash of its
///               payload; or all units of one device link, in link order, with
///               the XXH3-128 of their hashes
///     answer    u32 count of device variables, {string name, u64 size, u64
///               alignment, u32 flags (1 constant)}
///   Initialize  bytes hash, u32 copy, u32 count, {string name, u64 address}
///               for all variables of this copy of the module in the process
///     answer    {bytes initial contents} in the same order
///   LoadKernel  bytes hash, u32 copy, bytes hash(16) of the payload that has
///               the kernel, string name, u32 compile for the host (0 or 1)
///     answer    bytes static hash(16), u32 count of arguments, {u32 size, u32
///               offset, u32 kind}, u32 count of reachable variables, {string
///               name}, string why launches cannot be replayed, or empty; u32
///               count of texture and surface handles among the parameters,
///               {u32 offset, u32 0 or 1 for a surface}; u32 count of launches
///               in the output directory, {u64 dynamic hash}; and if compiled
///               for the host: u32 strategy, u32 static shared, u32 wave size,
///               u32 cooperative, u64 context size, u32 ordered, u64 entry
///               address, u32 count of segments, {u64 address, u32 protection
///               (PROT_*), bytes contents}
///   LoadObject  bytes hash, u32 copy, string CPU that the code is for, string
///               entry symbol, bytes object: code of a package
///               (PackageFormat.h) for a kernel of the module
///     answer    u64 entry address, segments as for LoadKernel
///   LoadImage   bytes image (cubin, PTX or fat binary; only the header, with
///               MNEME_BUNDLE_HEADER_SIZE bytes, of a compressed bundle that
///               does not have its size), string kernel, string
///               architecture of the device, u32 1 if the driver gives the
///               layout of the parameters, u32 count, {u32 offset, u32 size},
///               string IR that the program has registered, or empty, string
///               its options
///     answer    as for LoadKernel, not for the host; then variables as for
///               LoadModule: those that the kernel may use
///   LoadLibrary bytes hash(16), bytes image (cubin, PTX, fat binary or
///               bitcode) that the program has loaded on the host device,
///               string IR that it has registered for the image, or empty,
///               string its options. The hash is the XXH3-128 of the XXH3-128
///               of image, IR and options
///     answer    bytes hash(16) of the payload that LoadKernel finds the
///     kernels
///               of this module in, u32 count, {string kernel}; then variables
///               as for LoadModule
///   Recorded    bytes static hash, u64 dynamic hash, u32 grid[3], u32
///               block[3], u64 dynamic shared, u32 cooperative, u32
///               cluster[3], string prologue, string epilogue (file names in
///               the staging folder: the final names, a period, digits and
///               periods), u32 tentative
///               (1: may be withdrawn, or replaced by another Recorded with the
///               same hashes), u32 1 if the launch changed memory, else 0; u64
///               arena base, u64 arena size, u64 stored bytes, u64 raw bytes;
///               u32 count, {string name, u64 address, u64 size} of variables;
///               string device, string architecture, string driver, string
///               runtime (empty: host); u64 number and u64 bytes of omitted
///               regions; u32 count, {bytes id(16)} of the page files that the
///               snapshots refer to, each in the output directory or, under its
///               name, in the staging folder
///     answer    u32 0 if the output directory already has that launch, else 1
///   Withdraw    bytes static hash, u64 dynamic hash of a tentative launch
///     answer    nothing more
///   Summary     at exit: u64 launches seen, recorded, skipped; u32 count,
///               {bytes static hash or empty, string kernel, u64 dynamic hash,
///               u64 occurrences}; u32 count, {string reason, u64 times}; u64
///               nanoseconds of overhead, u64 nanoseconds that exit waited for
///               unwritten recordings
///     answer    nothing more
///   Profile     at exit: string architecture of the GPUs (empty: host); u32
///               count, {string kernel, u64 grid[3], u64 block[3], u64 dynamic
///               shared (a shape of zeros: all other shapes), u32 registers of
///               a thread, u32 static shared, u32 local bytes of a thread (0:
///               unknown), u64 nanoseconds of all launches, u32 count, {u32
///               bucket (TimeBuckets.h), u64 launches}}; u64 copies, u64
///               nanoseconds of copies; u64 launches whose duration is lost
///     answer    nothing more
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_WIRE_H
#define LLVM_MNEME_RUNTIME_WIRE_H

#include "llvm/Mneme/Runtime/HostExec.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <string>
#include <vector>

#define MNEME_WIRE_MAGIC 0x314d4e4du /* "MNM1" */
#define MNEME_WIRE_VERSION 13u

/// Environment variables from the launcher for the runtime; all are always set.
#define MNEME_ENV_SOCKET "MNEME_SOCKET" /* path of the launcher's socket */
/// The other variables have the form and the defaults of llvm-mneme-record's
/// options.
/* POSIX extended regular expression, searched in the symbol and in the
   demangled name; empty selects every kernel */
#define MNEME_ENV_KERNELS "MNEME_KERNELS"
#define MNEME_ENV_SKIP                                                         \
  "MNEME_SKIP" /* first launches of each kernel not recorded */
#define MNEME_ENV_LAUNCHES "MNEME_LAUNCHES" /* numbers from 1; empty: all */
#define MNEME_ENV_MAX_RECORDINGS                                               \
  "MNEME_MAX_RECORDINGS" /* per kernel; 0: no limit */
#define MNEME_ENV_REQUIRE_IR "MNEME_REQUIRE_IR" /* 1: no images alone */
#define MNEME_ENV_RECORD_ID "MNEME_RECORD_ID" /* a word of Selection.def */
#define MNEME_ENV_PICK "MNEME_PICK"           /* a word of Selection.def */
#define MNEME_ENV_EPILOGUE "MNEME_EPILOGUE"   /* a word of Selection.def */
#define MNEME_ENV_MAX_BYTES "MNEME_MAX_BYTES" /* 0: no limit */
#define MNEME_ENV_RANKS "MNEME_RANKS"         /* empty: the first */
#define MNEME_ENV_REGIONS                                                      \
  "MNEME_RECORD_REGIONS" /* like MNEME_KERNELS; empty: regions do not matter   \
                          */
#define MNEME_ENV_REACHABLE "MNEME_REACHABLE"   /* 1: leave other memory out */
#define MNEME_ENV_IPC "MNEME_IPC"               /* 1: no arena for buffers */
#define MNEME_ENV_WAIT "MNEME_WAIT"             /* a word of Selection.def */
#define MNEME_ENV_WAIT_LIMIT "MNEME_WAIT_LIMIT" /* seconds, decimal; 0: none   \
                                                 */
#define MNEME_ENV_PROFILE "MNEME_PROFILE"       /* 1: time launches */
#define MNEME_ENV_SHAPES                                                       \
  "MNEME_SHAPES" /* file with lines "grid x, y, z, block x, y, z, dynamic      \
                    shared, symbol"; empty: all */
#define MNEME_ENV_VA_BASE "MNEME_VA_BASE"       /* of the arena */
#define MNEME_ENV_VA_SIZE "MNEME_VA_SIZE"       /* arena, GiB */
#define MNEME_ENV_DEBUG "MNEME_DEBUG"           /* 1: a line for each launch */
#define MNEME_ENV_TIMEOUT                                                      \
  "MNEME_HOST_TIMEOUT" /* seconds per launch, decimal; 0: none */

/// The reason for launches that were not selected; the launcher recognizes it.
#define MNEME_REASON_NOT_SELECTED "not selected"
/// Reasons for skipped launches that the launcher determines.
#define MNEME_REASON_HELD "already in the output directory"
#define MNEME_REASON_FULL                                                      \
  "the output directory would hold more than --max-bytes"

enum MnemeWireType : uint32_t {
  MNEME_WIRE_HELLO = 1,
  MNEME_WIRE_LOAD_MODULE = 2,
  MNEME_WIRE_INITIALIZE = 3,
  MNEME_WIRE_LOAD_KERNEL = 4,
  MNEME_WIRE_RECORDED = 5,
  MNEME_WIRE_SUMMARY = 6,
  MNEME_WIRE_WITHDRAW = 7,
  MNEME_WIRE_LOAD_OBJECT = 8,
  MNEME_WIRE_LOAD_IMAGE = 9,
  MNEME_WIRE_PROFILE = 10,
  MNEME_WIRE_LOAD_LIBRARY = 11,
};

struct MnemeWireHeader {
  uint32_t Magic;
  uint32_t Type; ///< MnemeWireType; the answer repeats the request's.
  uint64_t Size; ///< Bytes of body.
};

namespace mneme {

/// Returns the size limit of a request's body in bytes, by its type. Larger
/// requests are rejected before any allocation, and memory is allocated as the
/// bytes arrive.
constexpr uint64_t maxRequest(uint32_t Type) {
  constexpr uint64_t KiB = 1024, MiB = 1024 * KiB;
  switch (Type) {
  case MNEME_WIRE_HELLO:
    return MiB;
  case MNEME_WIRE_LOAD_MODULE:
  case MNEME_WIRE_LOAD_IMAGE:
  case MNEME_WIRE_LOAD_LIBRARY:
    return 1024 * MiB;
  case MNEME_WIRE_SUMMARY: // A line for each launch, at worst.
  case MNEME_WIRE_PROFILE:
    return 256 * MiB;
  case MNEME_WIRE_INITIALIZE:
  case MNEME_WIRE_RECORDED:
  case MNEME_WIRE_LOAD_OBJECT:
    return 64 * MiB;
  case MNEME_WIRE_LOAD_KERNEL:
    return 16 * MiB;
  }
  return KiB;
}

/// Size limit of an error in an answer, in bytes; longer ones are truncated.
constexpr uint64_t MaxWireError = 64u << 10;

/// Size limit of the body of an answer, in bytes, if it does not depend on the
/// request.
constexpr uint64_t MaxShortAnswer = 4 * MaxWireError;

/// Encodes values; \p Writer provides raw() to append the bytes.
template <typename Writer> class WireEncoder {
public:
  void u32(uint32_t V) { raw(&V, sizeof(V)); }
  void u64(uint64_t V) { raw(&V, sizeof(V)); }
  void bytes(const void *P, size_t N) {
    u64(N);
    raw(P, N);
  }

private:
  void raw(const void *P, size_t N) { static_cast<Writer *>(this)->raw(P, N); }
};

class WireWriter : public WireEncoder<WireWriter> {
public:
  void str(const std::string &S) { bytes(S.data(), S.size()); }
  const std::string &body() const { return Buf; }

private:
  friend WireEncoder;
  void raw(const void *P, size_t N) {
    Buf.append(static_cast<const char *>(P), N);
  }
  std::string Buf;
};

/// A fixed-size writer for messages that must not allocate memory.
template <size_t Capacity>
class FixedWriter : public WireEncoder<FixedWriter<Capacity>> {
public:
  /// Returns true if everything fit.
  bool ok() const { return Ok; }
  const char *data() const { return Buf; }
  size_t size() const { return Used; }

private:
  friend WireEncoder<FixedWriter>;
  void raw(const void *P, size_t N) {
    Ok = Ok && N <= Capacity - Used;
    if (!Ok)
      return;
    memcpy(Buf + Used, P, N);
    Used += N;
  }
  char Buf[Capacity];
  size_t Used = 0;
  bool Ok = true;
};

/// Reads never go out of bounds: past the end they return zeros, and ok()
/// returns false.
class WireReader {
public:
  WireReader(const char *P, size_t N) : Cur(P), End(P + N) {}
  uint32_t u32() { return pod<uint32_t>(); }
  uint64_t u64() { return pod<uint64_t>(); }
  /// Returns a view into the message.
  const char *bytes(size_t &N) {
    uint64_t Len = u64();
    if (Len > static_cast<size_t>(End - Cur)) {
      Ok = false;
      Len = 0;
    }
    const char *P = Cur;
    Cur += Len;
    N = Len;
    return P;
  }
  std::string str() {
    size_t N;
    const char *P = bytes(N);
    return std::string(P, N);
  }
  bool ok() const { return Ok; }
  bool atEnd() const { return Cur == End; }

private:
  template <typename T> T pod() {
    T V = 0;
    if (static_cast<size_t>(End - Cur) < sizeof(T)) {
      Ok = false;
      return V;
    }
    memcpy(&V, Cur, sizeof(T));
    Cur += sizeof(T);
    return V;
  }
  const char *Cur, *End;
  bool Ok = true;
};

/// The handle of a texture or surface among the parameters of a kernel.
struct HandleParameter {
  uint32_t Offset;
  bool IsSurface; ///< A texture may have the same handle.
};

inline void writeHandles(WireWriter &W,
                         const std::vector<HandleParameter> &Handles) {
  W.u32(Handles.size());
  for (const HandleParameter &H : Handles) {
    W.u32(H.Offset);
    W.u32(H.IsSurface);
  }
}

inline std::vector<HandleParameter> readHandles(WireReader &R) {
  std::vector<HandleParameter> Handles;
  for (uint32_t N = R.u32(); N && R.ok(); --N) {
    uint32_t Offset = R.u32();
    Handles.push_back({Offset, R.u32() != 0});
  }
  return Handles;
}

/// Writes all of a compiled kernel except its name.
inline void writeHostKernel(WireWriter &W, const MnemeHostKernel &K) {
  W.u32(K.Strategy);
  W.u32(K.StaticShared);
  W.u32(K.WaveSize);
  W.u64(K.ContextSize);
  W.u32(K.Ordered);
  for (uint32_t Blocks : K.ClusterDim)
    W.u32(Blocks);
  W.u64(reinterpret_cast<uintptr_t>(K.Entry));
}

inline MnemeHostKernel readHostKernel(WireReader &R) {
  MnemeHostKernel K = {};
  K.Strategy = R.u32();
  K.StaticShared = R.u32();
  K.WaveSize = R.u32();
  K.ContextSize = R.u64();
  K.Ordered = R.u32();
  for (uint32_t &Blocks : K.ClusterDim)
    Blocks = R.u32();
  K.Entry = reinterpret_cast<void *>(static_cast<uintptr_t>(R.u64()));
  return K;
}

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_WIRE_H
