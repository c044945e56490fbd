#!/bin/bash
# Passes the tests of kernels of Numba and Halide, in a virtual environment below the build folder, and of OpenMP, with the
# device runtime of an LLVM 22 source. Needs PyPI once.
#
#   utils/check-others.sh [build [LLVM source]]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")
environment=$build/others
if [ ! -x "$environment/bin/python" ]; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install -q "numba==0.68.*" "numba-cuda==0.30.*" "halide==21.*"
fi
params=(--param=python="$environment/bin/python")
if [ -n "${2:-}" ]; then
  utils/openmp-programs.py --llvm "$2" --output "$environment/openmp"
  params+=(--param=openmp="$environment/openmp")
fi
"$build/bin/llvm-lit" -sv "${params[@]}" "$build/test/OtherCompilers"
