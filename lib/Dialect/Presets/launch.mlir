// Shapes of blocks alone, up to the largest: nothing is compiled.
mneme.study @launch {
  // The shape of a block. Of one with a single axis any number of warps, else
  // powers of two along the axes that the recorded block has. The grid covers
  // the same threads.
  %c1 = arith.constant 1 : i64
  %c32 = arith.constant 32 : i64
  %c64 = arith.constant 64 : i64
  %c1024 = arith.constant 1024 : i64
  %true = arith.constant true
  %block = mneme.recorded "block"
  %threads = mneme.recorded "threads"
  %threads.x = mneme.recorded "threads.x"
  %threads.y = mneme.recorded "threads.y"
  %threads.z = mneme.recorded "threads.z"
  %recorded.y = mneme.recorded "block.y"
  %recorded.z = mneme.recorded "block.z"

  %reshape = mneme.bool "reshape" default false
  %has_y = arith.cmpi sgt, %recorded.y, %c1 : i64
  %has_z = arith.cmpi sgt, %recorded.z, %c1 : i64
  %has_more = arith.ori %has_y, %has_z : i1
  %has_one = arith.xori %has_more, %true : i1
  %reshape_line = arith.andi %reshape, %has_one : i1
  %reshape_x = arith.andi %reshape, %has_more : i1
  %reshape_y = arith.andi %reshape, %has_y : i1
  %reshape_z = arith.andi %reshape, %has_z : i1
  %limit.x = arith.minsi %threads.x, %c1024 : i64
  %limit.y = arith.minsi %threads.y, %c1024 : i64
  %limit.z = arith.minsi %threads.z, %c64 : i64
  %warps = mneme.int "warps" in [1 to 32] when %reshape_line
  %power.x = mneme.int "block.x" in [1 to %limit.x log] when %reshape_x
  %block.y = mneme.int "block.y" in [1 to %limit.y log] when %reshape_y
  %block.z = mneme.int "block.z" in [1 to %limit.z log] when %reshape_z
  %line = arith.muli %warps, %c32 : i64
  %block.x = arith.select %has_one, %line, %power.x : i64

  // Neither more threads than allowed nor less than a warp.
  %plane = arith.muli %block.x, %block.y : i64
  %product = arith.muli %plane, %block.z : i64
  %size = arith.select %reshape, %product, %block : i64
  %most = arith.constant 1024 : i64
  %warp = arith.minsi %threads, %c32 : i64
  %keep = arith.xori %reshape, %true : i1
  %not_more = arith.cmpi sle, %size, %most : i64
  %not_less = arith.cmpi sge, %size, %warp : i64
  %within = arith.andi %not_more, %not_less : i1
  %fits = arith.ori %keep, %within : i1
  mneme.require %fits, "a block has too many threads, or not even a warp's"

  %grid.x = arith.ceildivsi %threads.x, %block.x : i64
  %grid.y = arith.ceildivsi %threads.y, %block.y : i64
  %grid.z = arith.ceildivsi %threads.z, %block.z : i64
  %most_blocks = arith.constant 65535 : i64
  %fits.y = arith.cmpi sle, %grid.y, %most_blocks : i64
  %fits.z = arith.cmpi sle, %grid.z, %most_blocks : i64
  %fits.yz = arith.andi %fits.y, %fits.z : i1
  %covers = arith.ori %keep, %fits.yz : i1
  mneme.require %covers, "a grid has too many blocks along y or z"

  mneme.config {
    launch {
      block.x = %block.x when %reshape
      block.y = %block.y when %reshape_y
      block.z = %block.z when %reshape_z
      grid.x = %grid.x when %reshape
      grid.y = %grid.y when %reshape_y
      grid.z = %grid.z when %reshape_z
    }
  }
  mneme.objective minimize "time"
}
