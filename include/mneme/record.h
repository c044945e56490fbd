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
//===----------------------------------------------------------------------===//

#ifndef MNEME_RECORD_H
#define MNEME_RECORD_H

#ifdef __cplusplus
#define MNEME_EXTERN_C extern "C"
#else
#define MNEME_EXTERN_C extern
#endif

/// Defined by the runtime; absent unless the program is being recorded.
MNEME_EXTERN_C __attribute__((weak)) void
__mneme_record_begin(const char *name);
MNEME_EXTERN_C __attribute__((weak)) void __mneme_record_end(void);

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
