//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lets an application declare how to compare its device memory when a recorded
/// kernel is replayed, for example for sums in arbitrary order or for results
/// of fast math. C and C++, nothing to link. If a program is not being
/// recorded, the calls have no effect.
///
/// \code
///   float *Sums;
///   cudaMalloc(&Sums, N * sizeof(float));
///   mneme::annotate(Sums, N, mneme::relative(1e-5));
/// \endcode
///
/// An annotation applies to kernels recorded from the call until the memory is
/// freed; a new one for the same address replaces the old one.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_ANNOTATE_H
#define MNEME_ANNOTATE_H

#include <stddef.h>
#include <stdint.h>

/// Element types.
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

/// Allowed errors of an element.
enum MnemeTolerance {
  MNEME_EXACT = 0,    ///< No error.
  MNEME_ABSOLUTE = 1, ///< |replayed - recorded| <= value.
  MNEME_RELATIVE = 2, ///< |replayed - recorded| <= value * |recorded|.
  MNEME_ULP = 3       ///< At most value representable numbers in between.
};

/// The scope of the tolerance.
enum MnemeNorm {
  MNEME_PER_ELEMENT = 0, ///< Each element individually.
  MNEME_L1 = 1,          ///< Sum of absolute values over the range.
  MNEME_L2 = 2,          ///< Root of the sum of squares over the range.
  MNEME_LINF = 3         ///< Largest absolute value over the range.
};

#ifdef __cplusplus
#define MNEME_EXTERN_C extern "C"
#else
#define MNEME_EXTERN_C extern
#endif

/// Defined by the runtime; absent unless the program is being recorded.
MNEME_EXTERN_C __attribute__((weak)) void
__mneme_annotate(const void *ptr, uint64_t bytes, uint32_t dtype,
                 uint32_t tolerance, double value, uint32_t norm,
                 const char *tag);

/// In some executables, linkers resolve a weak reference to null. The runtime
/// therefore finds this slot by its section and fills it. Not for direct use.
static struct MnemeAnnotateSlot {
  void (*fn)(const void *, uint64_t, uint32_t, uint32_t, double, uint32_t,
             const char *);
  const char *name;
} mneme_annotate_slot
    __attribute__((section("mneme_hooks"), used)) = {0, "__mneme_annotate"};

/// Declares how to compare \p bytes bytes of device memory at \p ptr.
/// \param ptr       Device pointer; may point into an allocation.
/// \param bytes     Length of the range in bytes, within that allocation.
/// \param dtype     Type of the elements.
/// \param tolerance Meaning of \p value.
/// \param value     The bound, >= 0; ignored for MNEME_EXACT.
/// \param norm      Scope of the bound.
/// \param tag       Name of the range in reports; may be null.
static inline void mneme_annotate(const void *ptr, size_t bytes,
                                  enum MnemeDType dtype,
                                  enum MnemeTolerance tolerance, double value,
                                  enum MnemeNorm norm, const char *tag) {
  // Volatile, as the compiler sees no store to the slot.
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

/// Bitwise equality, the default without annotation.
inline Tolerance exact() { return {MNEME_EXACT, 0, MNEME_PER_ELEMENT}; }
/// An error of at most \p value.
inline Tolerance absolute(double value, MnemeNorm norm = MNEME_PER_ELEMENT) {
  return {MNEME_ABSOLUTE, value, norm};
}
/// An error of at most \p value times the recorded magnitude.
inline Tolerance relative(double value, MnemeNorm norm = MNEME_PER_ELEMENT) {
  return {MNEME_RELATIVE, value, norm};
}
/// An error of at most \p value units in the last place.
inline Tolerance ulp(double value) {
  return {MNEME_ULP, value, MNEME_PER_ELEMENT};
}

/// The MnemeDType of a C++ type; specialize it for your own types.
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
// long and long long are different types, and one of them is int64_t.
template <> struct DTypeOf<long> { static const MnemeDType value = sizeof(long) == 8 ? MNEME_I64 : MNEME_I32; };
template <> struct DTypeOf<long long> { static const MnemeDType value = MNEME_I64; };
template <> struct DTypeOf<unsigned long> { static const MnemeDType value = sizeof(long) == 8 ? MNEME_U64 : MNEME_U32; };
template <> struct DTypeOf<unsigned long long> { static const MnemeDType value = MNEME_U64; };
// clang-format on

/// Declares how to compare \p count elements at \p ptr.
/// \param ptr       Device pointer; determines the type of the elements.
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
