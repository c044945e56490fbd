#!/bin/bash
# Sets up a Debian 12 machine, builds Mneme and passes its tests. One command, no
# GPU needed; where there is one, the same tests use it.
#
#   utils/check.sh [--sanitizers] [--install-only]
set -euo pipefail
cd "$(dirname "$0")/.."
. utils/setup.sh

sanitizers=0
for arg in "$@"; do
  case "$arg" in
    --sanitizers) sanitizers=1 ;;
    --install-only) mneme_install_packages; exit ;;
    *) echo "error: unknown option '$arg'" >&2; exit 1 ;;
  esac
done

mneme_install_packages
mneme_find_cuda || echo "note: tests that compile CUDA programs will be skipped"

cmake --preset default ${CUDA_PATH:+-DMNEME_CUDA_PATH="$CUDA_PATH"}
cmake --build --preset default
build/bin/llvm-lit -sv --time-tests build/test

if [ "$sanitizers" = 1 ]; then
  cmake --preset asan ${CUDA_PATH:+-DMNEME_CUDA_PATH="$CUDA_PATH"}
  cmake --build --preset asan
  ASAN_OPTIONS=detect_leaks=1 build-asan/bin/llvm-lit -sv build-asan/test
fi
