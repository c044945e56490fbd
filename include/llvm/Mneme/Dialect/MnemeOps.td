//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of the dialect.
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DIALECT_MNEMEOPS_TD
#define LLVM_MNEME_DIALECT_MNEMEOPS_TD

include "llvm/Mneme/Dialect/MnemeBase.td"
include "llvm/Mneme/Dialect/MnemeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Mneme_Op<string mnemonic, list<Trait> traits = []>
    : Op<Mneme_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// The study
//===----------------------------------------------------------------------===//

def Mneme_StudyOp
    : Mneme_Op<"study", [IsolatedFromAbove, NoRegionArguments, NoTerminator,
                         SingleBlock, Symbol]> {
  let summary = "a study";
  let description = [{
    Everything that one search is about. Its region has parameters and what is
    computed from them, exactly one `mneme.config`, and at least one
    `mneme.objective`. Beside the operations of this dialect it may have those
    of `arith` that the tuner computes with: `constant`, `addi`, `subi`,
    `muli`, `divsi`, `remsi`, `ceildivsi`, `minsi`, `maxsi`, `andi`, `ori` and
    `xori` of `i1`, `cmpi` (signed), `addf`, `subf`, `mulf`, `divf`, `negf`,
    `minimumf`, `maximumf`, `cmpf`, `select`, `extui` of `i1`,
    `fptosi`, `sitofp`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region AnyRegion:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Mneme_RecordedOp
    : Mneme_Op<"recorded", [
        HasParent<"StudyOp">, Pure,
        DeclareOpInterfaceMethods<InferTypeOpInterface>,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a fact of the recorded launch";
  let description = [{
    What the launch was that is tuned: `block.x`, `threads`, `arch`, ... Its
    type follows from its name.

    ```mlir
    %threads = mneme.recorded "threads"
    ```
  }];
  let arguments = (ins StrAttr:$fact);
  let results = (outs Mneme_Value:$result);
  let assemblyFormat = "$fact attr-dict";
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Bounds, values and defaults are either constants (attributes), or values
/// that depend only on constants and recorded facts (operands).
class Mneme_ParameterOp<string mnemonic, list<Trait> traits = []>
    : Mneme_Op<mnemonic, traits # [
        HasParent<"StudyOp">, AttrSizedOperandSegments, ParameterOpInterface,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = "::mlir::Attribute getFallback();";
}

def Mneme_IntOp : Mneme_ParameterOp<"int"> {
  let summary = "an integer parameter";
  let description = [{
    An integer of a range, both ends included, in steps of 1 or what `step`
    says. With `log` its values are the low end, which is at least 1, and that
    times 2, 4, 8 and so on. Bounds are literals, or values that depend on
    recorded facts and constants alone; the same for the value to start with,
    `default`, which is otherwise the recorded one, if the parameter goes
    straight into a field of the configuration, or the first.

    `when` makes a parameter conditional: it exists where that holds. Elsewhere
    it has its default, or else its first value, and the search does not vary
    it.

    `option` makes it an option of LLVM in the compilation, of the parameter's
    name. Where it does not exist the option is not set. All kinds of parameters
    but pipelines can be options.

    ```mlir
    %x = mneme.int "x" in [32 to 1024 step 32] default 256
    %y = mneme.int "y" in [1 to %limit log] when %two_dimensional
    %unroll = mneme.int option "unroll-threshold" in [50 to 400 step 50]
    ```
  }];
  let arguments = (ins StrAttr:$param_name, UnitAttr:$option,
    Optional<I64>:$low, OptionalAttr<I64Attr>:$low_constant,
    Optional<I64>:$high, OptionalAttr<I64Attr>:$high_constant,
    Optional<I64>:$step, OptionalAttr<I64Attr>:$step_constant,
    UnitAttr:$log,
    Optional<I64>:$default_value, OptionalAttr<I64Attr>:$default_constant,
    Optional<I1>:$when);
  let results = (outs I64:$result);
  let assemblyFormat = [{
    (`option` $option^)? $param_name `in` ``
    custom<IntRange>($low, $low_constant, $high, $high_constant,
                     $step, $step_constant, $log)
    `` custom<Default>($default_value, $default_constant)
    (`when` $when^)? attr-dict
  }];
}

def Mneme_RealOp : Mneme_ParameterOp<"real"> {
  let summary = "a real parameter";
  let description = [{
    Any number of a range; with `log` even on a logarithmic scale, and then the
    low end is above 0.

    ```mlir
    %factor = mneme.real "factor" in [0.5 to 2.0 log] default 1.0
    ```
  }];
  let arguments = (ins StrAttr:$param_name, UnitAttr:$option,
    Optional<F64>:$low, OptionalAttr<F64Attr>:$low_constant,
    Optional<F64>:$high, OptionalAttr<F64Attr>:$high_constant,
    UnitAttr:$log,
    Optional<F64>:$default_value, OptionalAttr<F64Attr>:$default_constant,
    Optional<I1>:$when);
  let results = (outs F64:$result);
  let assemblyFormat = [{
    (`option` $option^)? $param_name `in` ``
    custom<RealRange>($low, $low_constant, $high, $high_constant, $log)
    `` custom<Default>($default_value, $default_constant)
    (`when` $when^)? attr-dict
  }];
}

def Mneme_BoolOp : Mneme_ParameterOp<"bool"> {
  let summary = "a parameter that is true or false";
  let description = [{
    ```mlir
    %specialize = mneme.bool "specialize" default true
    ```
  }];
  let arguments = (ins StrAttr:$param_name, UnitAttr:$option,
    Optional<I1>:$default_value, OptionalAttr<BoolAttr>:$default_constant,
    Optional<I1>:$when);
  let results = (outs I1:$result);
  let assemblyFormat = [{
    (`option` $option^)? $param_name
    `` custom<Default>($default_value, $default_constant)
    (`when` $when^)? attr-dict
  }];
}

def Mneme_ChoiceOp : Mneme_ParameterOp<"choice"> {
  let summary = "a parameter with listed values";
  let description = [{
    One of the values listed, which have no order and are of one type: that of
    the literals, or else what a colon says. Equal values count once.

    ```mlir
    %registers = mneme.choice "registers" in {0, 32, 64, 128}
    %size = mneme.choice "size" in {%recorded, %half, %double} : i64
    ```
  }];
  let arguments = (ins StrAttr:$param_name, UnitAttr:$option,
    Variadic<Mneme_Value>:$values, ArrayAttr:$constants,
    Optional<Mneme_Value>:$default_value,
    OptionalAttr<AnyAttr>:$default_constant,
    Optional<I1>:$when);
  let results = (outs Mneme_Value:$result);
  let hasCustomAssemblyFormat = 1;
}

def Mneme_PipelineOp : Mneme_ParameterOp<"pipeline"> {
  let summary = "a pass pipeline out of a space of pipelines";
  let description = [{
    A pipeline as LLVM parses it, chosen out of a space (docs/PipelineSpaces).
    A long text may be cut in several, which are joined.

    ```mlir
    %passes = mneme.pipeline "passes" in "module(function({sroa|mem2reg}),"
                                         "default<{O1|O2|O3}>)"
    ```
  }];
  let arguments = (ins StrAttr:$param_name, StrAttr:$space,
    Optional<Mneme_Text>:$default_value,
    OptionalAttr<StrAttr>:$default_constant,
    Optional<I1>:$when);
  let results = (outs Mneme_Text:$result);
  let assemblyFormat = [{
    $param_name `in` `` custom<Space>($space)
    `` custom<Default>($default_value, $default_constant)
    (`when` $when^)? attr-dict
  }];
  let extraClassDeclaration = [{
    ::mlir::Attribute getFallback();
    bool getOption() { return false; }
  }];
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

def Mneme_TextOp
    : Mneme_Op<"text", [ConstantLike, Pure,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a constant text";
  let arguments = (ins StrAttr:$value);
  let results = (outs Mneme_Text:$result);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

class Mneme_TextCompareOp<string mnemonic> : Mneme_Op<mnemonic, [Pure]> {
  let arguments = (ins Mneme_Text:$lhs, Mneme_Text:$rhs);
  let results = (outs I1:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
  let hasFolder = 1;
}

def Mneme_TextEqOp : Mneme_TextCompareOp<"text_eq"> {
  let summary = "are two texts equal?";
}

def Mneme_TextNeOp : Mneme_TextCompareOp<"text_ne"> {
  let summary = "are two texts different?";
}

class Mneme_UnaryOp<string mnemonic> : Mneme_Op<mnemonic, [Pure]> {
  let arguments = (ins I64:$operand);
  let results = (outs I64:$result);
  let assemblyFormat = "$operand attr-dict";
  let hasFolder = 1;
}

def Mneme_Pow2Op : Mneme_UnaryOp<"pow2"> {
  let summary = "2 to the power of an integer from 0 to 62";
}

def Mneme_Log2Op : Mneme_UnaryOp<"log2"> {
  let summary = "the logarithm of a positive integer, rounded down";
}

def Mneme_DerivedOp
    : Mneme_Op<"derived", [HasParent<"StudyOp">, AllTypesMatch<["value", "result"]>,
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a name for a value";
  let description = [{
    Gives a computed value a name in journals and reports. A value that is only
    used needs none.

    ```mlir
    %blocks = mneme.derived "blocks" = %0 : i64
    ```
  }];
  let arguments = (ins StrAttr:$value_name, Mneme_Value:$value);
  let results = (outs Mneme_Value:$result);
  let assemblyFormat = "$value_name `=` $value attr-dict `:` type($value)";
}

//===----------------------------------------------------------------------===//
// Constraints and objectives
//===----------------------------------------------------------------------===//

def Mneme_RequireOp : Mneme_Op<"require", [HasParent<"StudyOp">]> {
  let summary = "what must hold in every configuration";
  let description = [{
    Nothing for which the condition does not hold is proposed. The text says
    why.

    ```mlir
    mneme.require %fits, "a block has 1024 threads at most"
    ```
  }];
  let arguments = (ins I1:$condition, OptionalAttr<StrAttr>:$message);
  let assemblyFormat = "$condition (`,` $message^)? attr-dict";
  let hasCanonicalizeMethod = 1;
}

def Mneme_ConfigOp
    : Mneme_Op<"config", [HasParent<"StudyOp">, AttrSizedOperandSegments]> {
  let summary = "what a configuration sets";
  let description = [{
    Fields of the compilation and of the launch, and options of LLVM, which
    need a type. What is not set is as recorded. Values are literals too. With
    `when` a field is set only where that holds.

    ```mlir
    mneme.config {
      compile {
        passes = %passes
        codegen_opt = 3
        maxnreg = %registers when %limit_registers
      }
      launch {
        block.x = %block
        grid.x = %grid
      }
      llvm {
        "unroll-threshold" = %threshold : i64
      }
    }
    ```

    In the generic form keys of LLVM's options begin with `llvm.`, a constant
    that is `unit` stands for the next value, and fields that are `conditional`
    have a condition.
  }];
  let arguments = (ins StrArrayAttr:$keys, ArrayAttr:$constants,
                       DenseBoolArrayAttr:$conditional,
                       Variadic<Mneme_Value>:$values,
                       Variadic<I1>:$conditions);
  let extraClassDeclaration = [{
    struct Field {
      ::mlir::StringAttr Key;
      ::mlir::Attribute Constant; ///< Unit if there is a value.
      ::mlir::Value Value;        ///< May be null.
      ::mlir::Value When;         ///< May be null.
    };
    ::llvm::SmallVector<Field> getFields();
    void setFields(::llvm::ArrayRef<Field> Fields);
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Mneme_ObjectiveOp : Mneme_Op<"objective", [HasParent<"StudyOp">]> {
  let summary = "what is optimized, and which way";
  let description = [{
    ```mlir
    mneme.objective minimize "time"
    ```
  }];
  let arguments = (ins Mneme_Direction:$direction, StrAttr:$metric);
  let assemblyFormat = "$direction $metric attr-dict";
  let hasVerifier = 1;
}

#endif // LLVM_MNEME_DIALECT_MNEMEOPS_TD
