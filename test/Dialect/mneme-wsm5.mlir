// What the wsm5 example of LLNL's Mneme searches (examples/hecbench/wsm5,
// tune.py): three switches; the launch is as recorded, which is what a field
// that is not set means.
// RUN: mneme-opt %s | mneme-opt | FileCheck %s
// CHECK: mneme.study @wsm5

mneme.study @wsm5 {
  %specialize = mneme.bool "specialize"
  %bounds = mneme.bool "set_launch_bounds"
  %specialize_dims = mneme.bool "specialize_dims"
  mneme.config {
    compile {
      specialize = %specialize
      specialize_dims = %specialize_dims
      set_launch_bounds = %bounds
    }
  }
  mneme.objective minimize "time"
}
