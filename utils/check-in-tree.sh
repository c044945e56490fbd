#!/bin/bash
# Builds Mneme inside LLVM 22 and passes its tests there. Hours on two cores: it may be
# interrupted, and goes on where it was when it is started again.
#
#   utils/check-in-tree.sh [--configure-only] [--llvm=FOLDER] [build folder]
#
#   --configure-only  only generates build files, for every combination of projects,
#                     targets and libLLVM
#   --llvm=FOLDER     an LLVM checkout; without it, the source of Debian's package
#
# $JOBS is the number of jobs (default: all cores).
set -euo pipefail
cd "$(dirname "$0")/.."
. utils/setup.sh

configure_only=0 llvm='' build=build-in-tree
for arg in "$@"; do
  case $arg in
    --configure-only) configure_only=1 ;;
    --llvm=*) llvm=$(realpath "${arg#*=}") ;;
    -*) echo "error: unknown option '$arg'" >&2; exit 1 ;;
    *) build=$arg ;;
  esac
done
mkdir -p "$build"
build=$(realpath "$build")

# Debian's own lists of packages stay as they are.
fetch_llvm() {
  local apt="$build/apt" options
  mkdir -p "$apt/lists/partial" "$build/llvm"
  for suite in trixie-backports sid; do
    echo "deb-src http://deb.debian.org/debian $suite main"
  done >"$apt/sources.list"
  options=(-qq -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt")
  apt-get "${options[@]}" update
  (cd "$apt" && apt-get "${options[@]}" source --download-only --tar-only llvm-toolchain-22)
  tar -C "$build/llvm" --strip-components=1 -xf "$apt"/llvm-toolchain-22_*.orig.tar.xz \
    --wildcards '*/llvm' '*/clang' '*/mlir' '*/cmake' '*/third-party' '*/utils/bazel'
  touch "$build/llvm/complete"
}

mneme_install_packages
mneme_find_cuda || echo "note: tests that compile CUDA programs will be skipped"
if [ -z "$llvm" ]; then
  llvm=$build/llvm
  [ -e "$llvm/complete" ] || fetch_llvm
fi

# configure FOLDER PROJECTS TARGETS DYLIB
configure() {
  local launcher
  launcher=$(command -v ccache || true)
  cmake -G Ninja -S "$llvm/llvm" -B "$1" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" \
    -DLLVM_ENABLE_PROJECTS="$2" -DLLVM_TARGETS_TO_BUILD="$3" -DLLVM_LINK_LLVM_DYLIB="$4" \
    -DLLVM_EXTERNAL_PROJECTS=mneme -DLLVM_EXTERNAL_MNEME_SOURCE_DIR="$PWD" \
    ${CUDA_PATH:+-DMNEME_CUDA_PATH="$CUDA_PATH"} >"$1.log" 2>&1 ||
    { tail -n 30 "$1.log"; echo "error: see '$1.log'" >&2; return 1; }
  echo "configured: projects '$2', targets '$3', libLLVM $4"
}

if [ $configure_only = 1 ]; then
  for projects in "clang;mlir" mlir ""; do
    for targets in "X86;NVPTX;AMDGPU" "X86;NVPTX"; do
      for dylib in ON OFF; do
        rm -rf "$build/configured"
        configure "$build/configured" "$projects" "$targets" $dylib
      done
    done
  done
  exit
fi

configure "$build/mneme" mlir "X86;NVPTX" ON
cmake --build "$build/mneme" ${JOBS:+-j "$JOBS"} --target check-mneme
DESTDIR=$build/installed cmake --build "$build/mneme" --target install-mneme
