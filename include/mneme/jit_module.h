//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles source text while the program runs: functions, kernels, and
/// templates that are instantiated by name. C++17, nothing to link. A compile
/// server does the work and caches it; there is no LLVM in the program. A JIT
/// runtime has to be in the process: libmneme_jit.so, linked or preloaded, or
/// the host device's.
///
/// \code
///   mneme::jit_module M(mneme::jit_target::host, R"(
///     template <int N> double power(double X) {
///       double R = 1;
///       for (int I = 0; I < N; ++I) R *= X;
///       return R;
///     })");
///   double Cube = M.instantiate("power", "3").call<double>(2.0);
/// \endcode
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_JIT_MODULE_H
#define MNEME_JIT_MODULE_H

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "mneme/jit_module.h is for C++17"
#endif

#include <deque>
#include <dlfcn.h>
#include <map>
#include <mneme/jit.h>
#include <string_view>
#include <vector>

extern "C" {
/// A source for __mneme_jit_build().
typedef struct mneme_jit_source {
  size_t size; ///< sizeof(mneme_jit_source)
  uint32_t has_kernels; ///< 0: no; 1: of CUDA; 2: of HIP.
  uint32_t language, compiler;
  const char *text; ///< Compiled ahead if sources share it.
  size_t text_size;
  const char *tail;
  size_t tail_size;
  const char *const *options;
  size_t num_options;
} mneme_jit_source;
typedef void mneme_jit_message_fn(void *data, const char *severity,
                                  const char *file, uint32_t line,
                                  uint32_t column, const char *text);
/// Defined by the JIT runtime. Returns the handle of a shared library.
__attribute__((weak)) void *__mneme_jit_build(const mneme_jit_source *source,
                                              mneme_jit_message_fn *on_message,
                                              void *data);
}

namespace mneme {

namespace jit_detail {
__attribute__((section("mneme_hooks"),
               used)) static Slot<decltype(__mneme_jit_build)>
    Build = {nullptr, "__mneme_jit_build"};
} // namespace jit_detail

/// The code that a module has: of the CPU; kernels; or kernels and functions
/// that launch them.
enum class jit_target : uint32_t { host, cuda, host_cuda, hip, host_hip };
enum class jit_language : uint32_t { cpp, llvm_ir, mlir };
/// The compiler of C++. nvcc compiles only for GPUs.
enum class jit_compiler : uint32_t { clang, nvcc };

/// A message of the compiler.
struct jit_message {
  std::string severity;  ///< "error", "fatal error", "warning", "note".
  std::string file;      ///< "module.cpp" for the source; may be empty.
  uint32_t line, column; ///< From 1; 0: unknown.
  std::string text;
};

/// The dimensions of a grid or block.
struct jit_dims {
  unsigned X = 1, Y = 1, Z = 1;

  constexpr jit_dims() = default;
  constexpr jit_dims(unsigned X, unsigned Y = 1, unsigned Z = 1)
      : X(X), Y(Y), Z(Z) {}
  /// Of a dim3.
  template <typename T, typename = std::enable_if_t<std::is_convertible_v<
                            decltype(std::declval<T>().x), unsigned>>>
  constexpr jit_dims(const T &D) : X(D.x), Y(D.y), Z(D.z) {}
};

/// The result of a launch: a cudaError_t or hipError_t, or -1 if the code does
/// not compile.
struct jit_result {
  int Error;
  jit_result(int Error) : Error(Error) {}
  operator int() const { return Error; }
#if defined(__CUDACC__)
  operator cudaError_t() const { return cudaError_t(Error); }
#endif
};

/// A function of a module, or nothing if it has none with that name.
template <typename Sig> class jit_function;
template <typename R, typename... A> class jit_function<R(A...)> {
public:
  explicit jit_function(void *Address = nullptr)
      : Address(reinterpret_cast<R (*)(A...)>(Address)) {}
  explicit operator bool() const { return Address; }
  R operator()(A... Args) const { return Address(std::forward<A>(Args)...); }

private:
  R (*Address)(A...);
};

namespace jit_detail {
using LaunchFn = int(const void *, const unsigned *, size_t, void *, void **);
using AttributeFn = int(const void *, int, int);

/// Returns the name of a type, as C++ code.
template <typename T> std::string typeName() {
  std::string_view Name = __PRETTY_FUNCTION__;
  size_t Begin = Name.find("T = ") + 4;
  return std::string(
      Name.substr(Begin, Name.find_first_of(";]", Begin) - Begin));
}

/// An address that is unique for the types.
template <typename... T> struct TypesId {
  static inline const char Id = 0;
};
} // namespace jit_detail

/// A kernel of a module, or nothing if it has none with that name.
template <typename Sig> class jit_kernel;
template <typename... A> class jit_kernel<void(A...)> {
public:
  jit_kernel(const void *Stub = nullptr, jit_detail::LaunchFn *Launch = nullptr,
             jit_detail::AttributeFn *Attribute = nullptr)
      : Stub(Stub), Launch(Launch), Attribute(Attribute) {}
  explicit operator bool() const { return Stub; }

  /// Launches the kernel.
  jit_result launch(jit_dims Grid, jit_dims Block, size_t SharedBytes,
                    void *Stream, A... Args) const {
    void *Places[sizeof...(A) + 1] = {(void *)&Args...};
    unsigned Dims[] = {Grid.X, Grid.Y, Grid.Z, Block.X, Block.Y, Block.Z};
    return Stub ? Launch(Stub, Dims, SharedBytes, Stream, Places) : -1;
  }
  /// Sets an attribute (cudaFuncAttribute). \returns a cudaError_t, or -1.
  int set_attribute(int Name, int Value) const {
    return Stub ? Attribute(Stub, Name, Value) : -1;
  }

private:
  const void *Stub;
  jit_detail::LaunchFn *Launch;
  jit_detail::AttributeFn *Attribute;
};

class jit_module;

/// An instance of a template of a module. It is compiled with the first call or
/// launch, for the types of the arguments, which C++ converts to the types of
/// the parameters.
class jit_instance {
public:
  /// Calls a function. \p R is the type of the result. If the instance does not
  /// compile, nothing is called, and the module has the error.
  template <typename R, typename... A> R call(A &&...Args) {
    auto *F = prepare_call<R, A...>();
    if constexpr (std::is_void_v<R>) {
      if (F)
        F(std::forward<A>(Args)...);
    } else {
      return F ? F(std::forward<A>(Args)...) : R();
    }
  }
  /// Launches a kernel.
  template <typename... A>
  jit_result launch(jit_dims Grid, jit_dims Block, size_t SharedBytes,
                    void *Stream, A... Args) {
    auto *F = prepare_launch<A...>();
    unsigned Dims[] = {Grid.X, Grid.Y, Grid.Z, Block.X, Block.Y, Block.Z};
    return F ? F(Dims, SharedBytes, Stream, MaxSharedBytes, Args...) : -1;
  }
  /// Compiles for calls with these types, unless that was done. \returns null
  /// if the instance does not compile.
  template <typename R, typename... A> auto *prepare_call() {
    using Fn = R(std::decay_t<A>...);
    return reinterpret_cast<Fn *>(
        find<Fn>([&] { return functionEntry<R, std::decay_t<A>...>(); }));
  }
  /// Likewise, for launches.
  template <typename... A> auto *prepare_launch() {
    using Fn = int(const unsigned *, size_t, void *, int, A...);
    return reinterpret_cast<Fn *>(
        find<Fn>([&] { return kernelEntry<A...>(); }));
  }
  /// Raises the limit of dynamic shared memory.
  void set_max_shared_bytes(int Bytes) { MaxSharedBytes = Bytes; }

private:
  friend class jit_module;
  jit_instance(jit_module &M, std::string Name) : M(M), Name(std::move(Name)) {}

  template <typename... A> static std::string parameters() {
    std::string Text;
    int I = 0;
    ((Text +=
      (I ? ", " : "") + jit_detail::typeName<A>() + " A" + std::to_string(I),
      ++I),
     ...);
    return Text;
  }
  static std::string arguments(size_t Count) {
    std::string Text;
    for (size_t I = 0; I != Count; ++I)
      Text += (I ? ", A" : "A") + std::to_string(I);
    return Text;
  }
  template <typename R, typename... A> std::string functionEntry() const {
    return "extern \"C\" " + jit_detail::typeName<R>() + " __mneme_entry(" +
           parameters<A...>() + ") { return " + Name + "(" +
           arguments(sizeof...(A)) + "); }";
  }
  template <typename... A> inline std::string kernelEntry() const;
  template <typename Fn, typename Make> void *find(Make MakeEntry) {
    const void *Id = &jit_detail::TypesId<Fn>::Id;
    for (const auto &[Known, Address] : Entries)
      if (Known == Id)
        return Address;
    return add(Id, MakeEntry());
  }
  inline void *add(const void *Id, const std::string &Tail);

  jit_module &M;
  std::string Name;
  int MaxSharedBytes = 0;
  std::vector<std::pair<const void *, void *>> Entries;
};

/// Source text that is compiled while the program runs. Its code stays until
/// the program ends. Not for use by several threads at a time.
class jit_module {
public:
  /// \param Options  of the compiler, such as -DNAME or -Ifolder. The standard
  /// is C++17 and the level is -O3 unless they say otherwise.
  jit_module(jit_target Target, std::string Text,
             std::vector<std::string> Options = {},
             jit_language Language = jit_language::cpp,
             jit_compiler Compiler = jit_compiler::clang)
      : Target(Target), Text(std::move(Text)), Options(std::move(Options)),
        Language(Language), Compiler(Compiler) {}
  jit_module(const jit_module &) = delete;
  jit_module &operator=(const jit_module &) = delete;

  jit_target target() const { return Target; }
  bool is_hip() const {
    return Target == jit_target::hip || Target == jit_target::host_hip;
  }

  /// Compiles the source, or finds it in the cache, unless that was done.
  /// \returns false if it does not compile.
  bool compile() {
    if (!Handle)
      Handle = build("");
    return Handle;
  }
  /// Returns the messages of the compiler so far.
  const std::vector<jit_message> &messages() const { return Messages; }
  /// Returns the errors as text, as clang prints them; empty if there are none.
  std::string error() const {
    std::string Errors;
    bool WasError = false;
    for (const jit_message &M : Messages) {
      bool IsNote = M.severity == "note";
      WasError =
          IsNote ? WasError : M.severity.find("error") != std::string::npos;
      if (!WasError)
        continue;
      if (!M.file.empty())
        Errors += M.file + ":" + std::to_string(M.line) + ":" +
                  std::to_string(M.column) + ": ";
      Errors += M.severity + ": " + M.text + "\n";
    }
    return Errors;
  }

  /// Returns the address of a symbol; null if there is none.
  void *symbol(const std::string &Name) {
    return compile() ? dlsym(Handle, Name.c_str()) : nullptr;
  }
  /// Returns a function that is extern "C".
  template <typename Sig> jit_function<Sig> function(const std::string &Name) {
    return jit_function<Sig>(lookUp(Name, {""}, "function"));
  }
  /// Returns a kernel that is extern "C". \p Sig is its type: void(...).
  template <typename Sig> jit_kernel<Sig> kernel(const std::string &Name) {
    // nvcc's stubs have the name of the kernel, as HIP's handles.
    void *Stub =
        lookUp(Name, {is_hip() ? "" : "__device_stub__", ""}, "kernel");
    return {Stub, (jit_detail::LaunchFn *)symbol("__mneme_launch"),
            (jit_detail::AttributeFn *)symbol("__mneme_set_attribute")};
  }
  /// Returns an instance of the template \p Name with arguments that are
  /// written as in C++. Repeated calls return the same.
  template <typename... A>
  jit_instance &instantiate(const std::string &Name, const A &...Args) {
    std::string Full = Name + "<";
    const char *Comma = "";
    ((Full += Comma + std::string(Args), Comma = ", "), ...);
    return instance(Full + ">");
  }
  /// Returns an instance by its full name, such as "power<3>".
  jit_instance &instance(const std::string &Name) {
    for (jit_instance &I : Instances)
      if (I.Name == Name)
        return I;
    Instances.push_back(jit_instance(*this, Name));
    return Instances.back();
  }

private:
  friend class jit_instance;

  void *build(const std::string &Tail) {
    std::vector<const char *> Words;
    for (const std::string &Option : Options)
      Words.push_back(Option.c_str());
    uint32_t HasKernels = is_hip() ? 2 : Target != jit_target::host;
    mneme_jit_source S = {sizeof(S),          HasKernels,  uint32_t(Language),
                          uint32_t(Compiler), Text.data(), Text.size(),
                          Tail.data(),        Tail.size(), Words.data(),
                          Words.size()};
    auto *Build = jit_detail::find(jit_detail::Build, __mneme_jit_build);
    if (!Build) {
      fail(
          "no JIT runtime in the process: link libmneme_jit.so, or preload it");
      return nullptr;
    }
    return Build(
        &S,
        [](void *Data, const char *Severity, const char *File, uint32_t Line,
           uint32_t Column, const char *Text) {
          static_cast<jit_module *>(Data)->Messages.push_back(
              {Severity, File, Line, Column, Text});
        },
        this);
  }
  void fail(std::string Text) {
    Messages.push_back({"error", "", 0, 0, std::move(Text)});
  }
  void *lookUp(const std::string &Name,
               std::initializer_list<const char *> Prefixes, const char *Kind) {
    for (const char *Prefix : Prefixes)
      if (void *Found = symbol(Prefix + Name))
        return Found;
    if (Handle)
      fail("no " + std::string(Kind) + " '" + Name +
           "' in the module: declare it extern \"C\", or use instance()");
    return nullptr;
  }

  jit_target Target;
  std::string Text;
  std::vector<std::string> Options;
  jit_language Language;
  jit_compiler Compiler;
  void *Handle = nullptr;
  std::vector<jit_message> Messages;
  std::deque<jit_instance> Instances; ///< Addresses stay.
};

template <typename... A> std::string jit_instance::kernelEntry() const {
  bool IsHip = M.is_hip();
  std::string Own = parameters<A...>();
  // 8: cudaFuncAttributeMaxDynamicSharedMemorySize, also of HIP.
  return "extern \"C\" int __mneme_entry(const unsigned *D, "
         "decltype(sizeof(0)) Shared, void *Stream, int MaxShared" +
         (Own.empty() ? "" : ", " + Own) +
         ") {\n  if (MaxShared)\n    if (int E = "
         "__mneme_set_attribute((const void *)" +
         Name + ", 8, MaxShared))\n      return E;\n  " + Name +
         "<<<dim3(D[0], D[1], D[2]), dim3(D[3], D[4], D[5]), Shared, (" +
         (IsHip ? "hip" : "cuda") + "Stream_t)Stream>>>(" +
         arguments(sizeof...(A)) + ");\n  return " +
         (IsHip ? "__mneme_last_error" : "cudaGetLastError") + "();\n}";
}

void *jit_instance::add(const void *Id, const std::string &Tail) {
  void *Handle = M.build(Tail);
  void *Address = Handle ? dlsym(Handle, "__mneme_entry") : nullptr;
  if (Address)
    Entries.push_back({Id, Address});
  return Address;
}

} // namespace mneme

#endif // MNEME_JIT_MODULE_H
