#!/bin/bash
# From a fresh Debian 12 machine to kernels recorded and replayed: installs what is
# missing, builds Mneme and the examples, records every example on the host device,
# replays every kernel under several pipelines, prints a table and tunes one kernel for
# some seconds. It ends with the speed-up that it found, or with what to try next.
#
#   utils/quickstart.sh [--no-install] [--no-build] [output folder]
#
# Exits with 0 when everything was recorded and every replay was verified. A CUDA
# toolkit is looked for in $CUDA_HOME, $CUDA_PATH and /usr/local/cuda; no GPU and no
# driver are needed. $BUILD names the build folder (default: build).
set -euo pipefail
ROOT=$(cd "$(dirname "$0")/.." && pwd)
: "${BUILD:=$ROOT/build}"
. "$ROOT/utils/setup.sh"

say() { printf '\n== %s\n' "$*"; }
die() {
  echo "quickstart: error: $*" >&2
  exit 1
}

install=1 build=1 out=
for arg in "$@"; do
  case $arg in
    --no-install) install=0 ;;
    --no-build) build=0 ;;
    -h | --help)
      sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
      exit 0
      ;;
    -*) die "unknown option '$arg'" ;;
    *) out=$arg ;;
  esac
done
out=$(realpath -m "${out:-$BUILD/quickstart}")

[ "$install" = 0 ] || mneme_install_packages
mneme_find_cuda
export CUDA_HOME=$CUDA_PATH CUDA_PATH

if [ "$build" = 1 ]; then
  say "building Mneme in $BUILD"
  (cd "$ROOT" && mneme_configure default "$BUILD" >/dev/null)
  # The how-tos about bisection need the plugin with faults.
  cmake --build "$BUILD" --target mneme FaultPasses
fi
record=$BUILD/bin/llvm-mneme-record
replay=$BUILD/bin/llvm-mneme-replay
tune=$BUILD/bin/llvm-mneme-tune
for file in "$record" "$replay" "$tune" "$BUILD/lib/MnemePass.so"; do
  [ -f "$file" ] || die "the build has not made $file"
done

say "compiling the examples with MnemePass, CUDA toolkit in $CUDA_PATH"
cmake -S "$ROOT/examples" -B "$out/examples" -G Ninja -DCUDA_PATH="$CUDA_PATH" \
  -DCMAKE_CXX_COMPILER=clang++-22 -DMneme_DIR="$BUILD/lib/cmake/Mneme" >/dev/null
cmake --build "$out/examples" -- --quiet

say "recording on the host device"
failed=0 recorded=()
rm -rf "$out/recordings"
mkdir -p "$out/recordings"
for name in vecadd saxpy jacobi reduce histogram matmul nbody spmv montecarlo miniapp; do
  log=$out/recordings/$name.log
  if "$record" --device=host -o "$out/recordings/$name" -- "$out/examples/$name" \
    >"$log" 2>&1; then
    grep '^[a-z]*: PASS$' "$log"
    recorded+=("$out/recordings/$name")
  else
    tail -n 20 "$log" >&2
    echo "$name: FAILED" >&2
    failed=1
  fi
done
[ ${#recorded[@]} -gt 0 ] || die "nothing was recorded"

say "replaying every recorded launch"
python3 "$ROOT/utils/summarize.py" --replay="$replay" "${recorded[@]}" || failed=1

say "tuning a kernel: shapes of its blocks, three pipelines"
rm -rf "$out/tuned"
"$tune" "$out/recordings/saxpy" --device=host --block-x=64..512:64 \
  --passes='default<{O1|O2|O3}>' --trials=16 --quiet -o "$out/tuned" || failed=1

say "the result"
python3 - "$out" "$tune" "$replay" <<'EOF' || failed=1
import glob, json, sys
out, tune, replay = sys.argv[1:]
best = json.load(open(out + "/tuned/best.json"))
speedup = best["expected"]["speedup"]
if speedup:
    print("%s is %.2f times as fast (95 %% confidence interval %.2f to %.2f) with"
          % (best["demangled_name"], speedup["value"], speedup["low"], speedup["high"]))
    print("  " + json.dumps(best["config"]))
    print("Replay it, with a baseline:")
    print("  %s %s/recordings/saxpy --config=%s/tuned/best.json --baseline=recompiled --format=text" % (replay, out, out))
else:
    print("16 trials found nothing that is significantly faster than the application's own pipeline. Search longer, "
          "in a larger space:")
    kernel = sorted(glob.glob(out + "/recordings/jacobi/*.json"))[0]
    print("  %s %s --device=host --preset=standard --budget=60" % (tune, kernel))
print("The report, for a browser: %s/tuned/report.html" % out)
print("Times on the host device are CPU times; on a GPU: docs/GPUDevice.rst. Your own program: docs/GettingStarted.rst")
EOF
exit $failed
