"""halide-scale.py: a pipeline of Halide with one CUDA kernel."""
import llvm_mneme.halide as hook  # before halide

import halide as hl
import numpy as np

x, xi = hl.Var("x"), hl.Var("xi")
data = hl.Buffer(np.arange(1000, dtype=np.float32))
scale = hl.Func("scale")
scale[x] = data[x] * 2.0 + 1.0
scale.gpu_tile(x, xi, 256)
target = hl.get_host_target()
target.set_features([hl.TargetFeature.CUDA, hl.TargetFeature.CUDACapability80])
hook.compile_jit(scale, target)
out = scale.realize([1000], target)
out.copy_to_host()
print("result", np.array(out)[[1, 999]])
