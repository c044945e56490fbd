//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a tool and libmneme_warm.so agree on. The library is preloaded into a
/// compiler or linker. It stops the program before main(), and forks it for
/// each request: a run costs no dynamic linking. A run may stop once more, when
/// it opens a certain file. It then leaves a copy behind, which goes on with
/// other contents of the file for each request: what the run has read so far is
/// not read again. Copies have no descriptors but those of the request. As soon
/// as it waits, a copy appends its lookups so far to the file with
/// MNEME_WARM_STOPPED after its name, and sends one byte.
///
/// A request is one message with descriptors. The descriptor of its answer gets
/// the status of the process, as of wait(), or nothing if it does not run.
///
/// Runs write the paths that they look up, so that one can tell later whether
/// another run would find the same. If MNEME_WARM_LOOKUPS_VARIABLE names a
/// file, the library only does that, for all programs that the program starts.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_WARMSTART_H
#define LLVM_MNEME_RUNTIME_WARMSTART_H

#include <cstdint>
#include <string>
#include <sys/stat.h>

#define MNEME_WARM_LOOKUPS_VARIABLE "MNEME_WARM_LOOKUPS"
#define MNEME_WARM_STOPPED ".lookups"

/// What a run has found. Lookups are such a character, the identity of the file
/// if it is known, a colon, and a path, which ends in null.
enum MnemeWarmLookup : char {
  MnemeWarmFound = '+',
  MnemeWarmMissing = '-',
  MnemeWarmListed = '/', ///< A folder whose entries were read.
  MnemeWarmWritten = '>'
};

/// Returns a text that differs between files, and between the states of a file
/// at different times.
inline std::string mnemeFileIdentity(const struct stat &S) {
  std::string Text;
  for (uint64_t Value :
       {uint64_t(S.st_dev), uint64_t(S.st_ino), uint64_t(S.st_size),
        uint64_t(S.st_ctim.tv_sec), uint64_t(S.st_ctim.tv_nsec)}) {
    for (; Value; Value /= 16)
      Text += "0123456789abcdef"[Value % 16];
    Text += '.';
  }
  return Text;
}

enum {
  /// The socket of the requests (SOCK_SEQPACKET) in the program as it starts.
  MNEME_WARM_SOCKET = 0,
  /// Most bytes of a message.
  MNEME_WARM_MAX_REQUEST = 128 << 10,
  /// The exit status of a run that could not start.
  MNEME_WARM_NOT_RUN = 127
};

/// Descriptors of a request.
enum MnemeWarmDescriptor {
  MnemeWarmAnswer, ///< Closed to end the run.
  MnemeWarmIn,     ///< Three streams, a file for lookups, the file's contents.
  MnemeWarmCopy = MnemeWarmIn + 5, ///< The socket of the copy; may be absent.
  MnemeWarmDescriptors
};

/// Followed by strings that end in null: the folder for temporary files, the
/// current folder, and the file; and, if the program has not started, its
/// words.
struct MnemeWarmRequest {
  uint32_t Parent; ///< The process that the run takes for its parent.
  uint32_t NumWords;
};

#endif // LLVM_MNEME_RUNTIME_WARMSTART_H
