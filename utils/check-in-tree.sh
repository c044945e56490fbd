#!/bin/bash
# Builds Mneme inside LLVM 22 and passes its tests there. Hours on two cores: it may be
# interrupted, and goes on where it was when it is started again. Two thirds of LLVM's
# compile time are its headers, so its libraries get them precompiled, and of MLIR only what
# Mneme needs is built.
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

# configure FOLDER PROJECTS TARGETS DYLIB [CMAKE OPTION...]
configure() {
  local launcher
  launcher=$(command -v ccache || true)
  [ ! -e "$build/launcher" ] || launcher=$build/launcher
  cmake -G Ninja -S "$llvm/llvm" -B "$1" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" \
    -DLLVM_ENABLE_PROJECTS="$2" -DLLVM_TARGETS_TO_BUILD="$3" -DLLVM_LINK_LLVM_DYLIB="$4" \
    -DLLVM_EXTERNAL_PROJECTS=mneme -DLLVM_EXTERNAL_MNEME_SOURCE_DIR="$PWD" \
    ${CUDA_PATH:+-DMNEME_CUDA_PATH="$CUDA_PATH"} "${@:5}" >"$1.log" 2>&1 ||
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

# A launcher of the compiler that adds the precompiled header to LLVM's libraries, and
# does without where it does not fit.
cat >"$build/launcher" <<END
#!/bin/bash
case " \$* " in
  *" -c $llvm/llvm/lib/"*)
    [ ! -e "$build/llvm.pch" ] || { "\$@" -w -include-pch "$build/llvm.pch" 2>/dev/null && exit; } ;;
esac
exec $(command -v ccache || true) "\$@"
END
chmod +x "$build/launcher"

precompile_headers() {
  local flags header
  cmake --build "$build/mneme" ${JOBS:+-j "$JOBS"} --target llvm-headers intrinsics_gen
  for header in ADT/{APFloat,APInt,BitVector,DenseMap,FoldingSet,MapVector,STLExtras,SetVector,SmallPtrSet} \
    ADT/{SmallSet,SmallString,StringExtras,StringMap,StringSwitch} \
    IR/{Constants,DataLayout,DebugInfo,Dominators,Function,IRBuilder,InstIterator,Instructions,IntrinsicInst} \
    IR/{LLVMContext,Module,PassManager,Verifier} Pass \
    Support/{CommandLine,Debug,Endian,Error,FileSystem,Format,MathExtras,MemoryBuffer,Path,raw_ostream}; do
    echo "#include \"llvm/$header.h\""
  done >"$build/llvm.h"
  # The flags of any of the libraries.
  flags=$(ninja -C "$build/mneme" -t commands lib/IR/CMakeFiles/LLVMCore.dir/Core.cpp.o | tail -n 1 |
    sed 's/ -MD .*//; s/^[^ ]*launcher //; s/-DLLVM_EXPORTS//')
  $flags -fpch-instantiate-templates -x c++-header "$build/llvm.h" -o "$build/llvm.pch"
}

configure "$build/mneme" mlir "X86;NVPTX" ON -DMLIR_LINK_MLIR_DYLIB=OFF
[ -e "$build/llvm.pch" ] || precompile_headers
cmake --build "$build/mneme" ${JOBS:+-j "$JOBS"} --target check-mneme
DESTDIR=$build/installed cmake --build "$build/mneme" --target install-mneme
