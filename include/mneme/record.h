//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How an application says which of its launches are worth recording. C and C++,
/// nothing to link. A program that is not being recorded runs as if the calls were
/// not there; one that is, too, unless llvm-mneme-record --record-regions asks for
/// launches within regions only.
///
/// \code
///   mneme_record_begin("solve");
///   iterate<<<Grid, Block>>>(A, B);
///   mneme_record_end();
/// \endcode
///
/// Regions nest. A region is the calling thread's: launches by other threads are
/// not within it.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_RECORD_H
#define MNEME_RECORD_H

#ifdef __cplusplus
#define MNEME_EXTERN_C extern "C"
#else
#define MNEME_EXTERN_C extern
#endif

/// The runtime's side; absent unless the program is being recorded.
MNEME_EXTERN_C __attribute__((weak)) void
__mneme_record_begin(const char *name);
MNEME_EXTERN_C __attribute__((weak)) void __mneme_record_end(void);

/// Linkers resolve a weak reference to nothing in some executables, so the
/// runtime finds these slots by their section and fills them. Not for direct use.
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

/// Begins a region of launches by this thread.
/// \param name What --record-regions=<regex> is searched in; may be null.
static inline void mneme_record_begin(const char *name) {
  // volatile: the compiler sees nobody write to the slot.
  void (*fn)(const char *) =
      ((volatile struct MnemeRecordBeginSlot *)&mneme_record_begin_slot)->fn;
  if (!fn)
    fn = __mneme_record_begin;
  if (fn)
    fn(name);
}

/// Ends the region of this thread that began last.
static inline void mneme_record_end(void) {
  void (*fn)(void) =
      ((volatile struct MnemeRecordEndSlot *)&mneme_record_end_slot)->fn;
  if (!fn)
    fn = __mneme_record_end;
  if (fn)
    fn();
}

#ifdef __cplusplus
namespace mneme {

/// A region from here to the end of the scope.
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
