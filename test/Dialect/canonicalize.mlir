// RUN: mneme-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: mneme.study @conditions {
mneme.study @conditions {
  %true = arith.constant true
  %false = arith.constant false
  %c5 = arith.constant 5 : i64
  // A condition that always holds goes.
  // CHECK: mneme.int "a" in [1 to 5]{{$}}
  %a = mneme.int "a" in [1 to %c5] when %true
  // What never exists is its default, or else its first value.
  // CHECK-NOT: "b"
  %b = mneme.int "b" in [1 to 8] default 3 when %false
  // CHECK-NOT: "c"
  %c = mneme.int "c" in [7 to 8] when %false
  // CHECK-NOT: "d"
  %d = mneme.choice "d" in {"x", "y"} when %false
  // CHECK-NOT: "e"
  %e = mneme.bool "e" when %false
  // CHECK-NOT: "f"
  %f = mneme.pipeline "f" in "default<{O2|O3}>" default "default<O3>" when %false
  // CHECK-NOT: "r"
  %r = mneme.real "r" in [0.5 to 1.0] when %false
  // Its first value is not known here.
  // CHECK: mneme.pipeline "g" in "default<{O2|O3}>" when %{{.*}}
  %g = mneme.pipeline "g" in "default<{O2|O3}>" when %false
  // An option sets a field.
  // CHECK: mneme.int option "h" in [1 to 2] when %{{.*}}
  %h = mneme.int option "h" in [1 to 2] when %false
  // CHECK:      compile {
  // CHECK-NEXT:   passes = "default<O3>"
  // CHECK-NEXT:   codegen_opt = 3
  // CHECK-NEXT:   target_cpu = "x"
  // CHECK-NEXT:   specialize = false
  // CHECK-NEXT: }
  // CHECK-NEXT: launch {
  // CHECK-NEXT:   block.x = 7
  // CHECK-NEXT: }
  // CHECK-NEXT: llvm {
  // CHECK-NEXT:   "r" = 0.5
  // CHECK-NEXT: }
  mneme.config {
    compile {
      passes = %f
      codegen_opt = %b when %true
      target_cpu = %d
      specialize = %e
      maxnreg = %a when %false
    }
    launch {
      block.x = %c
    }
    llvm {
      "r" = %r : f64
    }
  }
  mneme.objective minimize "time"
}

// CHECK-LABEL: mneme.study @choices {
mneme.study @choices {
  %t = mneme.recorded "threads"
  %c1 = arith.constant 1 : i64
  // Equal values count once; constants become literals.
  // CHECK: mneme.choice "a" in {1, 2, %{{.*}}} default 1
  %a = mneme.choice "a" in {1, 2, %t, %c1, 2, %t} default %c1
  // CHECK: mneme.choice "b" in {1}
  %b = mneme.choice "b" in {%c1, %c1} : i64
  // Parameters stay, used or not.
  // CHECK: mneme.bool "c" default true
  %true = arith.constant true
  %c = mneme.bool "c" default %true
  mneme.config {}
  mneme.objective minimize "time"
}

// CHECK-LABEL: mneme.study @demands {
mneme.study @demands {
  // CHECK: %[[A:.*]] = mneme.bool "a"
  %a = mneme.bool "a"
  %true = arith.constant true
  %0 = arith.ori %a, %true : i1
  // CHECK-NOT: "always"
  mneme.require %0, "always"
  // CHECK: mneme.require %[[A]], "sometimes"
  mneme.require %a, "sometimes"
  // CHECK-NOT: "again"
  mneme.require %a, "again"
  // What never holds stays, to be reported.
  // CHECK: mneme.require %{{.*}}, "never"
  %false = arith.constant false
  mneme.require %false, "never"
  mneme.config {}
  mneme.objective minimize "time"
}

// CHECK-LABEL: mneme.study @values {
mneme.study @values {
  // CHECK: %[[A:.*]] = mneme.choice "a"
  %a = mneme.choice "a" in {"x", "y"}
  %x = mneme.text "x"
  %y = mneme.text "y"
  %c10 = arith.constant 10 : i64
  %c1000 = arith.constant 1000 : i64
  %c0 = arith.constant 0 : i64
  %c63 = arith.constant 63 : i64
  %eq = mneme.text_eq %x, %x
  %ne = mneme.text_ne %x, %y
  %same = mneme.text_eq %a, %a
  %other = mneme.text_ne %a, %a
  // CHECK: %[[UNKNOWN:.*]] = mneme.text_eq %[[A]], %{{.*}}
  %unknown = mneme.text_eq %a, %x
  %pow = mneme.pow2 %c10
  %log = mneme.log2 %c1000
  // Errors are found when they are computed.
  // CHECK: %[[BADPOW:.*]] = mneme.pow2
  %badpow = mneme.pow2 %c63
  // CHECK: %[[BADLOG:.*]] = mneme.log2
  %badlog = mneme.log2 %c0
  // CHECK:      "eq" = true
  // CHECK-NEXT: "ne" = true
  // CHECK-NEXT: "same" = true
  // CHECK-NEXT: "other" = false
  // CHECK-NEXT: "unknown" = %[[UNKNOWN]] : i1
  // CHECK-NEXT: "pow" = 1024
  // CHECK-NEXT: "log" = 9
  // CHECK-NEXT: "badpow" = %[[BADPOW]] : i64
  // CHECK-NEXT: "badlog" = %[[BADLOG]] : i64
  mneme.config {
    llvm {
      "eq" = %eq : i1
      "ne" = %ne : i1
      "same" = %same : i1
      "other" = %other : i1
      "unknown" = %unknown : i1
      "pow" = %pow : i64
      "log" = %log : i64
      "badpow" = %badpow : i64
      "badlog" = %badlog : i64
    }
  }
  mneme.objective minimize "time"
}
