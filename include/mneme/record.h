//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lets an application mark launches worth recording. C and C++, nothing to
/// link. If a program is not being recorded, the calls have no effect.
/// Otherwise, they only have an effect if llvm-mneme-record --record-regions
/// restricts recording to regions.
///
/// \code
///   mneme_record_begin("solve");
///   iterate<<<Grid, Block>>>(A, B);
///   mneme_record_end();
/// \endcode
///
/// Regions nest. They belong to the calling thread and do not contain launches
/// by other threads.
///
/// A program that compiles kernels itself, or whose compiler is not clang,
/// registers their LLVM IR before it loads them:
///
/// \code
///   mneme_register_ir(Cubin, CubinSize, "kernel", IR, IRSize, 0);
///   cuModuleLoadData(&Module, Cubin);
/// \endcode
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_RECORD_H
#define MNEME_RECORD_H

#include <stddef.h>

#ifdef __cplusplus
#define MNEME_EXTERN_C extern "C"
#else
#define MNEME_EXTERN_C extern
#endif

/// Defined by the runtime; absent unless the program is being recorded.
MNEME_EXTERN_C __attribute__((weak)) void
__mneme_record_begin(const char *name);
MNEME_EXTERN_C __attribute__((weak)) void __mneme_record_end(void);

MNEME_EXTERN_C __attribute__((weak)) int
__mneme_register_ir(const void *image, size_t image_size, const char *symbol,
                    const void *ir, size_t ir_size, const char *options);

/// In some executables, linkers resolve a weak reference to null. The runtime
/// therefore finds these slots by their section and fills them. Not for direct
/// use.
static struct MnemeRecordBeginSlot {
  void (*fn)(const char *);
  const char *name;
} mneme_record_begin_slot
    __attribute__((section("mneme_hooks"), used)) = {0, "__mneme_record_begin"};
static struct MnemeRecordEndSlot {
  void (*fn)(void);
  const char *name;
} mneme_record_end_slot
    __attribute__((section("mneme_hooks"), used)) = {0, "__mneme_record_end"};

static struct MnemeRegisterIRSlot {
  int (*fn)(const void *, size_t, const char *, const void *, size_t,
            const char *);
  const char *name;
} mneme_register_ir_slot
    __attribute__((section("mneme_hooks"), used)) = {0, "__mneme_register_ir"};

/// Begins a region of launches by this thread.
/// \param name Matched against --record-regions=<regex>; may be null.
static inline void mneme_record_begin(const char *name) {
  // Volatile, as the compiler sees no store to the slot.
  void (*fn)(const char *) =
      ((volatile struct MnemeRecordBeginSlot *)&mneme_record_begin_slot)->fn;
  if (!fn)
    fn = __mneme_record_begin;
  if (fn)
    fn(name);
}

/// Ends the innermost region of this thread.
static inline void mneme_record_end(void) {
  void (*fn)(void) =
      ((volatile struct MnemeRecordEndSlot *)&mneme_record_end_slot)->fn;
  if (!fn)
    fn = __mneme_record_end;
  if (fn)
    fn();
}

/// Binds LLVM IR to a kernel of an image that the program loads through the
/// driver (cuModuleLoadData, cuLibraryLoadData). From then on its launches are
/// recorded with this IR; the host device runs it. Call it before the image is
/// loaded; on a GPU, before the first launch. The image is identified by its
/// digest: loading equal bytes again needs no call.
/// \param image   cubin, PTX or fat binary, as passed to the driver
/// \param symbol  the kernel's name in image and IR; null: any that the IR
///                defines
/// \param ir      bitcode or text, also of earlier versions of LLVM; or several
///                modules, which are linked: "MNEMEIR1", then for each its size
///                as a little-endian 64-bit number, and its bytes
/// \param options JSON object of the settings with which the image was compiled
///                from the IR (llvm-mneme-replay --config); null: as clang does
/// \returns 1 if the IR was noted; 0 if the program is neither being recorded
/// nor on the host device. Whether the IR fits is reported at the first launch.
static inline int mneme_register_ir(const void *image, size_t image_size,
                                    const char *symbol, const void *ir,
                                    size_t ir_size, const char *options) {
  int (*fn)(const void *, size_t, const char *, const void *, size_t,
            const char *) =
      ((volatile struct MnemeRegisterIRSlot *)&mneme_register_ir_slot)->fn;
  if (!fn)
    fn = __mneme_register_ir;
  return fn ? fn(image, image_size, symbol, ir, ir_size, options) : 0;
}

#ifdef __cplusplus
namespace mneme {

/// A region from its construction to the end of the scope.
class RecordRegion {
public:
  explicit RecordRegion(const char *name) { mneme_record_begin(name); }
  ~RecordRegion() { mneme_record_end(); }
  RecordRegion(const RecordRegion &) = delete;
  RecordRegion &operator=(const RecordRegion &) = delete;
};

} // namespace mneme
#endif // __cplusplus

#undef MNEME_EXTERN_C

#endif // MNEME_RECORD_H
