//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The dialect and the syntax of its operations.
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Dialect/Mneme.h"
#include "Context.h"
#include "Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include "llvm/Mneme/Study/Recorded.h"
#include "llvm/Mneme/Study/Study.h"
#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Mneme/Support/Words.h"

using namespace mlir;
using namespace mlir::mneme;
using llvm::mneme::PipelineSpace;
using llvm::mneme::TextError;

//===----------------------------------------------------------------------===//
// Literals and values
//===----------------------------------------------------------------------===//

using UnresolvedOperand = OpAsmParser::UnresolvedOperand;

static ParseResult parseConstant(OpAsmParser &P, IntegerAttr &Constant) {
  SMLoc Loc = P.getCurrentLocation();
  int64_t Value;
  OptionalParseResult Result = P.parseOptionalInteger(Value);
  if (!Result.has_value())
    return P.emitError(Loc, "expected an integer or a value");
  Constant = P.getBuilder().getI64IntegerAttr(Value);
  return *Result;
}

static ParseResult parseConstant(OpAsmParser &P, FloatAttr &Constant) {
  double Value;
  if (P.parseFloat(Value))
    return failure();
  Constant = P.getBuilder().getF64FloatAttr(Value);
  return success();
}

static ParseResult parseConstant(OpAsmParser &P, BoolAttr &Constant) {
  SMLoc Loc = P.getCurrentLocation();
  StringRef Word;
  if (P.parseOptionalKeyword(&Word, {"true", "false"}))
    return P.emitError(Loc, "expected 'true', 'false' or a value");
  Constant = P.getBuilder().getBoolAttr(Word == "true");
  return success();
}

static ParseResult parseConstant(OpAsmParser &P, StringAttr &Constant) {
  std::string Text;
  if (P.parseString(&Text))
    return failure();
  Constant = P.getBuilder().getStringAttr(Text);
  return success();
}

/// Parses a literal of any value type.
static ParseResult parseConstant(OpAsmParser &P, Attribute &Constant) {
  SMLoc Loc = P.getCurrentLocation();
  OptionalParseResult Result = P.parseOptionalAttribute(Constant);
  if (Result.has_value() && failed(*Result))
    return failure();
  if (!Result.has_value() || !getValueType(Constant))
    return P.emitError(
        Loc, "expected a number, 'true', 'false', a text or a value");
  return success();
}

static ParseResult parseConstant(OpAsmParser &P, ValueType T,
                                 Attribute &Constant) {
  auto Parse = [&](auto Typed) {
    if (parseConstant(P, Typed))
      return failure();
    Constant = Typed;
    return success();
  };
  switch (T) {
  case ValueType::Bool:
    return Parse(BoolAttr());
  case ValueType::Int:
    return Parse(IntegerAttr());
  case ValueType::Real:
    return Parse(FloatAttr());
  case ValueType::Text:
    return Parse(StringAttr());
  }
  llvm_unreachable("a type of a value");
}

template <typename AttrT>
static ParseResult parseOperandOr(OpAsmParser &P,
                                  std::optional<UnresolvedOperand> &Value,
                                  AttrT &Constant) {
  UnresolvedOperand Operand;
  OptionalParseResult Result = P.parseOptionalOperand(Operand);
  if (!Result.has_value())
    return parseConstant(P, Constant);
  Value = Operand;
  return *Result;
}

/// Prints reals in their shortest form: 0.5, not 5.000000e-01.
static void printConstant(OpAsmPrinter &P, Attribute Constant) {
  auto Real = dyn_cast<FloatAttr>(Constant);
  if (!Real || !Real.getValue().isFinite()) {
    P.printAttributeWithoutType(Constant);
    return;
  }
  const llvm::APFloat Value = Real.getValue();
  SmallString<32> Digits;
  unsigned Precision = 1;
  do {
    Digits.clear();
    Value.toString(Digits, Precision++);
  } while (llvm::APFloat(Value.getSemantics(), Digits) != Value);
  // A decimal point distinguishes a real from an integer.
  if (!StringRef(Digits).contains('.'))
    Digits.insert(Digits.begin() + std::min(Digits.find('E'), Digits.size()),
                  {'.', '0'});
  P << Digits;
}

static void printOperandOr(OpAsmPrinter &P, Value Operand,
                           Attribute Constant) {
  if (Operand)
    P << Operand;
  else
    printConstant(P, Constant);
}

//===----------------------------------------------------------------------===//
// Directives of the declarative syntax
//===----------------------------------------------------------------------===//

template <typename AttrT>
static ParseResult parseDefault(OpAsmParser &P,
                                std::optional<UnresolvedOperand> &Value,
                                AttrT &Constant) {
  if (P.parseOptionalKeyword("default"))
    return success();
  return parseOperandOr(P, Value, Constant);
}

static void printDefault(OpAsmPrinter &P, Operation *, Value Default,
                         Attribute Constant) {
  if (!Default && !Constant)
    return;
  P << " default ";
  printOperandOr(P, Default, Constant);
}

static ParseResult parseIntRange(OpAsmParser &P,
                                 std::optional<UnresolvedOperand> &Low,
                                 IntegerAttr &LowConstant,
                                 std::optional<UnresolvedOperand> &High,
                                 IntegerAttr &HighConstant,
                                 std::optional<UnresolvedOperand> &Step,
                                 IntegerAttr &StepConstant, UnitAttr &Log) {
  if (P.parseLSquare() || parseOperandOr(P, Low, LowConstant) ||
      P.parseKeyword("to") || parseOperandOr(P, High, HighConstant))
    return failure();
  if (succeeded(P.parseOptionalKeyword("step")) &&
      parseOperandOr(P, Step, StepConstant))
    return failure();
  if (succeeded(P.parseOptionalKeyword("log")))
    Log = P.getBuilder().getUnitAttr();
  return P.parseRSquare();
}

static void printIntRange(OpAsmPrinter &P, Operation *, Value Low,
                          Attribute LowConstant, Value High,
                          Attribute HighConstant, Value Step,
                          Attribute StepConstant, UnitAttr Log) {
  P << " [";
  printOperandOr(P, Low, LowConstant);
  P << " to ";
  printOperandOr(P, High, HighConstant);
  if (Step || StepConstant) {
    P << " step ";
    printOperandOr(P, Step, StepConstant);
  }
  P << (Log ? " log]" : "]");
}

static ParseResult parseRealRange(OpAsmParser &P,
                                  std::optional<UnresolvedOperand> &Low,
                                  FloatAttr &LowConstant,
                                  std::optional<UnresolvedOperand> &High,
                                  FloatAttr &HighConstant, UnitAttr &Log) {
  if (P.parseLSquare() || parseOperandOr(P, Low, LowConstant) ||
      P.parseKeyword("to") || parseOperandOr(P, High, HighConstant))
    return failure();
  if (succeeded(P.parseOptionalKeyword("log")))
    Log = P.getBuilder().getUnitAttr();
  return P.parseRSquare();
}

static void printRealRange(OpAsmPrinter &P, Operation *Op, Value Low,
                           Attribute LowConstant, Value High,
                           Attribute HighConstant, UnitAttr Log) {
  printIntRange(P, Op, Low, LowConstant, High, HighConstant, Value(),
                Attribute(), Log);
}

namespace {
/// A string that is written as several literals in the source.
class SplitText {
  struct Piece {
    SMLoc Quote;
    size_t Offset; ///< Offset in Text.
    size_t Size;
  };
  SmallVector<Piece> Pieces;

public:
  std::string Text;

  ParseResult parse(OpAsmParser &P) {
    std::string Next;
    SMLoc Loc = P.getCurrentLocation();
    if (P.parseString(&Next))
      return failure();
    do {
      Pieces.push_back({Loc, Text.size(), Next.size()});
      Text += Next;
      Loc = P.getCurrentLocation();
    } while (succeeded(P.parseOptionalString(&Next)));
    return success();
  }

  /// Returns the source location of a line and column of the text.
  SMLoc locate(unsigned Line, unsigned Column) const {
    size_t Offset = 0;
    while (--Line)
      Offset = Text.find('\n', Offset) + 1;
    Offset += Column - 1;
    const Piece *At = Pieces.begin();
    while (At + 1 != Pieces.end() && At[1].Offset <= Offset)
      ++At;
    // Escape sequences shift the columns.
    const char *Source = At->Quote.getPointer() + 1;
    StringRef Before = StringRef(Text).slice(At->Offset, Offset);
    if (StringRef(Source, Before.size()) != Before)
      return At->Quote;
    return SMLoc::getFromPointer(Source + Before.size());
  }
};
} // namespace

static ParseResult parseSpace(OpAsmParser &P, StringAttr &Space) {
  SplitText Source;
  if (Source.parse(P))
    return failure();
  Space = P.getBuilder().getStringAttr(Source.Text);
  llvm::Expected<PipelineSpace> Parsed = PipelineSpace::parse(Source.Text);
  if (Parsed)
    return success();
  handleAllErrors(Parsed.takeError(), [&](const TextError &E) {
    P.emitError(Source.locate(E.Line, E.Column)) << E.Message;
  });
  return failure();
}

/// Splits a pipeline into pieces of about 64 characters, each ending at the end
/// of an element.
static SmallVector<StringRef> splitSpace(StringRef Space) {
  constexpr size_t Width = 64;
  SmallVector<StringRef> Pieces;
  while (Space.size() > Width) {
    size_t Cut = Space.find_last_of(",|", Width - 1);
    if (Cut == StringRef::npos)
      Cut = Space.find_first_of(",|", Width);
    if (Cut == StringRef::npos)
      break;
    Pieces.push_back(Space.take_front(Cut + 1));
    Space = Space.drop_front(Cut + 1);
  }
  if (!Space.empty() || Pieces.empty())
    Pieces.push_back(Space);
  return Pieces;
}

static void printSpace(OpAsmPrinter &P, Operation *, StringAttr Space) {
  SmallVector<StringRef> Pieces = splitSpace(Space.getValue());
  if (Pieces.size() == 1) {
    P << ' ' << Space;
    return;
  }
  P.increaseIndent();
  P.increaseIndent();
  for (StringRef Piece : Pieces) {
    P.printNewline();
    P.printString(Piece);
  }
  P.decreaseIndent();
  P.decreaseIndent();
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Parses a literal, or an operand, for which the constant is a unit attribute.
static ParseResult parseMixed(OpAsmParser &P, Attribute &Constant,
                              SmallVectorImpl<UnresolvedOperand> &Operands,
                              std::optional<ValueType> T = std::nullopt) {
  UnresolvedOperand Operand;
  OptionalParseResult Result = P.parseOptionalOperand(Operand);
  if (!Result.has_value())
    return T ? parseConstant(P, *T, Constant) : parseConstant(P, Constant);
  Operands.push_back(Operand);
  Constant = P.getBuilder().getUnitAttr();
  return *Result;
}

ParseResult ChoiceOp::parse(OpAsmParser &P, OperationState &State) {
  Properties &Prop = State.getOrAddProperties<Properties>();
  Builder &B = P.getBuilder();
  if (succeeded(P.parseOptionalKeyword("option")))
    Prop.setOption(B.getUnitAttr());
  StringAttr Name;
  if (parseConstant(P, Name) || P.parseKeyword("in"))
    return failure();
  Prop.setParamName(Name);

  SmallVector<UnresolvedOperand> Values, Defaults, Whens;
  SmallVector<Attribute> Constants;
  if (P.parseCommaSeparatedList(OpAsmParser::Delimiter::Braces, [&] {
        return parseMixed(P, Constants.emplace_back(), Values);
      }))
    return failure();
  Prop.setConstants(B.getArrayAttr(Constants));

  Type T;
  SMLoc TypeLoc = P.getCurrentLocation();
  const Attribute *Typed =
      llvm::find_if(Constants, [](Attribute A) { return !isa<UnitAttr>(A); });
  if (Typed != Constants.end())
    T = mlir::mneme::getType(P.getContext(), *getValueType(*Typed));
  else if (P.parseColonType(T))
    return failure();
  std::optional<ValueType> VT = getValueType(T);
  if (!VT)
    return P.emitError(TypeLoc) << "values of " << T << " cannot be chosen";

  if (succeeded(P.parseOptionalKeyword("default"))) {
    Attribute Default;
    if (parseMixed(P, Default, Defaults, *VT))
      return failure();
    if (!isa<UnitAttr>(Default))
      Prop.setDefaultConstant(Default);
  }
  if (succeeded(P.parseOptionalKeyword("when")) &&
      P.parseOperand(Whens.emplace_back()))
    return failure();
  if (P.parseOptionalAttrDict(State.attributes) ||
      P.resolveOperands(Values, T, State.operands) ||
      P.resolveOperands(Defaults, T, State.operands) ||
      P.resolveOperands(Whens, B.getI1Type(), State.operands))
    return failure();
  Prop.setOperandSegmentSizes({static_cast<int32_t>(Values.size()),
                               static_cast<int32_t>(Defaults.size()),
                               static_cast<int32_t>(Whens.size())});
  State.addTypes(T);
  return success();
}

void ChoiceOp::print(OpAsmPrinter &P) {
  if (getOption())
    P << " option";
  P << ' ' << getParamNameAttr() << " in {";
  auto Value = getValues().begin();
  llvm::interleaveComma(getConstants(), P, [&](Attribute Constant) {
    if (isa<UnitAttr>(Constant))
      P << *Value++;
    else
      printConstant(P, Constant);
  });
  P << '}';
  if (llvm::all_of(getConstants(), [](Attribute A) { return isa<UnitAttr>(A); }))
    P << " : " << getType();
  printDefault(P, *this, getDefaultValue(), getDefaultConstantAttr());
  if (getWhen())
    P << " when " << getWhen();
  P.printOptionalAttrDict(llvm::to_vector((*this)->getDiscardableAttrs()));
}

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

namespace {
/// Groups of fields, in the order in which they are printed.
enum class Group { Compile, Launch, Option, Macro };
} // namespace
static constexpr StringRef GroupNames[] = {"compile", "launch", "llvm",
                                           "define"};
/// Of the keys; empty for groups without names.
static constexpr StringRef GroupPrefixes[] = {
    "", "", llvm::mneme::LLVMKeyPrefix, llvm::mneme::DefineKeyPrefix};

static Group getGroup(StringRef Key) {
  if (Key.starts_with(llvm::mneme::LLVMKeyPrefix))
    return Group::Option;
  if (Key.starts_with(llvm::mneme::DefineKeyPrefix))
    return Group::Macro;
  return llvm::mneme::isLaunchField(Key) ? Group::Launch : Group::Compile;
}

namespace {
class ConfigParser {
  OpAsmParser &P;
  OperationState &State;
  llvm::StringSet<> Seen;
  SmallVector<Attribute> Keys, Constants;
  SmallVector<bool> Conditional;
  SmallVector<Value> Conditions;
  int32_t NumValues = 0;

public:
  ConfigParser(OpAsmParser &P, OperationState &State) : P(P), State(State) {}
  ParseResult parse();

private:
  ParseResult parseGroup();
  ParseResult parseKey(Group G, std::string &Key, std::optional<ValueType> &T);
  ParseResult parseField(Group G);
};
} // namespace

ParseResult ConfigParser::parseKey(Group G, std::string &Key,
                                   std::optional<ValueType> &T) {
  SMLoc Loc = P.getCurrentLocation();
  if (StringRef Prefix = GroupPrefixes[static_cast<size_t>(G)];
      !Prefix.empty()) {
    if (P.parseString(&Key))
      return failure();
    Key = Prefix.str() + Key;
  } else {
    StringRef Word;
    if (P.parseKeyword(&Word))
      return failure();
    Key = Word.str();
    llvm::Expected<std::optional<ValueType>> FieldType =
        llvm::mneme::getFieldType(Key);
    if (!FieldType)
      return P.emitError(Loc) << llvm::toString(FieldType.takeError());
    if (getGroup(Key) != G)
      return P.emitError(Loc)
             << "'" << Key << "' is a field of '"
             << GroupNames[static_cast<int>(getGroup(Key))] << "'";
    T = *FieldType;
  }
  if (!Seen.insert(Key).second)
    return P.emitError(Loc) << "'" << Key << "' is set twice";
  return success();
}

ParseResult ConfigParser::parseField(Group G) {
  std::string Key;
  std::optional<ValueType> T;
  SmallVector<UnresolvedOperand, 1> Operands;
  if (parseKey(G, Key, T) || P.parseEqual() ||
      parseMixed(P, Constants.emplace_back(), Operands, T))
    return failure();
  Keys.push_back(P.getBuilder().getStringAttr(Key));
  if (!Operands.empty()) {
    Type OperandType;
    if (T)
      OperandType = getType(P.getContext(), *T);
    else if (P.parseColonType(OperandType))
      return failure();
    if (P.resolveOperands(Operands, OperandType, State.operands))
      return failure();
    ++NumValues;
  }
  Conditional.push_back(succeeded(P.parseOptionalKeyword("when")));
  UnresolvedOperand When;
  if (!Conditional.back())
    return success();
  return failure(P.parseOperand(When) ||
                 P.resolveOperand(When, P.getBuilder().getI1Type(), Conditions));
}

ParseResult ConfigParser::parseGroup() {
  SMLoc Loc = P.getCurrentLocation();
  StringRef Word;
  if (P.parseKeyword(&Word))
    return failure();
  const StringRef *Name = llvm::find(GroupNames, Word);
  if (Name == std::end(GroupNames))
    return P.emitError(Loc) << "expected 'compile', 'launch' or 'llvm', not '"
                            << Word << "'";
  if (P.parseLBrace())
    return failure();
  while (failed(P.parseOptionalRBrace()))
    if (parseField(static_cast<Group>(Name - std::begin(GroupNames))))
      return failure();
  return success();
}

ParseResult ConfigParser::parse() {
  if (P.parseLBrace())
    return failure();
  while (failed(P.parseOptionalRBrace()))
    if (parseGroup())
      return failure();
  auto &Prop = State.getOrAddProperties<ConfigOp::Properties>();
  Prop.setKeys(P.getBuilder().getArrayAttr(Keys));
  Prop.setConstants(P.getBuilder().getArrayAttr(Constants));
  Prop.setConditional(P.getBuilder().getDenseBoolArrayAttr(Conditional));
  Prop.setOperandSegmentSizes(
      {NumValues, static_cast<int32_t>(Conditions.size())});
  State.addOperands(Conditions);
  return P.parseOptionalAttrDict(State.attributes);
}

ParseResult ConfigOp::parse(OpAsmParser &P, OperationState &State) {
  return ConfigParser(P, State).parse();
}

static void printField(OpAsmPrinter &P, const ConfigOp::Field &F) {
  StringRef Key = F.Key.getValue();
  bool IsOption = !llvm::mneme::getKeyPrefix(Key).empty();
  Key.consume_front(llvm::mneme::getKeyPrefix(Key));
  P.printNewline();
  if (IsOption)
    P.printString(Key);
  else
    P << Key;
  P << " = ";
  printOperandOr(P, F.Value, F.Constant);
  if (F.Value && IsOption)
    P << " : " << F.Value.getType();
  if (F.When)
    P << " when " << F.When;
}

void ConfigOp::print(OpAsmPrinter &P) {
  P << " {";
  P.increaseIndent();
  SmallVector<Field> Fields = getFields();
  for (Group G : {Group::Compile, Group::Launch, Group::Option, Group::Macro}) {
    auto IsOther = [&](const Field &F) { return getGroup(F.Key) != G; };
    if (llvm::all_of(Fields, IsOther))
      continue;
    P.printNewline();
    P << GroupNames[static_cast<int>(G)] << " {";
    P.increaseIndent();
    for (const Field &F : Fields)
      if (!IsOther(F))
        printField(P, F);
    P.decreaseIndent();
    P.printNewline();
    P << '}';
  }
  P.decreaseIndent();
  P.printNewline();
  P << '}';
  P.printOptionalAttrDict(llvm::to_vector((*this)->getDiscardableAttrs()));
}

SmallVector<ConfigOp::Field> ConfigOp::getFields() {
  SmallVector<Field> Fields;
  auto NextValue = getValues().begin();
  auto NextCondition = getConditions().begin();
  for (auto [Key, Constant, IsConditional] :
       llvm::zip(getKeys().getAsRange<StringAttr>(), getConstants(),
                 getConditional())) {
    Field F = {Key, Constant, nullptr, nullptr};
    if (isa<UnitAttr>(Constant))
      F.Value = *NextValue++;
    if (IsConditional)
      F.When = *NextCondition++;
    Fields.push_back(F);
  }
  return Fields;
}

void ConfigOp::setFields(llvm::ArrayRef<Field> Fields) {
  SmallVector<Attribute> Keys, Constants;
  SmallVector<bool> Conditional;
  SmallVector<mlir::Value> Values, Conditions;
  for (const Field &F : Fields) {
    Keys.push_back(F.Key);
    Constants.push_back(F.Constant);
    Conditional.push_back(F.When != nullptr);
    if (F.Value)
      Values.push_back(F.Value);
    if (F.When)
      Conditions.push_back(F.When);
  }
  setKeysAttr(ArrayAttr::get(getContext(), Keys));
  setConstantsAttr(ArrayAttr::get(getContext(), Constants));
  setConditional(Conditional);
  getValuesMutable().assign(Values);
  getConditionsMutable().assign(Conditions);
}

//===----------------------------------------------------------------------===//
// Names and types of results
//===----------------------------------------------------------------------===//

void RecordedOp::getAsmResultNames(OpAsmSetValueNameFn Set) {
  Set(getResult(), ("recorded." + getFact()).str());
}

LogicalResult RecordedOp::inferReturnTypes(
    MLIRContext *Context, std::optional<Location> Loc, ValueRange Operands,
    DictionaryAttr Attributes, OpaqueProperties Prop, RegionRange Regions,
    SmallVectorImpl<Type> &Types) {
  StringRef Fact =
      Adaptor(Operands, Attributes, Prop, Regions).getFact();
  std::optional<ValueType> T = llvm::mneme::getRecordedType(Fact);
  if (!T)
    return emitOptionalError(
        Loc, "unknown recorded fact '", Fact, "'",
        llvm::mneme::suggest(
            Fact, SmallVector<StringRef, 32>(llvm::mneme::getRecordedNames())));
  Types.push_back(mlir::mneme::getType(Context, *T));
  return success();
}

void TextOp::getAsmResultNames(OpAsmSetValueNameFn Set) {
  Set(getResult(), "text");
}

void DerivedOp::getAsmResultNames(OpAsmSetValueNameFn Set) {
  Set(getResult(), getValueName());
}

void IntOp::getAsmResultNames(OpAsmSetValueNameFn Set) {
  Set(getResult(), getParamName());
}

void RealOp::getAsmResultNames(OpAsmSetValueNameFn Set) {
  Set(getResult(), getParamName());
}

void BoolOp::getAsmResultNames(OpAsmSetValueNameFn Set) {
  Set(getResult(), getParamName());
}

void ChoiceOp::getAsmResultNames(OpAsmSetValueNameFn Set) {
  Set(getResult(), getParamName());
}

void PipelineOp::getAsmResultNames(OpAsmSetValueNameFn Set) {
  Set(getResult(), getParamName());
}

//===----------------------------------------------------------------------===//
// The dialect
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Dialect/MnemeDialect.cpp.inc"
#include "llvm/Mneme/Dialect/MnemeEnums.cpp.inc"
#include "llvm/Mneme/Dialect/MnemeInterfaces.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "llvm/Mneme/Dialect/MnemeTypes.cpp.inc"
#define GET_OP_CLASSES
#include "llvm/Mneme/Dialect/MnemeOps.cpp.inc"

void MnemeDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "llvm/Mneme/Dialect/MnemeTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "llvm/Mneme/Dialect/MnemeOps.cpp.inc"
      >();
}

void mlir::mneme::loadDialects(MLIRContext &Context) {
  Context.loadDialect<arith::ArithDialect, MnemeDialect>();
}

Operation *MnemeDialect::materializeConstant(OpBuilder &B, Attribute Value,
                                             Type T, Location Loc) {
  if (auto Text = dyn_cast<StringAttr>(Value))
    return TextOp::create(B, Loc, T, Text);
  return arith::ConstantOp::materialize(B, Value, T, Loc);
}
