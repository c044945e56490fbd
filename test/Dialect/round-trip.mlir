// Everything that a study can have, printed and parsed again, in its own syntax
// and in the generic one.
// RUN: mneme-opt %s -o %t.mlir
// RUN: FileCheck %s --input-file %t.mlir
// RUN: mneme-opt %t.mlir | diff %t.mlir -
// RUN: mneme-opt %s --mlir-print-op-generic | mneme-opt | diff %t.mlir -
// RUN: mneme-opt %s --emit-bytecode | mneme-opt | diff %t.mlir -

// CHECK-LABEL: mneme.study @all {
mneme.study @all {
  // CHECK-NEXT: %[[THREADS:recorded.threads.x]] = mneme.recorded "threads.x"
  %threads = mneme.recorded "threads.x"
  // CHECK-NEXT: %[[ARCH:recorded.arch]] = mneme.recorded "arch"
  %arch = mneme.recorded "arch"
  // CHECK-NEXT: %[[COOPERATIVE:.*]] = mneme.recorded "cooperative"
  %cooperative = mneme.recorded "cooperative"

  // CHECK-NEXT: %block = mneme.int "block" in [32 to 1024 step 32] default 256
  %0 = mneme.int "block" in [32 to 1024 step 32] default 256
  // CHECK-NEXT: %[[OK:.*]] = arith.cmpi sle, %block, %[[THREADS]] : i64
  %1 = arith.cmpi sle, %0, %threads : i64
  // CHECK-NEXT: %two = mneme.int "two" in [1 to 64 log] when %[[OK]]
  %2 = mneme.int "two" in [1 to 64 log] when %1
  // CHECK-NEXT: mneme.int "bounds" in [-4 to %[[THREADS]] step %[[THREADS]]] default %[[THREADS]]
  %3 = mneme.int "bounds" in [-4 to %threads step %threads] default %threads
  // CHECK-NEXT: %unroll-threshold = mneme.int option "unroll-threshold" in [50 to 400 step 50]
  %4 = mneme.int option "unroll-threshold" in [50 to 400 step 50]

  // CHECK-NEXT: %real = mneme.real "real" in [0.5 to 2.0 log] default 1.25
  %5 = mneme.real "real" in [0.5 to 2.0 log] default 1.25
  // CHECK-NEXT: %tiny = mneme.real "tiny" in [-1.0E-30 to 0.1]
  %6 = mneme.real "tiny" in [-1.0e-30 to 0.1]
  // CHECK-NEXT: %flag = mneme.bool "flag" default true
  %7 = mneme.bool "flag" default true
  // CHECK-NEXT: mneme.bool option "enable-x" default %[[COOPERATIVE]] when %flag
  %8 = mneme.bool option "enable-x" default %cooperative when %7

  // CHECK-NEXT: %registers = mneme.choice "registers" in {0, 32, %[[THREADS]]} default 32
  %9 = mneme.choice "registers" in {0, 32, %threads} default 32
  // CHECK-NEXT: %cpu = mneme.choice "cpu" in {%[[ARCH]]} : !mneme.text default %[[ARCH]] when %flag
  %10 = mneme.choice "cpu" in {%arch} : !mneme.text default %arch when %7
  // CHECK-NEXT: mneme.choice option "mode" in {"a\22b", "c"}
  %11 = mneme.choice option "mode" in {"a\"b", "c"}
  // CHECK-NEXT: mneme.choice "share" in {0.25, 0.5}
  %12 = mneme.choice "share" in {0.25, 0.5} {note = 1 : i8}
  // CHECK-SAME: {note = 1 : i8}

  // CHECK-NEXT: %passes = mneme.pipeline "passes" in "default<{O2|O3}>" default "default<O3>"
  %13 = mneme.pipeline "passes" in "default<{O2|O3}>" default "default<O3>"
  // Long spaces are cut where an element ends.
  // CHECK-NEXT: %long = mneme.pipeline "long" in
  // CHECK-NEXT: {{^ *}}"module(function(sroa,early-cse,instcombine,simplifycfg,gvn,dse,"
  // CHECK-NEXT: {{^ *}}"adce,reassociate)){{"$}}
  %14 = mneme.pipeline "long" in "module(function(sroa,early-cse,"
                                 "instcombine,simplifycfg,gvn,dse,adce,"
                                 "reassociate))"

  // CHECK-NEXT: mneme.text "sm_90"
  %15 = mneme.text "sm_90"
  // CHECK-NEXT: mneme.text_eq %[[ARCH]], %{{.*}}
  %16 = mneme.text_eq %arch, %15
  // CHECK-NEXT: mneme.text_ne %cpu, %{{.*}}
  %17 = mneme.text_ne %10, %15
  // CHECK-NEXT: mneme.pow2 %two
  %18 = mneme.pow2 %2
  // CHECK-NEXT: mneme.log2 %block
  %19 = mneme.log2 %0
  // CHECK-NEXT: %grid = mneme.derived "grid" = %{{.*}} : i64
  %20 = mneme.derived "grid" = %19 : i64

  // CHECK-NEXT: mneme.require %[[OK]], "a block is no larger than the grid"
  mneme.require %1, "a block is no larger than the grid"
  // CHECK-NEXT: mneme.require %flag{{$}}
  mneme.require %7

  // Groups come in one order.
  // CHECK-NEXT: mneme.config {
  // CHECK-NEXT:   compile {
  // CHECK-NEXT:     passes = %passes
  // CHECK-NEXT:     target_cpu = "sm_90" when %flag
  // CHECK-NEXT:     specialize = true
  // CHECK-NEXT:   }
  // CHECK-NEXT:   launch {
  // CHECK-NEXT:     block.x = %block
  // CHECK-NEXT:     grid.x = %grid
  // CHECK-NEXT:   }
  // CHECK-NEXT:   llvm {
  // CHECK-NEXT:     "inline-threshold" = %two : i64 when %[[OK]]
  // CHECK-NEXT:     "a" = 1
  // CHECK-NEXT:     "b" = 1.0
  // CHECK-NEXT:     "c" = "x"
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  mneme.config {
    launch {
      block.x = %0
      grid.x = %20
    }
    llvm {
      "inline-threshold" = %2 : i64 when %1
      "a" = 1
      "b" = 1.0
      "c" = "x"
    }
    compile { passes = %13 target_cpu = "sm_90" when %7 specialize = true }
  }
  // CHECK-NEXT: mneme.objective minimize "time"
  mneme.objective minimize "time"
  // CHECK-NEXT: mneme.objective maximize "occupancy"
  mneme.objective maximize "occupancy"
}

// CHECK-LABEL: mneme.study @smallest {
mneme.study @smallest {
  // CHECK-NEXT: mneme.config {
  // CHECK-NEXT: }
  mneme.config {}
  mneme.objective minimize "reg_usage"
}
