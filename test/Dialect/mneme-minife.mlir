// What the miniFE example of LLNL's Mneme searches (examples/hecbench/miniFE,
// tune.py): three real fractions, mapped to warps of a block, blocks of the
// grid that the recorded threads need, and threads of the launch bounds.
// RUN: mneme-opt %s | mneme-opt | FileCheck %s
// CHECK: mneme.study @minife

mneme.study @minife {
  %c1 = arith.constant 1 : i64
  %c64 = arith.constant 64 : i64
  %c1024 = arith.constant 1024 : i64
  %threads = mneme.recorded "threads.x"

  %warp_fraction = mneme.real "warp_fraction" in [0.0 to 1.0]
  %grid_fraction = mneme.real "grid_fraction" in [0.0 to 1.0]
  %max_fraction = mneme.real "max_threads" in [0.0 to 1.0]

  // Warps of 64: ceil(fraction * 16), at least one.
  %most_warps = arith.constant 16.0 : f64
  %warps.real = arith.mulf %warp_fraction, %most_warps : f64
  %warps.down = arith.fptosi %warps.real : f64 to i64
  %warps.back = arith.sitofp %warps.down : i64 to f64
  %warps.less = arith.cmpf olt, %warps.back, %warps.real : f64
  %warps.one = arith.extui %warps.less : i1 to i64
  %warps.up = arith.addi %warps.down, %warps.one : i64
  %warps = arith.maxsi %warps.up, %c1 : i64
  %0 = arith.muli %warps, %c64 : i64
  %block = mneme.derived "block" = %0 : i64

  // ceil(fraction * blocks), at least one.
  %blocks = arith.ceildivsi %threads, %block : i64
  %blocks.all = arith.sitofp %blocks : i64 to f64
  %blocks.real = arith.mulf %grid_fraction, %blocks.all : f64
  %blocks.down = arith.fptosi %blocks.real : f64 to i64
  %blocks.back = arith.sitofp %blocks.down : i64 to f64
  %blocks.less = arith.cmpf olt, %blocks.back, %blocks.real : f64
  %blocks.one = arith.extui %blocks.less : i1 to i64
  %blocks.up = arith.addi %blocks.down, %blocks.one : i64
  %1 = arith.maxsi %blocks.up, %c1 : i64
  %grid = mneme.derived "grid" = %1 : i64

  // block + ceil(fraction * (1024 - block))
  %rest = arith.subi %c1024, %block : i64
  %rest.all = arith.sitofp %rest : i64 to f64
  %rest.real = arith.mulf %max_fraction, %rest.all : f64
  %rest.down = arith.fptosi %rest.real : f64 to i64
  %rest.back = arith.sitofp %rest.down : i64 to f64
  %rest.less = arith.cmpf olt, %rest.back, %rest.real : f64
  %rest.one = arith.extui %rest.less : i1 to i64
  %rest.up = arith.addi %rest.down, %rest.one : i64
  %max_threads = arith.addi %block, %rest.up : i64

  mneme.config {
    compile {
      specialize = true
      specialize_dims = true
      set_launch_bounds = true
      max_threads = %max_threads
    }
    launch {
      block.x = %block
      block.y = 1
      block.z = 1
      grid.x = %grid
      grid.y = 1
      grid.z = 1
      shared_mem = 0
    }
  }
  mneme.objective minimize "time"
}
