// Everything: the compiler and the launch, with passes in free order.
mneme.study @full {
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

  // An -O level, passes behind it that GPUs may like, and a sequence of passes.
  %passes = mneme.pipeline "passes" in
    "default<{O3|O2|O1|Os|Oz}>,"
    "function("
      // If-conversion, and what it moves out of the way.
      "speculative-execution?,"
      "{|flatten-cfg|simplifycfg<bonus-inst-threshold=[1..8];"
        "no-forward-switch-cond;hoist-common-insts;sink-common-insts>},"
      // Loops once more.
      "loop-mssa({|licm|licm<no-allowspeculation>|lnicm},"
        "simple-loop-unswitch<nontrivial>?),"
      "{|loop-unroll<O3;no-partial;no-runtime;full-unroll-max=[8..128:8]>"
       "|loop-unroll<O3;partial;runtime;upperbound>},"
      // Addresses in straight lines of code.
      "{|separate-const-offset-from-gep"
       "|separate-const-offset-from-gep<lower-gep>},"
      "slsr?,nary-reassociate?,"
      "{|early-cse<memssa>|gvn|gvn<no-pre>|newgvn},"
      "load-store-vectorizer?,mldst-motion?,"
      // Near their uses values live shorter.
      "sink?,instcombine?,"
      // And up to eight more, in any order.
      "seq<0..8>(aggressive-instcombine|adce|bdce|constraint-elimination|"
        "correlated-propagation|dse|early-cse|gvn|instcombine|"
        "jump-threading|loop(indvars)|loop(loop-rotate)|loop-mssa(licm)|"
        "reassociate|simplifycfg|sink|slsr|sroa<modify-cfg>))"

  %codegen_opt = mneme.int "codegen_opt" in [1 to 3] default 3

  // Thresholds of LLVM, each its own unless it is set.
  %set_unroll = mneme.bool "set_unroll_threshold" default false
  mneme.int option "unroll-threshold" in [25 to 6400 log] when %set_unroll
  %set_inline = mneme.bool "set_inline_threshold" default false
  mneme.int option "inline-threshold" in [25 to 51200 log] when %set_inline
  %set_folding = mneme.bool "set_phi_folding_threshold" default false
  mneme.int option "phi-node-folding-threshold" in [1 to 8] when %set_folding
  %set_promotion = mneme.bool "set_licm_promotion" default false
  mneme.int option "licm-mssa-max-acc-promotion" in [50 to 1000 step 50]
    when %set_promotion
  mneme.bool option "disable-lsr" default false
  mneme.bool option "enable-gvn-hoist" default false

  // What was recorded becomes constants of the code.
  %specialize = mneme.bool "specialize" default false
  %specialize_dims = mneme.bool "specialize_dims" default false
  %specialize_ranges = mneme.bool "specialize_ranges" default false

  // Registers of a thread: as many as launch bounds allow, a number, or as
  // recorded.
  %bounds = mneme.bool "set_launch_bounds" default false
  %min_blocks = mneme.int "min_blocks_per_sm" in [1 to 16] when %bounds
  %no_bounds = arith.xori %bounds, %true : i1
  %limit_registers = mneme.bool "limit_registers" default false when %no_bounds
  %maxnreg = mneme.int "maxnreg" in [24 to 248 step 8] when %limit_registers
  %resident = arith.muli %size, %min_blocks : i64
  %most_resident = arith.constant 2048 : i64
  %are_resident = arith.cmpi sle, %resident, %most_resident : i64
  %may_be_resident = arith.ori %no_bounds, %are_resident : i1
  mneme.require %may_be_resident, "a multiprocessor has 2048 threads at most"

  mneme.config {
    compile {
      passes = %passes
      codegen_opt = %codegen_opt
      specialize = %specialize
      specialize_dims = %specialize_dims
      specialize_ranges = %specialize_ranges
      set_launch_bounds = %bounds
      max_threads = %size when %bounds
      min_blocks_per_sm = %min_blocks when %bounds
      maxnreg = %maxnreg when %limit_registers
    }
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
