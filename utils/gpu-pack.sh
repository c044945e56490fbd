#!/bin/bash
# Packs what Mneme needs to be tested and measured on a machine that has a GPU, its
# driver, a CUDA toolkit and Python, but no LLVM:
#
#   utils/gpu-pack.sh [options] <output folder>
#   ... carry the folder there, and run ...
#   utils/gpu-test.sh <output folder>
#
# The folder gets mneme-gpu-libs.tar.xz (libLLVM with the targets that are needed, clang's
# library, liboffload and what they need; made again only when they change) and mneme-gpu.tar.xz
# (tools, clang, runtimes, unit tests, examples with their sources, benchmarks, programs).
#
#   --build=DIR       Mneme's build folder (default: build)
#   --no-build        take what is built; else all, unit tests and benchmarks are built first
#   --amd=ARCH,...    for a machine with an AMD GPU and ROCm: gfx90a,gfx942. Packs the tools, unit tests and
#                     the programs of gpu-memory-amd.txt, compiled for these processors
#   --programs=DIR    executables to measure, as "gpu-programs.py build" leaves them
#   --proteus=DIR     sources of Proteus (commit e587017), whose test programs are built for the step jit
#   --openmp=DIR      OpenMP programs for the step others, as openmp-programs.py leaves them
#   --numba=PYTHON    an interpreter that has numba-cuda, which compiles kernels for the step others
#   --tests=PATTERN   unit tests to pack (default: *)
#   --limit=MIB       fail when both archives together are larger (default: 54)
#   --level=N         of xz for mneme-gpu.tar.xz (default: 9)
set -Eeuo pipefail
ROOT=$(cd "$(dirname "$0")/.." && pwd)
. "$ROOT/utils/setup.sh"

BUILD=$ROOT/build build=1 programs= proteus= openmp= numba= tests='*' limit=54 level=9 out= amd=
die() {
  echo "gpu-pack: error: $*" >&2
  exit 1
}
trap 'die "failed in line $LINENO"' ERR
for arg in "$@"; do
  case $arg in
    --build=*) BUILD=$(realpath "${arg#*=}") ;;
    --no-build) build=0 ;;
    --amd=*) amd=${arg#*=} ;;
    --programs=*) programs=$(realpath "${arg#*=}") ;;
    --proteus=*) proteus=$(realpath "${arg#*=}") ;;
    --openmp=*) openmp=$(realpath "${arg#*=}") ;;
    --numba=*) numba=${arg#*=} ;;
    --tests=*) tests=${arg#*=} ;;
    --limit=*) limit=${arg#*=} ;;
    --level=*) level=${arg#*=} ;;
    -h | --help)
      sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
      exit 0
      ;;
    -*) die "unknown option '$arg'" ;;
    *) out=$arg ;;
  esac
done
[ -n "$out" ] || die "no output folder"
mkdir -p "$out"
out=$(realpath "$out") work=$BUILD/gpu-pack
if [ -z "$amd" ]; then
  mneme_find_cuda
  export CUDA_PATH
fi

if [ "$build" = 1 ]; then
  cmake --build "$BUILD" --target all MnemeUnitTests mneme-benchmarks -- --quiet
fi

# The examples, once as most programs are built, once as CMake and older clangs do: with the
# static CUDA runtime and the old offloading driver.
examples() { # folder, more options...
  local folder=$work/$1
  shift
  cmake -S "$ROOT/examples" -B "$folder" -G Ninja -DCUDA_PATH="$CUDA_PATH" \
    -DCMAKE_CXX_COMPILER=clang++-22 -DMneme_DIR="$BUILD/lib/cmake/Mneme" "$@" >/dev/null
  # The build does not know that the compiler loads the pass.
  local clean=()
  if [ "$folder/vecadd" -ot "$BUILD/lib/MnemePass.so" ]; then clean=(--clean-first); fi
  cmake --build "$folder" "${clean[@]}" -- --quiet
}
if [ -z "$amd" ]; then
  examples examples
  examples examples-static -DCMAKE_CXX_FLAGS=--no-offload-new-driver \
    "-DCUDART:STRING=$CUDA_PATH/lib64/libcudart_static.a;dl;rt;pthread"
fi

# Programs of the tests that check themselves, whatever the GPU.
rm -rf "$work/memory"
mkdir -p "$work/memory"
# HIP programs need no ROCm: the emulated runtime has the name that they load the real one by.
hip_program() { # name
  clang++-22 -x hip -std=c++17 -O2 $amd -nogpuinc -nogpulib -fdeclspec \
    -include "$ROOT/test/Instrument/Inputs/minihip.h" -I"$ROOT/test/Runtime/Hip/Inputs" -include cuda_runtime.h \
    -I"$ROOT/include" -fpass-plugin="$BUILD/lib/MnemePass.so" "$ROOT/test/Runtime/Cuda/$1.cu" \
    -L"$BUILD/lib/emulated-hip" -lamdhip64 -lpthread -o "$work/memory/$1"
}
if [ -n "$amd" ]; then
  amd=$(printf -- ' --offload-arch=%s' ${amd//,/ })
  for name in $(sed 's/#.*//; s/|.*//' "$ROOT/utils/gpu-memory-amd.txt" | sort -u); do hip_program "$name"; done
fi
for name in $([ -n "$amd" ] || sed 's/#.*//; s/|.*//; s/-static//' "$ROOT/utils/gpu-memory.txt" | sort -u); do
  clang=(clang++-22 -O2 --cuda-path="$CUDA_PATH" --offload-arch=sm_90 -Wno-unknown-cuda-version
    -isystem "$CUDA_PATH/include/cccl" -fpass-plugin="$BUILD/lib/MnemePass.so"
    "$ROOT/test/Runtime/Cuda/$name.cu")
  "${clang[@]}" -L"$CUDA_PATH/lib64" -lcudart -L"$CUDA_PATH/lib64/stubs" -lcuda -o "$work/memory/$name"
  if grep -q "^$name-static" "$ROOT/utils/gpu-memory.txt"; then
    "${clang[@]}" "$CUDA_PATH/lib64/libcudart_static.a" -ldl -lrt -lpthread -L"$CUDA_PATH/lib64/stubs" -lcuda \
      -o "$work/memory/$name-static"
  fi
done

# Annotated programs of the tests, and those of Proteus.
rm -rf "$work/jit"
mkdir -p "$work/jit"
for source in $([ -n "$amd" ] || echo "$ROOT"/test/Jit/Cuda/*.cu); do
  # They need arguments, and a launch that only the emulated driver performs.
  case $source in */prewarm.cu | */reasons.cu) continue ;; esac
  clang++-22 -std=c++17 -O2 --cuda-path="$CUDA_PATH" --offload-arch=sm_90 -Wno-unknown-cuda-version \
    -isystem "$CUDA_PATH/include/cccl" -I"$ROOT/include" -fpass-plugin="$BUILD/lib/MnemePass.so" "$source" \
    -L"$CUDA_PATH/lib64" -lcudart -o "$work/jit/$(basename "$source" .cu)"
done
if [ -n "$proteus" ]; then
  # Those that do not compile are listed.
  python3 "$ROOT/utils/proteus-tests.py" --source "$proteus" --output "$work/proteus" --build "$BUILD" \
    --cuda-path "$CUDA_PATH" --groups gpu,rdc,scale,frontend,llvmir,mlir --prebuild 2>/dev/null | grep -v ' passed' || true
fi

# One folder, laid out as the build folder is.
pack=$work/mneme-gpu libs=$work/mneme-gpu-libs
rm -rf "$pack" "$libs"
mkdir -p "$pack"/{bin,lib/mneme,tests,examples,examples-static,memory,programs,utils,benchmarks} \
  "$libs"/{lib,lib-fallback}
cp "$BUILD"/bin/llvm-mneme-* "$pack/bin/"
for file in "$BUILD"/bin/mneme-bench-* "$BUILD"/bin/mneme-package; do
  if [ -f "$file" ]; then cp "$file" "$pack/bin/"; fi
done
cp "$BUILD"/lib/libmneme_*.so "$BUILD"/lib/FaultPasses.so "$pack/lib/"
cp "$BUILD"/lib/mneme/*.so "$pack/lib/mneme/"
if [ -n "$amd" ]; then
  cp "$(llvm-config-22 --bindir)/ld.lld" "$pack/bin/"
else
  # Versions of sources and the JIT's are compiled there. Headers for other processors are large.
  cp "$(llvm-config-22 --bindir)/clang" "$pack/bin/clang++-22"
  cp "$(llvm-config-22 --bindir)"/{clang-linker-wrapper,opt,llc} "$pack/bin/"
  mkdir -p "$pack/lib/clang/22"
  cp -r "$(clang++-22 -print-resource-dir)/include" "$pack/lib/clang/22/"
  rm "$pack"/lib/clang/22/include/{arm,riscv,sifive,hexagon,hvx,vec,alti,wasm}*
fi
if [ -f "$(llvm-config-22 --bindir)/llvm-reduce" ]; then
  cp "$(llvm-config-22 --bindir)/llvm-reduce" "$pack/bin/"
fi
for file in "$BUILD"/unittests/*/Mneme$tests"Tests"; do
  if [ -f "$file" ]; then cp "$file" "$pack/tests/"; fi
done
for variant in $([ -n "$amd" ] || echo examples examples-static); do
  for name in $(sed -n 's/^\([a-z0-9]*\):.*/\1/p' "$ROOT/utils/gpu-examples.txt"); do
    cp "$work/$variant/$name" "$pack/$variant/"
  done
done
cp "$work"/memory/* "$pack/memory/"
cp -r "$work/jit" "$pack/"
if [ -n "$proteus" ]; then
  cp -r "$work/proteus" "$pack/"
  cp "$(llvm-config-22 --bindir)/FileCheck" "$pack/bin/FileCheck-22"
fi
# The programs that benchmarks/run.py starts.
(cd "$BUILD/benchmarks" && find . -type f \( -executable -o -name '*.cubin' \) ! -name '*.so' ! -path '*/CMakeFiles/*') |
  while read -r file; do
    install -D "$BUILD/benchmarks/$file" "$pack/benchmarks/$file"
  done
cp "$ROOT/benchmarks/run.py" "$pack/benchmarks/"
cp -r "$ROOT"/utils/{gpu-*,program_runs.py,rst.py,proteus-tests.py} "$ROOT/test/Runtime/Cuda/Inputs/replay-all.py" \
  "$ROOT/test/llvm-mneme-deploy/Inputs/best.py" "$pack/utils/"
cp -r "$ROOT/python" "$pack/"
# What benchmarks/Source measures is compiled there.
mkdir "$pack/benchmarks/Source"
cp "$ROOT"/benchmarks/Source/*.py "$pack/benchmarks/Source/"
cp "$ROOT"/examples/*.{cu,h} "$pack/examples/"
install -D -m 644 -t "$pack/test/Evolve/Inputs" "$ROOT/test/Evolve/Inputs/matmul.cu"
cp "$BUILD/lib/MnemePass.so" "$pack/lib/"
cp -r "$ROOT/include" "$pack/"
if [ -n "$openmp" ]; then
  mkdir "$pack/openmp"
  find "$openmp" -maxdepth 1 -type f -exec cp -t "$pack/openmp" {} +
  cp "$(llvm-config-22 --bindir)/llvm-omp-kernel-replay" "$pack/openmp/"
fi
if [ -n "$numba" ]; then
  PYTHONPATH=$ROOT/python CUDA_HOME=$CUDA_PATH "$numba" "$ROOT/utils/gpu-others/numba_images.py" save "$pack/utils/gpu-others/numba"
fi
find "$pack/utils" "$pack/python" -name __pycache__ -prune -exec rm -r {} +
if [ -n "$programs" ]; then
  find "$programs" -maxdepth 1 -type f -executable -exec cp -t "$pack/programs" {} +
fi
find "$pack" -type f \( -perm -100 -o -name '*.so' \) -exec sh -c '
  for file; do
    case $file in *.sh | *.py | *.cubin) ;; *) strip --strip-unneeded "$file" ;; esac
  done' sh {} +

# Libraries: all but the C library's, which every machine has. Those of the compiler are
# older here than there as a rule; gpu-test.sh takes them only where there are none.
llvm_lib=$(llvm-config-22 --libdir)
offload=$llvm_lib/libLLVMOffload.so.22.1
# Half as large without the other targets.
"$ROOT/utils/slim-llvm.sh" "$libs/lib/libLLVM.so.22.1" X86 NVPTX ${amd:+AMDGPU}
shopt -s nullglob
roots=("$pack"/bin/* "$pack"/tests/* "$pack"/programs/*)
for file in "$pack"/openmp/*; do
  if [ -x "$file" ]; then roots+=("$file"); fi
done
shopt -u nullglob
if [ -f "$offload" ]; then roots+=("$offload"); fi
{
  if [ -f "$offload" ]; then echo "$offload"; fi
  if [ -z "$amd" ]; then echo "$CUDA_PATH/lib64/$(basename "$(readlink "$CUDA_PATH/lib64/libcudart.so")")"; fi
  LD_LIBRARY_PATH=$libs/lib:$llvm_lib ldd "${roots[@]}" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }'
} | sort -u | while read -r file; do
  name=$(basename "$file")
  case $(realpath "$file") in
    */libcudart.so.*) ;;
    "$(realpath "${CUDA_PATH:-/usr/local/cuda}")"/*) continue ;; # of the toolkit, which the other machine has
  esac
  case $name in
    libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | ld-linux* | libmneme_*) ;;
    libcuda.so.*) ;; # the driver
    libomp.so.* | libomptarget.so.*) cp -L "$file" "$pack/lib/" ;; # of programs; the tools' archive stays the same
    libstdc++.so.* | libgcc_s.so.*) cp -L "$file" "$libs/lib-fallback/" ;;
    libLLVM.so.22.1) ;; # made above
    libz3.so.*) clang++-22 -shared -x c /dev/null -Wl,-soname,"$name" -o "$libs/lib/$name" ;; # large, and never called
    *) cp -L "$file" "$libs/lib/" ;;
  esac
done
(cd "$libs" && find . -type f -exec sha256sum {} + | sort -k2) >"$work/libs.new"
# An archive has its name once it is complete: another pack may be interrupted, or read at the same time.
compress() { # folder, archive, options of xz...
  local folder=$1 archive=$2
  shift 2
  tar -C "$folder" -cf - . | xz "$@" >"$archive.part$$" || { rm -f "$archive.part$$"; return 1; }
  mv "$archive.part$$" "$archive"
}
if ! cmp -s "$work/libs.new" "$work/libs.list" || [ ! -f "$out/mneme-gpu-libs.tar.xz" ]; then
  compress "$libs" "$out/mneme-gpu-libs.tar.xz" -T1 --x86 --lzma2=preset=9e,dict=256MiB
  mv "$work/libs.new" "$work/libs.list"
fi
compress "$pack" "$out/mneme-gpu.tar.xz" -T0 --x86 --lzma2=preset="$level"

(cd "$pack" && du -sk * | sort -rn | awk '{ printf "%8.1f MiB  %s\n", $1 / 1024, $2 }')
(cd "$libs/lib" && ls -S | head -n 4 | xargs du -k | awk '{ printf "%8.1f MiB  lib/%s\n", $1 / 1024, $2 }')
total=0
for file in "$out"/*.tar.xz; do
  size=$(stat -c %s "$file")
  total=$((total + size))
  awk -v s="$size" -v f="$(basename "$file")" 'BEGIN { printf "%8.1f MiB  %s\n", s / 1048576, f }'
done
[ $total -le $((limit << 20)) ] || die "$((total >> 20)) MiB, more than $limit"
