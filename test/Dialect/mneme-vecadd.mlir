// What the vecAdd example of LLNL's Mneme searches (examples/*_vec_add,
// tune_threads.py): blocks, specialization, launch bounds whose threads are a
// real fraction that is mapped to legal values, -O levels.
// RUN: mneme-opt %s | mneme-opt | FileCheck %s
// CHECK: mneme.study @vecadd

mneme.study @vecadd {
  %c64 = arith.constant 64 : i64
  %c1024 = arith.constant 1024 : i64

  %block = mneme.int "block_dim_x" in [64 to 1024 step 64]
  %specialize = mneme.bool "specialize"
  %specialize_dims = mneme.bool "specialize_dims"
  %codegen_opt = mneme.int "codegen_opt" in [1 to 3]
  %passes = mneme.pipeline "passes" in "default<{O1|O2|O3|Os|Oz}>"

  // Two parameters that mean something only with launch bounds; there the
  // example samples them all the same.
  %bounds = mneme.bool "set_launch_bounds"
  %fraction = mneme.real "max_threads_fraction" in [0.0 to 1.0] when %bounds
  %min_blocks = mneme.int "min_blocks_per_sm" in [1 to 8] when %bounds

  // block + round((1024 - block) * fraction / 64) * 64
  %rest = arith.subi %c1024, %block : i64
  %rest.real = arith.sitofp %rest : i64 to f64
  %share = arith.mulf %rest.real, %fraction : f64
  %c64.real = arith.constant 64.0 : f64
  %warps.real = arith.divf %share, %c64.real : f64
  %half = arith.constant 0.5 : f64
  %up = arith.addf %warps.real, %half : f64
  %warps = arith.fptosi %up : f64 to i64
  %more = arith.muli %warps, %c64 : i64
  %0 = arith.addi %block, %more : i64
  %max_threads = mneme.derived "max_threads" = %0 : i64

  mneme.config {
    compile {
      passes = %passes
      codegen_opt = %codegen_opt
      specialize = %specialize
      specialize_dims = %specialize_dims
      set_launch_bounds = %bounds
      max_threads = %max_threads when %bounds
      min_blocks_per_sm = %min_blocks when %bounds
    }
    launch {
      block.x = %block
    }
  }
  mneme.objective minimize "time"
}
