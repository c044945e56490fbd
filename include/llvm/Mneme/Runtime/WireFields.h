//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes and reads the fields of a message from one list. No LLVM here.
///
/// For a structure, a function visitFields(Visitor &, Structure &) calls the
/// visitor with its fields in their order: numbers of 64 bits are a u64; other
/// numbers, flags and enumerations a u32; strings and arrays of bytes are
/// bytes; vectors a u32 count and their elements; structures their fields.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_WIREFIELDS_H
#define LLVM_MNEME_RUNTIME_WIREFIELDS_H

#include "llvm/Mneme/Runtime/Wire.h"

#include <array>
#include <type_traits>

namespace mneme {

template <typename T>
inline constexpr bool IsWireNumber = std::is_integral_v<T> || std::is_enum_v<T>;

class FieldWriter {
public:
  explicit FieldWriter(WireWriter &W) : W(W) {}
  template <typename... Ts> void operator()(const Ts &...Values) {
    (put(Values), ...);
  }
  /// Plain structures as they are in memory.
  template <typename T> void raw(const std::vector<T> &All) {
    W.bytes(All.data(), All.size() * sizeof(T));
  }

private:
  template <typename T> void put(const T &V) {
    if constexpr (!IsWireNumber<T>)
      visitFields(*this, const_cast<T &>(V)); // Readers change fields.
    else if constexpr (sizeof(T) == sizeof(uint64_t))
      W.u64(uint64_t(V));
    else
      W.u32(uint32_t(V));
  }
  void put(const std::string &V) { W.str(V); }
  void put(const MnemeHostKernel &V) { writeHostKernel(W, V); }
  template <size_t N> void put(const std::array<uint8_t, N> &V) {
    W.bytes(V.data(), N);
  }
  template <typename T> void put(const std::vector<T> &All) {
    W.u32(uint32_t(All.size()));
    for (const T &V : All)
      put(V);
  }

  WireWriter &W;
};

class FieldReader {
public:
  explicit FieldReader(WireReader &R) : R(R) {}
  template <typename... Ts> void operator()(Ts &...Values) {
    (get(Values), ...);
  }
  template <typename T> void raw(std::vector<T> &All) {
    size_t Size;
    const char *Bytes = R.bytes(Size);
    Ok &= Size % sizeof(T) == 0;
    All.resize(Size / sizeof(T));
    if (!All.empty()) // memcpy must not get the null pointer of an empty
                      // vector.
      memcpy(All.data(), Bytes, All.size() * sizeof(T));
  }
  bool ok() const { return Ok && R.ok(); }

private:
  template <typename T> void get(T &V) {
    if constexpr (!IsWireNumber<T>)
      visitFields(*this, V);
    else if constexpr (sizeof(T) == sizeof(uint64_t))
      V = T(R.u64());
    else
      V = T(R.u32());
  }
  void get(std::string &V) { V = R.str(); }
  void get(MnemeHostKernel &V) { V = readHostKernel(R); }
  template <size_t N> void get(std::array<uint8_t, N> &V) {
    size_t Size;
    const char *Bytes = R.bytes(Size);
    Ok &= Size == N;
    if (Size == N)
      memcpy(V.data(), Bytes, N);
  }
  template <typename T> void get(std::vector<T> &All) {
    for (uint32_t Count = R.u32(); Count && ok(); --Count)
      get(All.emplace_back());
  }

  WireReader &R;
  bool Ok = true;
};

template <typename T> void writeFields(WireWriter &W, const T &V) {
  FieldWriter{W}(V);
}

/// Returns false if the bytes end before the fields do.
template <typename T> bool readFields(WireReader &R, T &V) {
  FieldReader Reader(R);
  Reader(V);
  return Reader.ok();
}

template <typename V> void visitFields(V &Visit, HandleParameter &H) {
  Visit(H.Offset, H.IsSurface);
}

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_WIREFIELDS_H
