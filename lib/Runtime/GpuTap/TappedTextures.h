//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Texture and surface objects of the application, and how recordings contain
/// them. The elements of an array are copied to a buffer, which the recording
/// has at an address of the arena. So are the descriptions of objects, whose
/// addresses replace the handles in recorded arguments.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_TAPPEDTEXTURES_H
#define MNEME_LIB_RUNTIME_GPUTAP_TAPPEDTEXTURES_H

#include "CopyBuffers.h"
#include "CudaTypes.h"
#include "Devices.h"
#include "ForeignMemory.h"
#include "KernelTargets.h"
#include "Launch.h"
#include "RecordingJob.h"
#include "SessionDriver.h"
#include "TapState.h"

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace mneme {

/// A texture or surface object of the application.
struct TappedTexture {
  CudaResourceDesc Resource;
  CudaTextureDesc Texture;
  bool IsSurface;
  bool HasView; ///< Its format or extent differs from the resource's.
};

/// Knows the objects, and copies those that a recorded launch uses.
class TappedTextures {
public:
  TappedTextures(TapState &State, SessionDriver &Driver, Devices &Devs,
                 ForeignMemory &Foreign, CopyBuffers &Buffers)
      : State(State), Driver(Driver), Devs(Devs), Foreign(Foreign),
        Buffers(Buffers) {}

  // Called by the application's threads: these take the session's lock.

  /// An object was created in the current context. Throws nothing: an object
  /// for which there is no memory is an obstacle to recording.
  void note(uint64_t Handle, const TappedTexture &T);
  /// An object is going to be destroyed. Waits while a launch is recorded.
  void forget(uint64_t Handle, bool IsSurface);

  // With the session's lock held.

  /// Before \p Gone is destroyed.
  void forget(CUcontext Gone);
  /// Finds the objects that a launch uses, adds them to \p J and \p Regions,
  /// and copies their elements. \p Named gets the addresses of memory outside
  /// the arena that they use. \returns an empty string, or why the launch
  /// cannot be recorded. May throw.
  std::string locate(const Target &T, const Launch &L, RecordingJob &J,
                     std::vector<Recording::Region> &Regions,
                     std::set<uint64_t> &Named);
  /// Copies the elements of arrays to the job's buffer; with \p OnlyWritten,
  /// those that the launch may have written. \returns an empty string, or what
  /// went wrong. May throw.
  std::string copyElements(const RecordingJob &J, bool OnlyWritten);

private:
  struct Pieces;

  std::string addObject(RecordingJob &J, char *At, bool IsSurface, Pieces &All,
                        std::set<uint64_t> &Named);
  std::string describe(const Gpu &G, const TappedTexture &O, MnemeTexture &D,
                       TappedElements &Elements, uint64_t &Size,
                       std::set<uint64_t> &Named);
  std::string describeArray(const TappedTexture &O, MnemeTexture &T,
                            std::vector<CUmemcpy3D> &Levels);
  std::string homeOf(const Gpu &G, uint64_t Key, uint64_t Size,
                     uint64_t &Address);

  TapState &State;
  SessionDriver &Driver;
  Devices &Devs;
  ForeignMemory &Foreign;
  CopyBuffers &Buffers;
  /// By context, handle, and whether it is of a surface.
  std::map<std::tuple<CUcontext, uint64_t, bool>, TappedTexture> Textures;
  /// Offsets from Gpu::Homes, by array or by handle, and by size.
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> Homes;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_TAPPEDTEXTURES_H
