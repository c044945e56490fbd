//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How an application says the way in which its device memory is to be compared
/// when a recorded kernel is replayed: for sums whose order is not fixed, for
/// results of fast math. C and C++, nothing to link. A program that is not
/// being recorded runs as if the calls were not there.
///
/// \code
///   float *Sums;
///   cudaMalloc(&Sums, N * sizeof(float));
///   mneme::annotate(Sums, N, mneme::relative(1e-5));
/// \endcode
///
/// An annotation holds from the call until the memory is freed, for kernels
/// that are recorded in between; a new one for the same address replaces the
/// old one.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_ANNOTATE_H
#define MNEME_ANNOTATE_H

#include <stddef.h>
#include <stdint.h>

/// Types of elements.
enum MnemeDType {
  MNEME_BYTES = 0, ///< No type: compared bit by bit.
  MNEME_F32 = 1,
  MNEME_F64 = 2,
  MNEME_F16 = 3,
  MNEME_BF16 = 4,
  MNEME_I8 = 5,
  MNEME_I16 = 6,
  MNEME_I32 = 7,
  MNEME_I64 = 8,
  MNEME_U8 = 9,
  MNEME_U16 = 10,
  MNEME_U32 = 11,
  MNEME_U64 = 12
};

/// What an element may be off by.
enum MnemeTolerance {
  MNEME_EXACT = 0,    ///< Nothing.
  MNEME_ABSOLUTE = 1, ///< |replayed - recorded| <= value.
  MNEME_RELATIVE = 2, ///< |replayed - recorded| <= value * |recorded|.
  MNEME_ULP = 3       ///< At most value representable numbers in between.
};

/// Over what the tolerance is measured.
enum MnemeNorm {
  MNEME_PER_ELEMENT = 0, ///< Every element by itself.
  MNEME_L1 = 1,          ///< Sum of absolute values over the range.
  MNEME_L2 = 2,          ///< Root of the sum of squares over the range.
  MNEME_LINF = 3         ///< Largest absolute value over the range.
};

#ifdef __cplusplus
#define MNEME_EXTERN_C extern "C"
#else
#define MNEME_EXTERN_C extern
#endif

/// The runtime's side; absent unless the program is being recorded.
MNEME_EXTERN_C __attribute__((weak)) void
__mneme_annotate(const void *ptr, uint64_t bytes, uint32_t dtype,
                 uint32_t tolerance, double value, uint32_t norm,
                 const char *tag);

/// Linkers resolve a weak reference to nothing in some executables, so the
/// runtime finds this slot by its section and fills it. Not for direct use.
static struct MnemeAnnotateSlot {
  void (*fn)(const void *, uint64_t, uint32_t, uint32_t, double, uint32_t,
             const char *);
  const char *name;
} mneme_annotate_slot
    __attribute__((section("mneme_hooks"), used)) = {0, "__mneme_annotate"};

/// Says how \p bytes bytes of device memory at \p ptr are to be compared.
/// \param ptr       Device pointer; may point into an allocation.
/// \param bytes     Length of the range in bytes, within that allocation.
/// \param dtype     Type of the elements.
/// \param tolerance How \p value is meant.
/// \param value     The bound, >= 0; ignored for MNEME_EXACT.
/// \param norm      Over what the bound holds.
/// \param tag       Name of the range in reports; may be null.
static inline void mneme_annotate(const void *ptr, size_t bytes,
                                  enum MnemeDType dtype,
                                  enum MnemeTolerance tolerance, double value,
                                  enum MnemeNorm norm, const char *tag) {
  // volatile: the compiler sees nobody write to the slot.
  void (*fn)(const void *, uint64_t, uint32_t, uint32_t, double, uint32_t,
             const char *) =
      ((volatile struct MnemeAnnotateSlot *)&mneme_annotate_slot)->fn;
  if (!fn)
    fn = __mneme_annotate;
  if (fn)
    fn(ptr, bytes, dtype, tolerance, value, norm, tag);
}

#ifdef __cplusplus
namespace mneme {

/// A tolerance with its bound.
struct Tolerance {
  MnemeTolerance kind;
  double value;
  MnemeNorm norm;
};

/// Bit for bit, the default when nothing is annotated.
inline Tolerance exact() { return {MNEME_EXACT, 0, MNEME_PER_ELEMENT}; }
/// Off by at most \p value.
inline Tolerance absolute(double value, MnemeNorm norm = MNEME_PER_ELEMENT) {
  return {MNEME_ABSOLUTE, value, norm};
}
/// Off by at most \p value times the recorded magnitude.
inline Tolerance relative(double value, MnemeNorm norm = MNEME_PER_ELEMENT) {
  return {MNEME_RELATIVE, value, norm};
}
/// Off by at most \p value units in the last place.
inline Tolerance ulp(double value) {
  return {MNEME_ULP, value, MNEME_PER_ELEMENT};
}

/// The MnemeDType of a C++ type: specialize it for types of your own.
template <typename T> struct DTypeOf;
// clang-format off
template <> struct DTypeOf<float> { static const MnemeDType value = MNEME_F32; };
template <> struct DTypeOf<double> { static const MnemeDType value = MNEME_F64; };
template <> struct DTypeOf<int8_t> { static const MnemeDType value = MNEME_I8; };
template <> struct DTypeOf<int16_t> { static const MnemeDType value = MNEME_I16; };
template <> struct DTypeOf<int32_t> { static const MnemeDType value = MNEME_I32; };
template <> struct DTypeOf<uint8_t> { static const MnemeDType value = MNEME_U8; };
template <> struct DTypeOf<uint16_t> { static const MnemeDType value = MNEME_U16; };
template <> struct DTypeOf<uint32_t> { static const MnemeDType value = MNEME_U32; };
// long and long long differ as types, and one of the two is int64_t.
template <> struct DTypeOf<long> { static const MnemeDType value = sizeof(long) == 8 ? MNEME_I64 : MNEME_I32; };
template <> struct DTypeOf<long long> { static const MnemeDType value = MNEME_I64; };
template <> struct DTypeOf<unsigned long> { static const MnemeDType value = sizeof(long) == 8 ? MNEME_U64 : MNEME_U32; };
template <> struct DTypeOf<unsigned long long> { static const MnemeDType value = MNEME_U64; };
// clang-format on

/// Says how \p count elements at \p ptr are to be compared.
/// \param ptr       Device pointer; its type gives that of the elements.
/// \param count     Number of elements.
/// \param tolerance exact(), absolute(v), relative(v) or ulp(v).
/// \param tag       Name of the range in reports; may be null.
template <typename T>
inline void annotate(const T *ptr, size_t count, Tolerance tolerance,
                     const char *tag = nullptr) {
  mneme_annotate(ptr, count * sizeof(T), DTypeOf<T>::value, tolerance.kind,
                 tolerance.value, tolerance.norm, tag);
}

} // namespace mneme
#endif // __cplusplus

#undef MNEME_EXTERN_C

#endif // MNEME_ANNOTATE_H
