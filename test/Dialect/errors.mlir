// Every mistake that the dialect finds, where it is.
// RUN: mneme-opt %s --split-input-file --verify-diagnostics -o /dev/null

// expected-error @+1 {{has no 'mneme.config'}}
mneme.study @s {}

// -----

// expected-error @+1 {{has no 'mneme.objective'}}
mneme.study @s {
  mneme.config {}
}

// -----

mneme.study @s {
  // expected-note @+1 {{the first is here}}
  mneme.config {}
  // expected-error @+1 {{is the second of its study}}
  mneme.config {}
  mneme.objective minimize "time"
}

// -----

mneme.study @s {
  mneme.config {}
  // expected-note @+1 {{the first is here}}
  mneme.objective minimize "time"
  // expected-error @+1 {{is the second objective 'time'}}
  mneme.objective maximize "time"
}

// -----

mneme.study @s {
  mneme.config {}
  // expected-error @+1 {{there is no metric 'tim'; did you mean 'time'?}}
  mneme.objective minimize "tim"
}

// -----

mneme.study @s {
  // expected-note @+1 {{the first is here}}
  %a = mneme.int "a" in [1 to 2]
  // expected-error @+1 {{is the second parameter or derived value 'a'}}
  %b = mneme.derived "a" = %a : i64
  mneme.config {}
  mneme.objective minimize "time"
}

// -----

mneme.study @s {
  // expected-error @+1 {{has a wrong name: it has no name}}
  %a = mneme.bool ""
}

// -----

mneme.study @s {
  %a = mneme.bool "a"
  // expected-error @+1 {{has a wrong name: a name may not contain ' '}}
  %b = mneme.derived "b c" = %a : i1
}

// -----

// expected-error @+1 {{expects parent op 'mneme.study'}}
%a = mneme.bool "a"

// -----

mneme.study @s {
  // expected-error @+1 {{unknown recorded fact 'block.w'; did you mean 'block.x'?}}
  %a = mneme.recorded "block.w"
}

// -----

// Ranges.
mneme.study @s {
  // expected-error @+1 {{has an empty range: 8 is above 4}}
  %a = mneme.int "a" in [8 to 4]
}

// -----

mneme.study @s {
  // expected-error @+1 {{has a step that is not positive: 0}}
  %a = mneme.int "a" in [1 to 4 step 0]
}

// -----

mneme.study @s {
  // expected-error @+1 {{has a step and a logarithmic scale}}
  %a = mneme.int "a" in [1 to 4 step 1 log]
}

// -----

mneme.study @s {
  // expected-error @+1 {{has a logarithmic scale that begins at 0, which is not positive}}
  %a = mneme.int "a" in [0 to 4 log]
}

// -----

mneme.study @s {
  // expected-error @+1 {{has a default that is not one of its values: 33}}
  %a = mneme.int "a" in [32 to 64 step 2] default 33
}

// -----

mneme.study @s {
  // expected-error @+1 {{has a default that is not one of its values: 96}}
  %a = mneme.int "a" in [32 to 128 log] default 96
}

// -----

mneme.study @s {
  // expected-error @+1 {{expected an integer or a value}}
  %a = mneme.int "a" in [0.5 to 4]
}

// -----

mneme.study @s {
  // expected-error @+1 {{has an empty range: 2.000000e+00 is above 1.000000e+00}}
  %a = mneme.real "a" in [2.0 to 1.0]
}

// -----

mneme.study @s {
  // expected-error @+1 {{has a logarithmic scale that begins at 0.000000e+00, which is not positive}}
  %a = mneme.real "a" in [0.0 to 1.0 log]
}

// -----

mneme.study @s {
  // expected-error @+1 {{has a default that is not one of its values: 3.000000e+00}}
  %a = mneme.real "a" in [0.5 to 2.0] default 3.0
}

// -----

mneme.study @s {
  // expected-note @+1 {{the parameter is here}}
  %a = mneme.int "a" in [1 to 4]
  %0 = arith.addi %a, %a : i64
  // expected-error @+1 {{has a high end that depends on parameter 'a'}}
  %b = mneme.int "b" in [1 to %0]
}

// -----

mneme.study @s {
  // expected-error @+1 {{needs a low end}}
  %a = "mneme.int"() <{param_name = "a", high_constant = 1 : i64, operandSegmentSizes = array<i32: 0, 0, 0, 0, 0>}> : () -> i64
}

// -----

mneme.study @s {
  %t = mneme.recorded "threads"
  // expected-error @+1 {{has two of: low end}}
  %a = "mneme.int"(%t) <{param_name = "a", low_constant = 1 : i64, high_constant = 1 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> : (i64) -> i64
}

// -----

// Choices.
mneme.study @s {
  // expected-error @+1 {{expected ':'}}
  %a = mneme.choice "a" in {}
}

// -----

mneme.study @s {
  // expected-error @+1 {{has no values to choose from}}
  %a = mneme.choice "a" in {} : i64
}

// -----

mneme.study @s {
  // expected-error @+1 {{has a literal that is not of type int: "x"}}
  %a = mneme.choice "a" in {1, "x"}
}

// -----

mneme.study @s {
  // expected-error @+1 {{expected a number, 'true', 'false', a text or a value}}
  %a = mneme.choice "a" in {[1]}
}

// -----

mneme.study @s {
  // expected-error @+1 {{expected a number, 'true', 'false', a text or a value}}
  %a = mneme.choice "a" in {1 : i32}
}

// -----

mneme.study @s {
  // expected-error @+1 {{has a default that is not one of its values: 3}}
  %a = mneme.choice "a" in {1, 2} default 3
}

// -----

mneme.study @s {
  // expected-error @+1 {{values of 'i32' cannot be chosen}}
  %a = mneme.choice "a" in {%b} : i32
}

// -----

mneme.study @s {
  // expected-note @+1 {{prior use here}}
  %t = mneme.recorded "threads"
  // expected-error @+1 {{use of value '%t' expects different type than prior uses: '!mneme.text' vs 'i64'}}
  %a = mneme.choice "a" in {"x", %t}
}

// -----

// Pipelines: the place is in the text.
mneme.study @s {
  %a = mneme.pipeline "a" in "module("
    // expected-error @+1 {{expected ',', '|' or '}', not ')'}}
    "function({sroa)"
    "gvn})"
}

// -----

mneme.study @s {
  // expected-error @+1 {{has a space that cannot be parsed: 1:1: expected}}
  %a = "mneme.pipeline"() <{param_name = "a", space = "(", operandSegmentSizes = array<i32: 0, 0>}> : () -> !mneme.text
}

// -----

mneme.study @s {
  %t = mneme.recorded "threads"
  // expected-error @+1 {{expected 'true', 'false' or a value}}
  %a = mneme.bool "a" default 1
}

// -----

// Conditions.
mneme.study @s {
  %a = mneme.bool "a"
  // expected-error @+1 {{use of undeclared SSA value name}}
  mneme.require %b
}

// -----

mneme.study @s {
  // expected-error @+1 {{operand #0 does not dominate this use}}
  %a = mneme.bool "a" when %b
  // expected-note @+1 {{operand defined here}}
  %b = mneme.bool "b"
  mneme.config {}
  mneme.objective minimize "time"
}

// -----

// Configurations.
mneme.study @s {
  mneme.config {
    // expected-error @+1 {{expected 'compile', 'launch' or 'llvm', not 'run'}}
    run {}
  }
}

// -----

mneme.study @s {
  mneme.config {
    compile {
      codegen_opt = 3
      // expected-error @+1 {{there is no configuration field 'pases'; did you mean 'passes'?}}
      pases = "x"
    }
  }
}

// -----

mneme.study @s {
  mneme.config {
    compile {
      // expected-error @+1 {{'block.x' is a field of 'launch'}}
      block.x = 32
    }
  }
}

// -----

mneme.study @s {
  mneme.config {
    launch {
      block.x = 32
      // expected-error @+1 {{'block.x' is set twice}}
      block.x = 64
    }
  }
}

// -----

mneme.study @s {
  mneme.config {
    launch {
      // expected-error @+1 {{expected an integer or a value}}
      block.x = "32"
    }
  }
}

// -----

mneme.study @s {
  // expected-note @+1 {{prior use here}}
  %a = mneme.bool "a"
  mneme.config {
    launch {
      // expected-error @+1 {{use of value '%a' expects different type than prior uses: 'i64' vs 'i1'}}
      block.x = %a
    }
  }
}

// -----

mneme.study @s {
  // expected-note @+1 {{the parameter is here}}
  mneme.int option "unroll-threshold" in [1 to 2]
  // expected-error @+1 {{sets 'llvm.unroll-threshold', which a parameter sets}}
  mneme.config {
    llvm {
      "unroll-threshold" = 5
    }
  }
  mneme.objective minimize "time"
}

// -----

mneme.study @s {
  // expected-error @+1 {{there is no configuration field 'pases'}}
  "mneme.config"() <{keys = ["pases"], constants = [1], conditional = array<i1: false>, operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
}

// -----

mneme.study @s {
  // expected-error @+1 {{has a literal that is not of type int: "x"}}
  "mneme.config"() <{keys = ["block.x"], constants = ["x"], conditional = array<i1: false>, operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
}

// -----

mneme.study @s {
  %a = mneme.bool "a"
  // expected-error @+1 {{sets "block.x" to a value of 'i1'; it is of 'i64'}}
  "mneme.config"(%a) <{keys = ["block.x"], constants = [unit], conditional = array<i1: false>, operandSegmentSizes = array<i32: 1, 0>}> : (i1) -> ()
}

// -----

mneme.study @s {
  // expected-error @+1 {{has 0 operands for 1 places}}
  "mneme.config"() <{keys = ["block.x"], constants = [unit], conditional = array<i1: false>, operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
}

// -----

mneme.study @s {
  // expected-error @+1 {{has 0 conditions for 1 fields}}
  "mneme.config"() <{keys = ["block.x"], constants = [1], conditional = array<i1: true>, operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
}

// -----

mneme.study @s {
  // expected-error @+1 {{has a different number of keys than of constants or conditions}}
  "mneme.config"() <{keys = ["block.x"], constants = [], conditional = array<i1>, operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
}

// -----

// What a study cannot compute.
mneme.study @s {
  %a = mneme.int "a" in [1 to 2]
  // expected-error @+1 {{cannot be computed in a study}}
  %b = arith.divui %a, %a : i64
  mneme.config {}
  mneme.objective minimize "time"
}

// -----

mneme.study @s {
  %a = mneme.int "a" in [1 to 2]
  // expected-error @+1 {{compares unsigned; integers of a study are signed}}
  %b = arith.cmpi ult, %a, %a : i64
  mneme.config {}
  mneme.objective minimize "time"
}

// -----

mneme.study @s {
  %a = mneme.real "a" in [1.0 to 2.0]
  // expected-error @+1 {{compares reals as C does not}}
  %b = arith.cmpf ult, %a, %a : f64
  mneme.config {}
  mneme.objective minimize "time"
}

// -----

mneme.study @s {
  %a = mneme.int "a" in [1 to 2]
  // expected-error @+1 {{makes a value of 'i32'; those of a study are i64, f64, i1 and !mneme.text}}
  %b = arith.trunci %a : i64 to i32
  mneme.config {}
  mneme.objective minimize "time"
}

// -----

mneme.study @s {
  %a = mneme.int "a" in [1 to 2]
  // expected-error @+1 {{cannot be computed in a study}}
  %b = arith.andi %a, %a : i64
  mneme.config {}
  mneme.objective minimize "time"
}

// -----

mneme.study @s {
  // expected-error @+1 {{cannot be part of a study}}
  builtin.module {}
  mneme.config {}
  mneme.objective minimize "time"
}
