//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface of parameters.
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DIALECT_MNEMEINTERFACES_TD
#define LLVM_MNEME_DIALECT_MNEMEINTERFACES_TD

include "mlir/IR/OpBase.td"

def ParameterOpInterface : OpInterface<"ParameterOpInterface"> {
  let cppNamespace = "::mlir::mneme";
  let description = [{
    A decision that the tuner takes: one value in each configuration.
  }];
  let methods = [
    InterfaceMethod<"Its name in journals and reports.",
                    "::llvm::StringRef", "getParamName">,
    InterfaceMethod<"Does it set the option of LLVM that has its name?",
                    "bool", "getOption">,
    InterfaceMethod<"The condition under which it exists; may be null.",
                    "::mlir::Value", "getWhen">,
    InterfaceMethod<"The condition, to be changed.",
                    "::mlir::MutableOperandRange", "getWhenMutable">,
    InterfaceMethod<"The value to start with, if it is no constant.",
                    "::mlir::Value", "getDefaultValue">,
    InterfaceMethod<"The value to start with, if it is a constant.",
                    "::mlir::Attribute", "getDefaultConstantAttr">,
    InterfaceMethod<[{
      What it is where it does not exist: its default, or else its first
      value. Null if that is no constant.
    }], "::mlir::Attribute", "getFallback">,
  ];
}

#endif // LLVM_MNEME_DIALECT_MNEMEINTERFACES_TD
