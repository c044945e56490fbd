//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialect, its type and its enumeration.
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DIALECT_MNEMEBASE_TD
#define LLVM_MNEME_DIALECT_MNEMEBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Mneme_Dialect : Dialect {
  let name = "mneme";
  let cppNamespace = "::mlir::mneme";
  let summary = "studies: what a tuner searches, where, and for what";
  let description = [{
    A study declares parameters, computes values from them and from what was
    recorded with operations of `arith`, demands what must hold, and says what
    of all this a configuration sets:

    ```mlir
    mneme.study @blocks {
      %threads = mneme.recorded "threads.x"
      %block = mneme.int "block" in [32 to 1024 step 32] default 256
      %grid = arith.ceildivsi %threads, %block : i64
      %passes = mneme.pipeline "passes" in "default<{O2|O3}>"
      mneme.config {
        compile {
          passes = %passes
        }
        launch {
          block.x = %block
          grid.x = %grid
        }
      }
      mneme.objective minimize "time"
    }
    ```

    Values are `i64`, `f64`, `i1` and `!mneme.text`. Integers are signed.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasCanonicalizer = 1;
}

def Mneme_Text : TypeDef<Mneme_Dialect, "Text"> {
  let mnemonic = "text";
  let summary = "a text: a pipeline, a processor, ...";
  let description = "A text: a pipeline, the name of a processor, options.";
}

def Mneme_Value : AnyTypeOf<[I1, I64, F64, Mneme_Text],
                            "a bool, an integer, a real or a text">;

def Mneme_Minimize : I32EnumAttrCase<"Minimize", 0, "minimize">;
def Mneme_Maximize : I32EnumAttrCase<"Maximize", 1, "maximize">;
def Mneme_Direction
    : I32EnumAttr<"Direction", "whether less or more is better",
                  [Mneme_Minimize, Mneme_Maximize]> {
  let cppNamespace = "::mlir::mneme";
}

#endif // LLVM_MNEME_DIALECT_MNEMEBASE_TD
