//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Builds functions and kernels statement by statement while the program runs.
/// A builder writes C++, which becomes a jit_module; values of the program are
/// constants in it. C++17, nothing to link.
///
/// \code
///   mneme::builder::Module M(mneme::jit_target::host);
///   auto &F = M.addFunction<void(double *)>("twice");
///   F.beginFunction();
///   auto &X = F.getArg<0>();
///   auto I = F.defVar<int>(0), One = F.defVar<int>(1);
///   auto N = F.defRuntimeConst<int>(Size);
///   F.beginFor(I, I, N, One);
///   X[I] = X[I] * 2.0;
///   F.endFor();
///   F.ret();
///   F.endFunction();
///   F(Data);
/// \endcode
///
/// A Var stands for a variable of the code that is built: operators append
/// statements, and copies of a Var are the same variable.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_JIT_BUILDER_H
#define MNEME_JIT_BUILDER_H

#include <atomic>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <mneme/jit_module.h>
#include <mutex>
#include <optional>
#include <tuple>

namespace mneme {
namespace builder {

template <typename T>
using remove_cvref_t = std::remove_cv_t<std::remove_reference_t<T>>;

/// Where an array is.
enum class AddressSpace { DEFAULT, GLOBAL, SHARED, CONSTANT, LOCAL };

/// Whether a loop is written at once, or with emit().
enum class EmissionPolicy { Eager, Lazy };

/// The text of a function.
class Body {
public:
  explicit Body(bool IsDevice) : IsDevice(IsDevice) {}

  /// Returns the name of a new variable.
  std::string declare(const std::string &Type, const std::string &Suffix = "",
                      const std::string &Prefix = "") {
    std::string Name = "v" + std::to_string(Count++);
    Declarations += "  " + Prefix + Type + " " + Name + Suffix + ";\n";
    return Name;
  }
  void append(const std::string &Statement) {
    Statements += std::string(2 * Depth, ' ') + Statement + "\n";
  }
  void open(const std::string &Statement) {
    append(Statement + " {");
    ++Depth;
  }
  /// \returns false if nothing is open.
  bool close() {
    if (Depth == 1)
      return false;
    --Depth;
    append("}");
    return true;
  }
  bool isComplete() const { return Depth == 1; }
  std::string text() const { return Declarations + Statements; }

  const bool IsDevice;
  std::string Prototypes; ///< Of functions that are called.

private:
  std::string Declarations, Statements;
  unsigned Count = 0, Depth = 1;
};

template <typename T> class Var;

namespace detail {
template <typename T> std::string typeName() {
  return jit_detail::typeName<remove_cvref_t<T>>();
}

/// Returns a constant with its exact value.
template <typename T> std::string literal(T Value) {
  if constexpr (std::is_floating_point_v<T>) {
    std::string Text;
    if (std::isnan(Value)) {
      Text = "__builtin_nan(\"\")";
    } else if (std::isinf(Value)) {
      Text = Value < 0 ? "-__builtin_inf()" : "__builtin_inf()";
    } else {
      char Digits[64];
      std::snprintf(Digits, sizeof(Digits), "%a", double(Value));
      Text = Digits;
    }
    return "(" + typeName<T>() + ")" + Text;
  } else if constexpr (std::is_same_v<T, bool>) {
    return Value ? "true" : "false";
  } else if constexpr (std::is_signed_v<T>) {
    // The most negative number is no literal.
    if (Value == std::numeric_limits<T>::min())
      return "(" + typeName<T>() + ")(" +
             std::to_string((long long)(Value + 1)) + "ll - 1)";
    return "(" + typeName<T>() + ")" + std::to_string((long long)Value) + "ll";
  } else {
    return "(" + typeName<T>() + ")" +
           std::to_string((unsigned long long)Value) + "ull";
  }
}

template <typename T> struct IsVar : std::false_type {};
template <typename T> struct IsVar<Var<T>> : std::true_type {};
template <typename T>
inline constexpr bool is_number_v = std::is_arithmetic_v<remove_cvref_t<T>>;
} // namespace detail

/// A variable, element or argument: a number, a pointer, or an array.
template <typename T> class Var {
public:
  using ValueType = T;
  using Plain = remove_cvref_t<T>;
  using ElemType =
      std::conditional_t<std::is_array_v<Plain>, std::remove_extent_t<Plain>,
                         std::remove_pointer_t<Plain>>;

  /// \param Place  an expression that can be assigned to.
  Var(Body &B, std::string Place) : B(&B), Place(std::move(Place)) {}
  Var(const Var &) = default;
  /// A new variable with the converted value.
  template <typename U, typename = std::enable_if_t<!std::is_same_v<T, U> &&
                                                    detail::is_number_v<T> &&
                                                    detail::is_number_v<U>>>
  Var(const Var<U> &Other)
      : B(Other.B), Place(Other.B->declare(detail::typeName<T>())) {
    store("(" + detail::typeName<T>() + ")" + Other.Place);
  }

  Var &operator=(const Var &Other) {
    static_assert(!std::is_const_v<std::remove_reference_t<T>>,
                  "a constant cannot be assigned to");
    store(Other.Place);
    return *this;
  }
  template <typename U> Var &operator=(const Var<U> &Other) {
    static_assert(!std::is_const_v<std::remove_reference_t<T>>,
                  "a constant cannot be assigned to");
    store(as(Other));
    return *this;
  }
  template <typename U, typename = std::enable_if_t<std::is_arithmetic_v<U>>>
  Var &operator=(U Value) {
    static_assert(!std::is_const_v<std::remove_reference_t<T>>,
                  "a constant cannot be assigned to");
    store(detail::literal(static_cast<Plain>(Value)));
    return *this;
  }

  /// Returns a new variable with the value as another type.
  template <typename U> Var<std::remove_reference_t<U>> convert() const {
    Var<std::remove_reference_t<U>> Result(*B,
                                           B->declare(detail::typeName<U>()));
    Result.store("(" + detail::typeName<U>() + ")" + Place);
    return Result;
  }
  /// Returns a pointer to this variable.
  Var<std::add_pointer_t<T>> getAddress() {
    using Pointer = std::add_pointer_t<T>;
    Var<Pointer> Result(*B, B->declare(detail::typeName<Pointer>()));
    Result.store("&" + Place);
    return Result;
  }

  /// An element of an array, or of what a pointer points to.
  template <typename I,
            typename = std::enable_if_t<std::is_integral_v<remove_cvref_t<I>>>>
  Var<ElemType &> operator[](const Var<I> &Index) const {
    return element(Index.Place);
  }
  Var<ElemType &> operator[](size_t Index) const {
    return element(std::to_string(Index));
  }
  Var<ElemType &> operator*() const { return element("0"); }

  Var<Plain> operator-() const {
    Var<Plain> Result(*B, B->declare(detail::typeName<T>()));
    Result.store("-" + Place);
    return Result;
  }
  Var<bool> operator!() const {
    Var<bool> Result(*B, B->declare("bool"));
    Result.store("!" + Place);
    return Result;
  }

  /// The value of a pointer.
  const std::string &loadAddress() const {
    static_assert(std::is_pointer_v<Plain>, "loadAddress: not a pointer");
    return Place;
  }
  void storeAddress(const std::string &Address) const { store(Address); }

  /// Appends an assignment of an expression.
  void store(const std::string &Expression) const {
    B->append(Place + " = " + Expression + ";");
  }

  Body *B;
  std::string Place;

private:
  template <typename U> static std::string as(const Var<U> &Other) {
    return std::is_pointer_v<Plain>
               ? Other.Place
               : "(" + detail::typeName<T>() + ")" + Other.Place;
  }
  Var<ElemType &> element(const std::string &Index) const {
    using Pointer = std::add_pointer_t<ElemType>;
    std::string Name = B->declare(detail::typeName<Pointer>());
    B->append(Name + " = " + Place + " + " + Index + ";");
    return {*B, "(*" + Name + ")"};
  }
};

namespace detail {
/// The operands of operators: Var, or numbers.
template <typename T> struct Operand {
  static constexpr bool IsValid = std::is_arithmetic_v<T>;
  using Type = T;
  static std::string text(T Value) { return literal(Value); }
};
template <typename T> struct Operand<Var<T>> {
  static constexpr bool IsValid = is_number_v<T>;
  using Type = remove_cvref_t<T>;
  static std::string text(const Var<T> &V) { return V.Place; }
};
template <typename L, typename R>
inline constexpr bool are_operands_v =
    (IsVar<L>::value || IsVar<R>::value) && Operand<L>::IsValid &&
    Operand<R>::IsValid;

template <typename L, typename R> Body &bodyOf(const L &A, const R &B) {
  if constexpr (IsVar<L>::value)
    return *A.B;
  else
    return *B.B;
}

template <typename Result, typename L, typename R>
Var<Result> combine(const char *Operator, const std::string &LeftType,
                    const L &A, const R &B) {
  Body &In = bodyOf(A, B);
  std::string Left = Operand<L>::text(A), Right = Operand<R>::text(B);
  if (!LeftType.empty()) {
    Left = "(" + LeftType + ")" + Left;
    Right = "(" + LeftType + ")" + Right;
  }
  Var<Result> V(In, In.declare(typeName<Result>()));
  if (*Operator == '%' && std::is_floating_point_v<Result>)
    V.store((In.IsDevice ? "fmod(" : "__builtin_fmod(") + Left + ", " + Right +
            ")");
  else
    V.store(Left + " " + Operator + " " + Right);
  return V;
}
} // namespace detail

// Arithmetic, in the common type of both sides.
#define MNEME_OPERATOR(Op)                                                     \
  template <typename L, typename R,                                            \
            typename = std::enable_if_t<detail::are_operands_v<L, R>>>         \
  auto operator Op(const L &A, const R &B) {                                   \
    using Common = std::common_type_t<typename detail::Operand<L>::Type,       \
                                      typename detail::Operand<R>::Type>;      \
    return detail::combine<Common>(#Op, detail::typeName<Common>(), A, B);     \
  }                                                                            \
  template <typename T, typename R,                                            \
            typename = std::enable_if_t<detail::are_operands_v<Var<T>, R>>>    \
  Var<T> &operator Op## = (Var<T> & A, const R &B) {                           \
    return A = A Op B;                                                         \
  }                                                                            \
  template <typename T, typename R,                                            \
            typename = std::enable_if_t<detail::are_operands_v<Var<T>, R>>>    \
  void operator Op## = (Var<T> && A, const R &B) {                             \
    A = A Op B;                                                                \
  }
MNEME_OPERATOR(+)
MNEME_OPERATOR(-)
MNEME_OPERATOR(*)
MNEME_OPERATOR(/)
MNEME_OPERATOR(%)
#undef MNEME_OPERATOR

// Comparisons, likewise.
#define MNEME_OPERATOR(Op)                                                     \
  template <typename L, typename R,                                            \
            typename = std::enable_if_t<detail::are_operands_v<L, R>>>         \
  Var<bool> operator Op(const L &A, const R &B) {                              \
    using Common = std::common_type_t<typename detail::Operand<L>::Type,       \
                                      typename detail::Operand<R>::Type>;      \
    return detail::combine<bool>(#Op, detail::typeName<Common>(), A, B);       \
  }
MNEME_OPERATOR(<)
MNEME_OPERATOR(<=)
MNEME_OPERATOR(>)
MNEME_OPERATOR(>=)
MNEME_OPERATOR(==)
MNEME_OPERATOR(!=)
#undef MNEME_OPERATOR

// Logic. Both sides are evaluated.
#define MNEME_OPERATOR(Op)                                                     \
  template <typename L, typename R,                                            \
            typename = std::enable_if_t<detail::are_operands_v<L, R>>>         \
  Var<bool> operator Op(const L &A, const R &B) {                              \
    return detail::combine<bool>(#Op, "bool", A, B);                           \
  }
MNEME_OPERATOR(&&)
MNEME_OPERATOR(||)
#undef MNEME_OPERATOR

namespace detail {
template <typename T> inline constexpr bool is_pointer_var_v = false;
template <typename T>
inline constexpr bool is_pointer_var_v<Var<T>> =
    std::is_pointer_v<remove_cvref_t<T>>;
} // namespace detail

/// A pointer some elements further.
template <
    typename P, typename I,
    std::enable_if_t<detail::is_pointer_var_v<P> && detail::Operand<I>::IsValid,
                     int> = 0>
auto operator+(const P &Pointer, const I &Offset) {
  using T = typename P::Plain;
  Var<T> Result(*Pointer.B, Pointer.B->declare(detail::typeName<T>()));
  Result.store(Pointer.Place + " + " + detail::Operand<I>::text(Offset));
  return Result;
}
template <
    typename I, typename P,
    std::enable_if_t<detail::Operand<I>::IsValid && detail::is_pointer_var_v<P>,
                     char> = 0>
auto operator+(const I &Offset, const P &Pointer) {
  return Pointer + Offset;
}

// Math, in float.
#define MNEME_FUNCTION(Name, Function)                                         \
  template <typename T> Var<float> Name(const Var<T> &X) {                     \
    Var<float> Result(*X.B, X.B->declare("float"));                            \
    Result.store((X.B->IsDevice ? #Function : "__builtin_" #Function) +        \
                 ("((float)" + X.Place + ")"));                                \
    return Result;                                                             \
  }
MNEME_FUNCTION(sqrtf, sqrtf)
MNEME_FUNCTION(expf, expf)
MNEME_FUNCTION(sinf, sinf)
MNEME_FUNCTION(cosf, cosf)
MNEME_FUNCTION(logf, logf)
MNEME_FUNCTION(truncf, truncf)
MNEME_FUNCTION(fabs, fabsf)
MNEME_FUNCTION(absf, fabsf)
#undef MNEME_FUNCTION

template <typename T, typename U>
Var<float> powf(const Var<T> &X, const Var<U> &Y) {
  Var<float> Result(*X.B, X.B->declare("float"));
  Result.store((X.B->IsDevice ? "powf" : "__builtin_powf") +
               ("((float)" + X.Place + ", (float)" + Y.Place + ")"));
  return Result;
}

namespace detail {
template <typename T, typename U>
Var<remove_cvref_t<T>> choose(const char *Operator, const Var<T> &X,
                              const Var<U> &Y) {
  static_assert(std::is_same_v<remove_cvref_t<T>, remove_cvref_t<U>>,
                "min, max: expected operands of the same type");
  Var<remove_cvref_t<T>> Result(*X.B, X.B->declare(typeName<T>()));
  Result.store(X.Place + Operator + Y.Place + " ? " + X.Place + " : " +
               Y.Place);
  return Result;
}
} // namespace detail

template <typename T, typename U>
Var<remove_cvref_t<T>> min(const Var<T> &X, const Var<U> &Y) {
  return detail::choose(" < ", X, Y);
}
template <typename T, typename U>
Var<remove_cvref_t<T>> max(const Var<T> &X, const Var<U> &Y) {
  return detail::choose(" > ", X, Y);
}

/// How a loop is unrolled.
struct LoopHints {
  bool Unroll = false;
  std::optional<int> UnrollCount;
};

template <typename T, typename Fn> class ForLoopBuilder;
template <typename... Loops> class LoopNestBuilder;

template <typename Sig> struct Signature;
template <typename R, typename... A> struct Signature<R(A...)> {
  using Result = R;
  static std::string parameters() {
    std::string Text;
    ((Text += (Text.empty() ? "" : ", ") + jit_detail::typeName<A>()), ...);
    return Text;
  }
};

class Module;

/// A function or kernel that is built.
class FuncBase {
public:
  FuncBase(Module &M, std::string Name, bool IsDevice)
      : M(M), Name(std::move(Name)), B(IsDevice) {}
  virtual ~FuncBase() = default;
  FuncBase(const FuncBase &) = delete;

  const std::string &getName() const { return Name; }
  Body &body() { return B; }

  /// A variable without a value.
  template <typename T> Var<T> declVar(const std::string & = "") {
    static_assert(!std::is_array_v<T> && !std::is_reference_v<T>,
                  "declVar: expected a number or a pointer");
    return {B, B.declare(detail::typeName<T>())};
  }
  /// An array; T is an array type without size.
  template <typename T>
  Var<T> declVar(size_t Count, AddressSpace Space = AddressSpace::DEFAULT,
                 const std::string & = "") {
    static_assert(std::is_array_v<T>, "declVar: expected an array type");
    std::string Prefix;
    if (Space == AddressSpace::SHARED)
      Prefix = B.IsDevice ? "__shared__ " : "static thread_local ";
    else if (Space == AddressSpace::GLOBAL || Space == AddressSpace::CONSTANT)
      Prefix = B.IsDevice ? "static __device__ " : "static ";
    return {B, B.declare(detail::typeName<std::remove_extent_t<T>>(),
                         "[" + std::to_string(Count) + "]", Prefix)};
  }
  template <typename... T> auto declVars() {
    return std::tuple<Var<T>...>(declVar<T>()...);
  }
  template <typename... T, typename... N> auto declVars(N &&...Names) {
    static_assert(sizeof...(T) == sizeof...(N),
                  "declVars: expected a name for each type");
    return std::tuple<Var<T>...>(declVar<T>(Names)...);
  }

  /// A variable with a value.
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Var<T> defVar(const T &Value, const std::string & = "") {
    Var<std::remove_const_t<T>> V = declVar<std::remove_const_t<T>>();
    V = Value;
    return Var<T>(V);
  }
  template <typename T, typename U>
  Var<T> defVar(const Var<U> &Value, const std::string & = "") {
    Var<std::remove_const_t<T>> V = declVar<std::remove_const_t<T>>();
    V = Value;
    return Var<T>(V);
  }
  template <typename U>
  Var<remove_cvref_t<U>> defVar(const Var<U> &Value, const std::string & = "") {
    Var<remove_cvref_t<U>> V = declVar<remove_cvref_t<U>>();
    V = Value;
    return V;
  }
  template <typename T, typename N> auto defVar(const std::pair<T, N> &P) {
    return defVar(P.first);
  }
  template <typename... T> auto defVars(T &&...Values) {
    return std::make_tuple(defVar(std::forward<T>(Values))...);
  }
  /// A value of the program that is a constant in the code.
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Var<const T> defRuntimeConst(const T &Value, const std::string & = "") {
    return Var<const T>(defVar<T>(Value));
  }
  template <typename T, typename N>
  Var<const T> defRuntimeConst(const std::pair<T, N> &P) {
    return defRuntimeConst(P.first);
  }
  template <typename... T> auto defRuntimeConsts(T &&...Values) {
    return std::make_tuple(defRuntimeConst(std::forward<T>(Values))...);
  }
  template <typename U, typename T> auto convert(const Var<T> &V) {
    return V.template convert<U>();
  }

  void beginFunction() {}
  void endFunction() {
    if (!B.isComplete())
      fail("'" + Name + "': a block has no end");
  }
  template <typename Fn> void function(Fn &&Inner) {
    beginFunction();
    std::forward<Fn>(Inner)();
    endFunction();
  }
  void beginIf(const Var<bool> &Condition) {
    B.open("if (" + Condition.Place + ")");
  }
  void beginElse() {
    endIf();
    B.open("else");
  }
  void endIf() { close("endIf"); }
  template <typename Fn> void ifThen(const Var<bool> &Condition, Fn &&Inner) {
    beginIf(Condition);
    std::forward<Fn>(Inner)();
    endIf();
  }
  /// Counts from \p Init while below \p Upper. Both bounds are evaluated once.
  template <typename T, typename I, typename U, typename S>
  void beginFor(Var<T> &Iter, const Var<I> &Init, const Var<U> &Upper,
                const Var<S> &Step, LoopHints Hints = {}) {
    using Plain = remove_cvref_t<T>;
    std::string Type = "(" + detail::typeName<T>() + ")";
    Var<Plain> End(B, B.declare(detail::typeName<T>()));
    Var<Plain> By(B, B.declare(detail::typeName<T>()));
    End.store(Type + Upper.Place);
    By.store(Type + Step.Place);
    if (Hints.UnrollCount)
      B.append("#pragma clang loop unroll_count(" +
               std::to_string(*Hints.UnrollCount) + ")");
    else if (Hints.Unroll)
      B.append("#pragma clang loop unroll(enable)");
    B.open("for (" + Iter.Place + " = " + Type + Init.Place + "; " +
           Iter.Place + " < " + End.Place + "; " + Iter.Place +
           " += " + By.Place + ")");
  }
  void endFor() { close("endFor"); }
  /// \param Condition  builds the condition, and returns it.
  template <typename Fn> void beginWhile(Fn &&Condition) {
    B.open("while (true)");
    Var<bool> Goes = std::forward<Fn>(Condition)();
    B.append("if (!" + Goes.Place + ") break;");
  }
  void endWhile() { close("endWhile"); }
  template <typename C, typename Fn> void whileLoop(C &&Condition, Fn &&Inner) {
    beginWhile(std::forward<C>(Condition));
    std::forward<Fn>(Inner)();
    endWhile();
  }
  /// Leaves the innermost loop.
  void breakLoop() { B.append("break;"); }

  template <EmissionPolicy Policy = EmissionPolicy::Eager, typename T,
            typename I, typename U, typename S, typename Fn = void (*)()>
  auto forLoop(
      Var<T> &Iter, const Var<I> &Init, const Var<U> &Upper, const Var<S> &Step,
      Fn Inner = [] {}) {
    if constexpr (Policy == EmissionPolicy::Eager) {
      beginFor(Iter, Init, Upper, Step);
      Inner();
      endFor();
    } else {
      return ForLoopBuilder<T, Fn>(*this, Iter, Init, Upper, Step,
                                   std::move(Inner));
    }
  }
  template <typename... L> LoopNestBuilder<L...> buildLoopNest(L... Loops) {
    return LoopNestBuilder<L...>(*this, std::move(Loops)...);
  }

  /// Calls a function of the module, or of the program.
  template <typename Sig, typename... V>
  auto call(const std::string &Callee, const V &...Args) {
    using R = typename Signature<Sig>::Result;
    std::string Text = callee(Callee, jit_detail::typeName<R>(),
                              Signature<Sig>::parameters()) +
                       "(";
    const char *Comma = "";
    ((Text += Comma + Args.Place, Comma = ", "), ...);
    Text += ")";
    if constexpr (std::is_void_v<R>) {
      B.append(Text + ";");
    } else {
      Var<R> Result = declVar<R>();
      Result.store(Text);
      return Result;
    }
  }
  template <typename Fn> decltype(auto) callBuiltin(Fn &&Builtin) {
    return std::invoke(std::forward<Fn>(Builtin), *this);
  }

  /// Atomic operations, of relaxed order. They return the old value.
  template <typename P, typename V>
  auto atomicAdd(const Var<P> &Address, const V &Value) {
    return atomic("__atomic_fetch_add", Address, Value);
  }
  template <typename P, typename V>
  auto atomicSub(const Var<P> &Address, const V &Value) {
    return atomic("__atomic_fetch_sub", Address, Value);
  }
  template <typename P, typename V>
  auto atomicMax(const Var<P> &Address, const V &Value) {
    return atomic("__atomic_fetch_max", Address, Value);
  }
  template <typename P, typename V>
  auto atomicMin(const Var<P> &Address, const V &Value) {
    return atomic("__atomic_fetch_min", Address, Value);
  }

  void ret() { B.append("return;"); }
  template <typename T> void ret(const Var<T> &Value) {
    B.append("return " + Value.Place + ";");
  }

  /// Called when a call or launch finds that the module does not compile.
  void onFailure(std::function<void()> Fn) { OnFailure = std::move(Fn); }

  /// Returns the definition as C++.
  std::string text() const { return Head + " {\n" + B.text() + "}\n"; }
  /// Returns the declaration as C++.
  std::string prototype() const { return Head + ";\n"; }

protected:
  friend class Module;
  template <typename... A> friend class KernelHandle;
  template <typename T, typename Fn> friend class ForLoopBuilder;
  inline void fail(const std::string &Text);
  inline std::string callee(const std::string &Callee,
                            const std::string &Result,
                            const std::string &Parameters);
  void close(const char *Name) {
    if (!B.close())
      fail(std::string(Name) + "() without a beginning");
  }
  template <typename P, typename V>
  auto atomic(const char *Function, const Var<P> &Address, const V &Value) {
    static_assert(std::is_pointer_v<remove_cvref_t<P>> &&
                      detail::Operand<V>::IsValid,
                  "atomics: expected a pointer and a number");
    using T = std::remove_pointer_t<remove_cvref_t<P>>;
    Var<T> Result = declVar<T>();
    Result.store(std::string(Function) + "(" + Address.Place + ", (" +
                 detail::typeName<T>() + ")" + detail::Operand<V>::text(Value) +
                 ", __ATOMIC_RELAXED)");
    return Result;
  }

  Module &M;
  std::string Name;
  Body B;
  std::string Head;
  std::function<void()> OnFailure;
  std::atomic<bool> IsReady{false}; ///< It can be called or launched.
};

/// A function with its type.
template <typename R, typename... A> class Func : public FuncBase {
public:
  Func(Module &M, std::string Name, bool IsDevice)
      : FuncBase(M, std::move(Name), IsDevice),
        Args(makeArgs(std::index_sequence_for<A...>())) {}

  /// Returns argument number I.
  template <size_t I> auto &getArg() { return std::get<I>(Args); }
  std::tuple<Var<A>...> getArgs() { return Args; }

  /// Compiles the module if that was not done, and calls the function. Several
  /// threads may do so at a time.
  R operator()(A... Values);

private:
  friend class Module;
  template <typename... K> friend class KernelHandle;
  template <size_t... I>
  std::tuple<Var<A>...> makeArgs(std::index_sequence<I...>) {
    return std::tuple<Var<A>...>(Var<A>(B, "a" + std::to_string(I))...);
  }
  void setHead(const std::string &Attributes, const std::string &Symbol) {
    std::string Parameters;
    int I = 0;
    ((Parameters +=
      (I ? ", " : "") + jit_detail::typeName<A>() + " a" + std::to_string(I),
      ++I),
     ...);
    Head = "extern \"C\" " + Attributes + jit_detail::typeName<R>() + " " +
           Symbol + "(" + Parameters + ")";
  }

  std::tuple<Var<A>...> Args;
  jit_function<R(A...)> Compiled;
  jit_kernel<void(A...)> CompiledKernel;
};

/// A kernel of a module.
template <typename... A> class KernelHandle {
public:
  KernelHandle(Func<void, A...> &F, Module &M) : F(F), M(M) {}
  Func<void, A...> &F;
  FuncBase *operator->() { return &F; }
  inline void setLaunchBounds(int MaxThreads, int MinBlocks = 0);
  /// Compiles the module if that was not done, and launches the kernel. Several
  /// threads may do so at a time.
  [[nodiscard]] jit_result launch(jit_dims Grid, jit_dims Block,
                                  size_t SharedBytes, void *Stream, A... Args);

private:
  Module &M;
};

/// Functions, or kernels and their functions. One thread builds a module; then
/// several can compile it, call its functions and launch its kernels.
class Module {
public:
  /// \param Options  of the compiler.
  explicit Module(jit_target Target = jit_target::host,
                  std::vector<std::string> Options = {})
      : Target(Target), Options(std::move(Options)) {
    this->Options.insert(this->Options.begin(), "-fno-math-errno");
  }
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  template <typename Sig> auto &addFunction(const std::string &Name) {
    return add(Name, isDevice() ? "__device__ " : "",
               static_cast<Sig *>(nullptr));
  }
  template <typename Sig> auto addKernel(const std::string &Name) {
    return addKernel(Name, static_cast<Sig *>(nullptr));
  }

  /// Returns what was built, as C++.
  std::string text() const {
    std::string Prototypes, Definitions;
    for (const auto &F : Functions) {
      Prototypes += F->B.Prototypes + F->prototype();
      Definitions += "\n" + F->text();
    }
    return Prototypes + Definitions;
  }
  /// Prints it.
  void print() const {
    std::printf("%s", text().c_str());
    std::fflush(stdout);
  }
  /// Compiles unless that was done. \returns false on failure.
  bool compile() {
    std::lock_guard<std::mutex> Guard(Lock);
    return compileLocked();
  }
  bool isCompiled() const {
    std::lock_guard<std::mutex> Guard(Lock);
    return bool(Compiled);
  }
  /// Returns the errors; empty if there are none.
  std::string error() const {
    std::lock_guard<std::mutex> Guard(Lock);
    if (!Problem.empty())
      return "error: " + Problem + "\n";
    return Compiled ? Compiled->error() : "";
  }
  /// Returns a function by name, or nothing, with an error, if there is none or
  /// the module does not compile.
  template <typename Sig> jit_function<Sig> function(const std::string &Name) {
    std::lock_guard<std::mutex> Guard(Lock);
    return compileLocked() ? Compiled->function<Sig>(symbolOf(Name))
                           : jit_function<Sig>();
  }
  /// Likewise, a kernel.
  template <typename Sig> jit_kernel<Sig> kernel(const std::string &Name) {
    std::lock_guard<std::mutex> Guard(Lock);
    return compileLocked() ? Compiled->kernel<Sig>(symbolOf(Name))
                           : jit_kernel<Sig>();
  }
  bool isDevice() const { return Target != jit_target::host; }

  // For functions.
  void fail(const std::string &Text) {
    if (Problem.empty())
      Problem = Text;
  }
  bool has(const std::string &Name) const {
    for (const auto &F : Functions)
      if (F->Name == Name)
        return true;
    return false;
  }
  /// Returns the symbol of a function, whose name may be no identifier of C++.
  static std::string symbolOf(const std::string &Name) {
    static constexpr std::string_view Words =
        " alignas alignof and and_eq asm auto bitand bitor bool break case "
        "catch char class compl const constexpr const_cast continue decltype "
        "default delete do double dynamic_cast else enum explicit export "
        "extern false float for friend goto if inline int long main mutable "
        "namespace new noexcept not not_eq nullptr operator or or_eq private "
        "protected public register reinterpret_cast return short signed sizeof "
        "static static_assert static_cast struct switch template this "
        "thread_local throw true try typedef typeid typename union unsigned "
        "using virtual void volatile wchar_t while xor xor_eq ";
    std::string Symbol;
    for (char C : Name)
      Symbol +=
          std::isalnum(static_cast<unsigned char>(C)) || C == '_' ? C : '$';
    return Words.find(" " + Name + " ") == Words.npos ? Symbol : Symbol + "$";
  }

private:
  template <typename R, typename... A> friend class Func;
  template <typename... A> friend class KernelHandle;

  bool compileLocked() {
    if (!Compiled)
      Compiled = std::make_unique<jit_module>(Target, text(), Options);
    return Problem.empty() && Compiled->compile();
  }
  /// Gets a function or kernel from the code unless that was done.
  template <typename C, typename Fn>
  bool prepare(FuncBase &F, C &Result, Fn Get) {
    if (F.IsReady.load(std::memory_order_acquire))
      return true;
    {
      std::lock_guard<std::mutex> Guard(Lock);
      if (!F.IsReady && compileLocked() && (Result = Get(symbolOf(F.Name))))
        F.IsReady.store(true, std::memory_order_release);
    }
    if (!F.IsReady && F.OnFailure)
      F.OnFailure();
    return F.IsReady;
  }

  template <typename R, typename... A>
  Func<R, A...> &add(const std::string &Name, const std::string &Attributes,
                     R (*)(A...)) {
    if (Compiled)
      fail("'" + Name + "' is added after the module was compiled");
    auto F = std::make_unique<Func<R, A...>>(*this, Name, isDevice());
    F->setHead(Attributes, symbolOf(Name));
    Func<R, A...> &Added = *F;
    Functions.push_back(std::move(F));
    return Added;
  }
  template <typename... A>
  KernelHandle<A...> addKernel(const std::string &Name, void (*Type)(A...)) {
    if (!isDevice())
      fail("kernel '" + Name + "' in a module for the host");
    return {add(Name, "__global__ ", Type), *this};
  }

  jit_target Target;
  std::vector<std::string> Options;
  std::deque<std::unique_ptr<FuncBase>> Functions;
  mutable std::mutex Lock; ///< Of the rest.
  std::unique_ptr<jit_module> Compiled;
  std::string Problem;
};

inline void FuncBase::fail(const std::string &Text) { M.fail(Text); }

std::string FuncBase::callee(const std::string &Callee,
                             const std::string &Result,
                             const std::string &Parameters) {
  if (M.has(Callee))
    return Module::symbolOf(Callee);
  std::string Prototype = std::string("extern \"C\" ") +
                          (B.IsDevice ? "__device__ " : "") + Result + " " +
                          Callee + "(" + Parameters + ");\n";
  if (B.Prototypes.find(Prototype) == std::string::npos)
    B.Prototypes += Prototype;
  return Callee;
}

template <typename R, typename... A> R Func<R, A...>::operator()(A... Values) {
  bool Ok = M.prepare(*this, Compiled, [&](const std::string &Symbol) {
    return M.Compiled->template function<R(A...)>(Symbol);
  });
  if constexpr (std::is_void_v<R>) {
    if (Ok)
      Compiled(std::forward<A>(Values)...);
  } else {
    return Ok ? Compiled(std::forward<A>(Values)...) : R();
  }
}

template <typename... A>
void KernelHandle<A...>::setLaunchBounds(int MaxThreads, int MinBlocks) {
  std::string Bounds =
      "__global__ __launch_bounds__(" + std::to_string(MaxThreads) +
      (MinBlocks ? ", " + std::to_string(MinBlocks) : "") + ") ";
  if (M.isCompiled())
    M.fail("launch bounds of '" + F.getName() +
           "' are set after the module was compiled");
  F.setHead(Bounds, Module::symbolOf(F.getName()));
}

template <typename... A>
jit_result KernelHandle<A...>::launch(jit_dims Grid, jit_dims Block,
                                      size_t SharedBytes, void *Stream,
                                      A... Args) {
  bool Ok = M.prepare(F, F.CompiledKernel, [&](const std::string &Symbol) {
    return M.Compiled->template kernel<void(A...)>(Symbol);
  });
  if (!Ok)
    return -1;
  return F.CompiledKernel.launch(Grid, Block, SharedBytes, Stream, Args...);
}

/// A loop that is written with emit(), or by a loop nest.
template <typename T, typename Fn> class [[nodiscard]] ForLoopBuilder {
public:
  using Index = remove_cvref_t<T>;
  template <typename I, typename U, typename S>
  ForLoopBuilder(FuncBase &F, const Var<T> &Iter, const Var<I> &Init,
                 const Var<U> &Upper, const Var<S> &Step, Fn Inner)
      : F(F), Iter(Iter), Init(later(Init)), Upper(later(Upper)),
        Step(later(Step)), Inner(std::move(Inner)) {}

  /// Splits the loop into blocks of \p Size iterations.
  ForLoopBuilder &tile(int Size) {
    if (Hints.Unroll)
      F.fail("an unrolled loop cannot be tiled");
    TileSize = Size;
    return *this;
  }
  ForLoopBuilder &unroll() {
    if (TileSize)
      F.fail("a tiled loop cannot be unrolled");
    Hints.Unroll = true;
    return *this;
  }
  ForLoopBuilder &unroll(int Count) {
    Hints.UnrollCount = Count;
    return unroll();
  }
  void emit() { F.buildLoopNest(std::move(*this)).emit(); }

private:
  template <typename... L> friend class LoopNestBuilder;
  /// Returns an expression for the value that a variable has where the loop is.
  template <typename U> static Var<Index> later(const Var<U> &V) {
    return {*V.B, "(" + detail::typeName<Index>() + ")" + V.Place};
  }
  /// Opens the loop over tiles.
  void openTiles() {
    if (!TileSize)
      return;
    Tile.emplace(F.declVar<Index>());
    Length.emplace(F.declVar<Index>());
    *Length = Step * Index(*TileSize);
    F.beginFor(*Tile, Init, Upper, *Length);
  }
  void open() {
    if (!TileSize)
      return F.beginFor(Iter, Init, Upper, Step, Hints);
    Var<Index> End = min(*Tile + *Length, Upper);
    F.beginFor(Iter, *Tile, End, Step);
  }

  FuncBase &F;
  Var<T> Iter;
  Var<Index> Init, Upper, Step;
  Fn Inner;
  LoopHints Hints;
  std::optional<int> TileSize;
  std::optional<Var<Index>> Tile, Length;
};

/// Loops in loops. The loops over tiles are outside.
template <typename... L> class LoopNestBuilder {
public:
  LoopNestBuilder(FuncBase &F, L... Loops) : F(F), Loops(std::move(Loops)...) {}
  LoopNestBuilder &tile(int Size) {
    std::apply([&](auto &...Each) { (Each.tile(Size), ...); }, Loops);
    return *this;
  }
  void emit() {
    std::apply(
        [&](auto &...Each) {
          (Each.openTiles(), ...);
          ((Each.open(), Each.Inner()), ...);
          int Opened = 0;
          ((Opened += Each.TileSize ? 2 : 1), ...);
          while (Opened--)
            F.endFor();
        },
        Loops);
  }

private:
  FuncBase &F;
  std::tuple<L...> Loops;
};

namespace detail {
/// A module of lookup().
struct KnownModule {
  std::mutex Lock; ///< Held while it is built.
  std::unique_ptr<Module> M;
};

inline KnownModule &findKnown(const std::string &Key) {
  // Never destroyed, because programs may use modules while they exit.
  static auto &Lock = *new std::mutex;
  static auto &Known = *new std::map<std::string, KnownModule>;
  std::lock_guard<std::mutex> Guard(Lock);
  return Known[Key];
}
} // namespace detail

/// Returns the module for a key and a target. \p Build builds it the first time
/// that the process asks for it: void(Module &). Other threads that ask for the
/// same wait until it is built; \p Build may look other keys up. If it throws,
/// the next call builds.
template <typename Fn>
Module &lookup(const std::string &Key, jit_target Target, Fn &&Build) {
  detail::KnownModule &Known =
      detail::findKnown(std::to_string(int(Target)) + Key);
  std::lock_guard<std::mutex> Guard(Known.Lock);
  if (!Known.M) {
    auto M = std::make_unique<Module>(Target);
    std::forward<Fn>(Build)(*M);
    Known.M = std::move(M);
  }
  return *Known.M;
}

namespace builtins {
namespace gpu {
#define MNEME_BUILTIN(Name, Expression)                                        \
  inline Var<unsigned> Name(FuncBase &F) {                                     \
    Var<unsigned> Result = F.declVar<unsigned>();                              \
    Result.store(#Expression);                                                 \
    return Result;                                                             \
  }
MNEME_BUILTIN(getThreadIdX, threadIdx.x)
MNEME_BUILTIN(getThreadIdY, threadIdx.y)
MNEME_BUILTIN(getThreadIdZ, threadIdx.z)
MNEME_BUILTIN(getBlockIdX, blockIdx.x)
MNEME_BUILTIN(getBlockIdY, blockIdx.y)
MNEME_BUILTIN(getBlockIdZ, blockIdx.z)
MNEME_BUILTIN(getBlockDimX, blockDim.x)
MNEME_BUILTIN(getBlockDimY, blockDim.y)
MNEME_BUILTIN(getBlockDimZ, blockDim.z)
MNEME_BUILTIN(getGridDimX, gridDim.x)
MNEME_BUILTIN(getGridDimY, gridDim.y)
MNEME_BUILTIN(getGridDimZ, gridDim.z)
#undef MNEME_BUILTIN

inline void syncThreads(FuncBase &F) { F.body().append("__syncthreads();"); }
} // namespace gpu
} // namespace builtins

} // namespace builder
} // namespace mneme

#endif // MNEME_JIT_BUILDER_H
