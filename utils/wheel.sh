#!/bin/bash
# Makes a Python wheel of the tools, the runtimes, the passes and the Python package, for machines that have Python and a clang:
#
#   cmake --preset wheel
#   utils/wheel.sh [--llvm=FILE] [--no-build] [BUILD [OUTPUT]]
#
# BUILD is the build folder (default: build-wheel), which is built first; OUTPUT receives the wheel (default: BUILD). The
# wheel runs with the C library of this machine and later ones. auditwheel, patchelf and wheel must be in PATH.
#
#   --no-build   take what is built
#   --llvm=FILE  carry this libLLVM.so.22.1 (default: one of this machine's LLVM, with Mneme's targets only)
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
die() {
  echo "wheel.sh: error: $*" >&2
  exit 1
}
llvm='' must_build=1 folders=()
for arg; do
  case $arg in
    --llvm=*) llvm=${arg#*=} ;;
    --no-build) must_build=0 ;;
    -h | --help)
      sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
      exit 0
      ;;
    -*) die "unknown option '$arg'" ;;
    *) folders+=("$arg") ;;
  esac
done
build=${folders[0]:-$root/build-wheel} out=${folders[1]:-${folders[0]:-$root/build-wheel}}
for program in auditwheel patchelf wheel; do
  command -v $program >/dev/null || die "no '$program' in PATH: pip install auditwheel patchelf wheel"
done
[ -f "$build/CMakeCache.txt" ] || die "no build folder '$build': cmake --preset wheel"
[ -z "$llvm" ] || [ -f "$llvm" ] || die "--llvm: no file '$llvm'"

[ $must_build = 0 ] || cmake --build "$build" --target mneme
mkdir -p "$out"
work=$(mktemp -d "$out/wheel.XXXXXX")
trap 'rm -rf "$work"' EXIT
# A copy, as setuptools writes into the sources.
cp -r "$root/python" "$work/source"
python3 -m pip wheel --quiet --no-deps --wheel-dir "$work/pure" "$work/source"
wheel unpack --dest "$work" "$work"/pure/*.whl
tree=$(echo "$work"/llvm_mneme-*) name=${tree##*/}
# pip installs it into the environment's folder itself, as an install tree.
prefix=$tree/$name.data/data info=$tree/$name.dist-info
cmake --install "$build" --component mneme --strip --prefix "$prefix" >/dev/null
rm -r "$prefix/share/mneme/python" # the package that was unpacked

# The libraries that machines without LLVM 22 lack, for the tools alone. A pass takes the LLVM of its compiler.
if [ -n "$llvm" ]; then
  cp -L "$llvm" "$prefix/lib/mneme/libLLVM.so.22.1"
else
  # shellcheck disable=SC2046 # a word each
  "$root/utils/slim-llvm.sh" "$prefix/lib/mneme/libLLVM.so.22.1" \
    $(sed -n '/^MNEME_TARGETS:/{s/.*=//;s/;/ /gp}' "$build/CMakeCache.txt")
fi
cp -L "$(ldd "$build/bin/llvm-mneme-record" | awk '$1 == "libzstd.so.1" { print $3 }')" "$prefix/lib/mneme/"
# shellcheck disable=SC2016 # $ORIGIN is for the dynamic linker
patchelf --set-rpath '$ORIGIN/../lib/mneme' "$prefix"/bin/*mneme-*
patchelf --remove-rpath "$prefix"/lib/MnemePass*.so

mkdir -p "$info/licenses"
cp "$root/LICENSE.TXT" "$info/licenses/"
for package in libllvm22 libzstd1 libxxhash-dev; do
  cp "/usr/share/doc/$package/copyright" "$info/licenses/$package.txt"
done

sed -i "s/^Root-Is-Purelib: .*/Root-Is-Purelib: false/; s/^Tag: .*/Tag: py3-none-linux_$(uname -m)/" "$info/WHEEL"
wheel pack --dest-dir "$work" "$tree"
# Finds the oldest C library that has all symbols, and libraries that are neither carried nor everywhere. Those of the
# excluded names are in a compiler, in a GPU's driver, or already in the process.
auditwheel repair --wheel-dir "$out" --exclude 'libLLVM.so.*' --exclude libcuda.so.1 --exclude libhsa-runtime64.so.1 \
  --exclude libmneme_rt.so "$work/$name"-*.whl
