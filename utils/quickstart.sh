#!/bin/bash
# From a fresh Debian 12 machine to kernels recorded and replayed: installs what is
# missing, builds Mneme and the examples, records every example on the host device,
# replays every kernel under several pipelines and prints a table.
#
#   utils/quickstart.sh [--no-install] [--no-build] [output folder]
#
# Exits with 0 when everything was recorded and every replay was verified.
# LLVM 22 is in Debian 12's security archive.
# A CUDA toolkit is looked for in $CUDA_HOME, $CUDA_PATH and /usr/local/cuda; no GPU
# and no driver are needed. BUILD names the build folder (default: build).
set -euo pipefail

ROOT=$(cd "$(dirname "$0")/.." && pwd)
BUILD=${BUILD:-$ROOT/build}
INSTALL=1
DO_BUILD=1
OUT=
for arg in "$@"; do
  case $arg in
  --no-install) INSTALL=0 ;;
  --no-build) DO_BUILD=0 ;;
  -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
  -*) echo "quickstart: unknown option '$arg'" >&2; exit 1 ;;
  *) OUT=$arg ;;
  esac
done
OUT=${OUT:-$BUILD/quickstart}

PACKAGES=(llvm-22-dev llvm-22-tools clang-22 clang-tools-22 lld-22 libzstd-dev
  libxxhash-dev zlib1g-dev googletest ninja-build cmake make python3 g++)

say() { printf '\n== %s\n' "$*"; }
die() { echo "quickstart: error: $*" >&2; exit 1; }

# 1. Packages
if [ "$INSTALL" = 1 ]; then
  command -v dpkg-query >/dev/null ||
    die "no dpkg here: install the counterparts of '${PACKAGES[*]}' and give --no-install"
  missing=()
  for p in "${PACKAGES[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] ||
      missing+=("$p")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    say "installing ${missing[*]}"
    SUDO=
    if [ "$(id -u)" != 0 ]; then
      command -v sudo >/dev/null || die "run as root, or install sudo"
      SUDO=sudo
    fi
    $SUDO apt-get update
    $SUDO apt-get install -y --no-install-recommends "${missing[@]}" ||
      die "could not install ${missing[*]}; LLVM 22 is in bookworm-security"
  fi
fi

# 2. CUDA toolkit
CUDA=
for dir in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
  if [ -n "$dir" ] && [ -f "$dir/include/cuda_runtime.h" ]; then
    CUDA=$dir
    break
  fi
done
[ -n "$CUDA" ] || die "no CUDA toolkit: set CUDA_HOME to a folder with include/cuda_runtime.h"
export CUDA_HOME=$CUDA CUDA_PATH=$CUDA
say "CUDA toolkit in $CUDA"

# 3. Build
if [ "$DO_BUILD" = 1 ]; then
  say "building in $BUILD"
  (cd "$ROOT" && cmake --preset default -B "$BUILD" >/dev/null)
  cmake --build "$BUILD"
fi
RECORD=$BUILD/bin/llvm-mneme-record
REPLAY=$BUILD/bin/llvm-mneme-replay
PASS=$BUILD/lib/MnemePass.so
for f in "$RECORD" "$REPLAY" "$PASS"; do
  [ -f "$f" ] || die "the build has not made $f"
done

# 4. Examples
say "compiling the examples with MnemePass"
mkdir -p "$OUT"
make -s -C "$ROOT/examples" -j"$(nproc)" OUT="$OUT/bin" MNEME_PASS="$PASS" \
  CUDA_PATH="$CUDA"

# 5. Record
say "recording on the host device"
rm -rf "$OUT/rec"
failed=0
databases=()
for p in vecadd saxpy jacobi reduce histogram matmul nbody spmv montecarlo miniapp; do
  mkdir -p "$OUT/rec"
  if "$RECORD" --device=host --max-recordings=2 -o "$OUT/rec/$p" -- "$OUT/bin/$p" \
    >"$OUT/rec/$p.out" 2>"$OUT/rec/$p.err"; then
    tail -n 1 "$OUT/rec/$p.out"
    databases+=("$OUT/rec/$p")
  else
    echo "$p: FAILED" >&2
    tail -n 5 "$OUT/rec/$p.out" "$OUT/rec/$p.err" >&2
    failed=1
  fi
done
[ ${#databases[@]} -gt 0 ] || die "nothing was recorded"

# 6. Replay
say "replaying every recorded launch (times on the host device, finish none)"
python3 "$ROOT/utils/summarize.py" --replay="$REPLAY" "${databases[@]}" || failed=1
say "recordings are in $OUT/rec"
exit $failed
