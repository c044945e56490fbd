// The compiler alone: passes, thresholds, specialization, registers.
mneme.study @compiler {
  // An -O level, and passes behind it that GPUs may like.
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
      "sink?,instcombine?)"

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

  %true = arith.constant true
  %size = mneme.recorded "block"
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
  }
  mneme.objective minimize "time"
}
