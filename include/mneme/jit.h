//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Marks kernels and host functions that are compiled again while the program
/// runs, with values of arguments as constants. C++, nothing to link. The calls
/// are markers for MnemePass, which removes them; without the pass, they have
/// no effect. If no JIT runtime is in the process, the code runs as compiled.
///
/// \code
///   __attribute__((annotate("jit", 3))) __global__ void
///   scale(float *Y, const float *X, float A) { ... }
///
///   __global__ void axpy(float *Y, const float *X, float A, int N) {
///     mneme::jit_arg(A);
///     mneme::jit_arg(N);
///     ...
///   }
/// \endcode
///
/// The numbers of the attribute count parameters from 1. An attribute without
/// numbers selects the kernel or function alone.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_JIT_H
#define MNEME_JIT_H

#ifndef __cplusplus
#error "mneme/jit.h is for C++"
#endif

#include <stddef.h>
#include <stdint.h>
#include <string>
#include <type_traits>
#include <utility>

#if defined(__CUDACC__) || defined(__HIP__)
#define MNEME_JIT_BOTH __host__ __device__
#else
#define MNEME_JIT_BOTH
#endif

// The pass finds markers by their attribute. They are inlined if there is no
// pass.
#ifdef __clang__
#define MNEME_JIT_MARKER(Name)                                                 \
  __attribute__((annotate("mneme.jit." Name),                                  \
                 always_inline)) inline MNEME_JIT_BOTH
#define MNEME_JIT_PLACE const char * = __builtin_FILE(), int = __builtin_LINE()
#else
#define MNEME_JIT_MARKER(Name) inline MNEME_JIT_BOTH
#define MNEME_JIT_PLACE const char * = "", int = 0
#endif

extern "C" {
// Defined by the JIT runtime.
__attribute__((weak)) void __mneme_jit_enable(int);
__attribute__((weak)) void __mneme_jit_plugin(const char *, const char *);
__attribute__((weak)) int __mneme_jit_describe(
    const void *kernel,
    void (*on_kernel)(void *data, const char *name, const uint8_t *hash,
                      const void *bitcode, size_t size),
    void (*on_variable)(void *data, const char *name, const void *host,
                        const void *device, size_t size),
    void *data);
}

namespace mneme {

namespace jit_detail {
// In some executables, linkers resolve a weak reference to null. The runtime
// therefore finds slots by their section and fills them.
template <typename Fn> struct Slot {
  Fn *Function;
  const char *Name;
};
__attribute__((section("mneme_hooks"), used)) static Slot<void(int)> Enable = {
    nullptr, "__mneme_jit_enable"};
__attribute__((section("mneme_hooks"),
               used)) static Slot<void(const char *, const char *)>
    Plugin = {nullptr, "__mneme_jit_plugin"};

__attribute__((section("mneme_hooks"),
               used)) static Slot<decltype(__mneme_jit_describe)>
    Describe = {nullptr, "__mneme_jit_describe"};

// Volatile, as the compiler sees no store to the slot.
template <typename Fn> Fn *find(Slot<Fn> &S, Fn *Linked) {
  Fn *Filled = static_cast<volatile Slot<Fn> &>(S).Function;
  return Filled ? Filled : Linked;
}

/// Storage for a closure that is never constructed: its type is that of the
/// closure.
template <typename T> union Closure {
  Closure() {}
  ~Closure() {}
  T Value;
};

template <typename T, typename = void> struct HasCallOperator {
  static const bool value = false;
};
template <typename T>
struct HasCallOperator<T, decltype(void(&T::operator()))> {
  static const bool value = true;
};

// The operator of a __device__ lambda has no address on the host.
#if defined(__CUDACC__) || defined(__HIP__)
template <typename T> MNEME_JIT_MARKER("closure") void noteClosure() {
  Closure<T> Type;
  (void)Type;
}
#else
template <typename T>
MNEME_JIT_MARKER("closure")
typename std::enable_if<HasCallOperator<T>::value>::type noteClosure() {
  Closure<T> Type;
  auto Operator = &T::operator();
  (void)Type;
  (void)Operator;
}
template <typename T>
MNEME_JIT_MARKER("closure")
typename std::enable_if<!HasCallOperator<T>::value>::type noteClosure() {
  Closure<T> Type;
  (void)Type;
}
#endif
} // namespace jit_detail

/// Contents that never change while the program runs are read once. Other
/// contents are read at each launch.
enum jit_contents { jit_changing = 0, jit_immutable = 1 };

/// Makes a parameter of the calling kernel or function a constant: a number, a
/// pointer, or a member of a struct that is passed by value.
template <typename T>
MNEME_JIT_MARKER("arg")
void jit_arg(T, MNEME_JIT_PLACE) noexcept {}

/// Makes the elements that a pointer parameter points to constants, unless the
/// kernel or function may change them before it reads them (docs/JIT.rst).
/// \param Count  a number, or a parameter.
template <typename T>
MNEME_JIT_MARKER("array")
void jit_array(T *, size_t /*Count*/, jit_contents = jit_changing,
               size_t /*Size*/ = sizeof(T), MNEME_JIT_PLACE) noexcept {
  static_assert(std::is_trivially_copyable<T>::value,
                "jit_array: the elements must be trivially copyable");
}

/// Makes the object that a parameter points to, refers to, or is, a constant,
/// as jit_array().
template <typename T>
MNEME_JIT_MARKER("object")
void jit_object(T *, jit_contents = jit_changing, size_t /*Size*/ = sizeof(T),
                MNEME_JIT_PLACE) noexcept {
  static_assert(std::is_trivially_copyable<T>::value,
                "jit_object: the object must be trivially copyable");
}
template <typename T>
MNEME_JIT_MARKER("object")
typename std::enable_if<!std::is_pointer<T>::value>::type
    jit_object(T &, jit_contents = jit_changing, size_t /*Size*/ = sizeof(T),
               MNEME_JIT_PLACE) noexcept {
  static_assert(std::is_trivially_copyable<T>::value,
                "jit_object: the object must be trivially copyable");
}

/// In a capture of a lambda, [N = mneme::jit_variable(N)], makes the captured
/// value a constant of the lambda's code and of kernels that take the lambda.
template <typename T>
MNEME_JIT_MARKER("variable")
T jit_variable(T Value) noexcept {
  static_assert(std::is_scalar<T>::value,
                "jit_variable: the value must be a number or a pointer");
  return Value;
}

/// Selects a lambda, and the kernels that take it, for the JIT. Without
/// jit_variable, all captured numbers become constants. Returns the lambda.
template <typename T> inline T &&register_lambda(T &&Lambda) noexcept {
  jit_detail::noteClosure<typename std::decay<T>::type>();
  return static_cast<T &&>(Lambda);
}

#if defined(__CUDACC__) || defined(__HIP__)
/// Returns shared memory for \p Count elements. The program as compiled
/// reserves \p MaxCount elements; code of the JIT, \p Count, if that is a
/// constant there.
/// \tparam Id  distinguishes arrays of one type and size in a kernel.
template <typename T, size_t MaxCount, int Id = 0>
__attribute__((annotate("mneme.jit.shared"), noinline)) static __device__ T *
shared_array(size_t Count, size_t Size = sizeof(T)) {
  alignas(T) static __shared__ char Bytes[sizeof(T) * MaxCount];
  return reinterpret_cast<T *>(Bytes);
}
#endif

/// Switches the JIT on (the default) or off; code then runs as compiled.
inline void jit_enable(bool On = true) {
  if (auto *Set = jit_detail::find(jit_detail::Enable, __mneme_jit_enable))
    Set(On);
}
inline void jit_disable() { jit_enable(false); }

/// Loads a pass plugin into the JIT's compiler and appends \p Pipeline to the
/// pipeline of code that is compiled from now on.
inline void jit_plugin(const std::string &Path, const std::string &Pipeline) {
  if (auto *Add = jit_detail::find(jit_detail::Plugin, __mneme_jit_plugin))
    Add(Path.c_str(), Pipeline.c_str());
}

/// Describes an annotated kernel, by its host pointer: calls \p on_kernel with
/// its symbol, the 16 bytes of its static hash (of its device code with
/// -fgpu-rdc), and the unoptimized bitcode of its source file, then \p
/// on_variable for each device variable of that file. \returns false for other
/// kernels, or without a JIT runtime.
template <typename KernelFn, typename VariableFn>
bool jit_describe(const void *kernel, KernelFn on_kernel,
                  VariableFn on_variable) {
  struct Both {
    KernelFn &Kernel;
    VariableFn &Variable;
  } Data = {on_kernel, on_variable};
  auto *Ask = jit_detail::find(jit_detail::Describe, __mneme_jit_describe);
  return Ask &&
         Ask(
             kernel,
             [](void *D, const char *Name, const uint8_t *Hash,
                const void *Bitcode, size_t Size) {
               static_cast<Both *>(D)->Kernel(Name, Hash, Bitcode, Size);
             },
             [](void *D, const char *Name, const void *Host, const void *Device,
                size_t Size) {
               static_cast<Both *>(D)->Variable(Name, Host, Device, Size);
             },
             &Data);
}

} // namespace mneme

#undef MNEME_JIT_BOTH
#undef MNEME_JIT_MARKER
#undef MNEME_JIT_PLACE

#endif // MNEME_JIT_H
