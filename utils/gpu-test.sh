#!/bin/bash
# Tests and measures Mneme on this machine's GPU with what gpu-pack.sh has packed.
#
#   utils/gpu-test.sh [options] <folder of the archives>
#
#   --limit=S         seconds for everything (default: 540)
#   --steps=A,B,...   of smoke, memory, examples, bisect, hecbench, bench, tune, deploy, jit,
#                     others, python (default: up to bench, in this order; on an AMD GPU smoke
#                     and memory)
#   --output=DIR      results: report.txt, log.txt, JSON (default: mneme-gpu-results)
#   --work=DIR        where to unpack and to record (default: /tmp/mneme-gpu)
#   --device=NAME     cuda:0 (default), or hip:0 on a machine with an AMD GPU; what else replays is found by the tools
#   --only=A,B,...    of the programs of hecbench
#   --bisect=A,B,...  parts of utils/gpu-bisect.py (default: planted,reduce,programs)
#   --bench=A,B,...   parts of benchmarks/run.py (default: gpu)
#   --tune=A,B,...    parts of utils/gpu-tune.py (default: rates,launches,speedups)
#   --tune-options=S  more options of it, as for a shell
#   --deploy=A,B      parts of utils/gpu-deploy.py (default: right,tuned)
#   --deploy-options=S  more options of it, as for a shell
#   --jit=A,B,...     parts of utils/gpu-jit.py (default: programs,figures,proteus)
#   --jit-options=S   more options of it, as for a shell
#   --others=A,B,...  steps of utils/gpu-others.py (default: its own)
#   --others-options=S  more options of it, as for a shell
#   --python-options=S  options of utils/gpu-python.py, as for a shell
#
# Exits with 0 when every step did, with 1 when one failed or there was no time for it.
set -uo pipefail
limit=540 steps= output=mneme-gpu-results work=/tmp/mneme-gpu
device=cuda:0 only= bisect=planted,reduce,programs bench=gpu tune=rates,launches,speedups tune_options=
deploy=right,tuned deploy_options= jit=programs,figures,proteus jit_options= others= others_options= python_options= archives=
die() {
  echo "gpu-test: error: $*" >&2
  exit 1
}
for arg in "$@"; do
  case $arg in
    --limit=*) limit=${arg#*=} ;;
    --steps=*) steps=${arg#*=} ;;
    --output=*) output=${arg#*=} ;;
    --work=*) work=${arg#*=} ;;
    --device=*) device=${arg#*=} ;;
    --only=*) only=${arg#*=} ;;
    --bisect=*) bisect=${arg#*=} ;;
    --bench=*) bench=${arg#*=} ;;
    --tune=*) tune=${arg#*=} ;;
    --tune-options=*) tune_options=${arg#*=} ;;
    --deploy=*) deploy=${arg#*=} ;;
    --deploy-options=*) deploy_options=${arg#*=} ;;
    --jit=*) jit=${arg#*=} ;;
    --jit-options=*) jit_options=${arg#*=} ;;
    --others=*) others=${arg#*=} ;;
    --others-options=*) others_options=${arg#*=} ;;
    --python-options=*) python_options=${arg#*=} ;;
    -h | --help)
      sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
      exit 0
      ;;
    -*) die "unknown option '$arg'" ;;
    *) archives=$arg ;;
  esac
done
[ -f "$archives/mneme-gpu.tar.xz" ] || die "no mneme-gpu.tar.xz in '$archives'"
kind=${device%%:*}
if [ -z "$steps" ]; then
  steps=smoke,memory
  [ "$kind" = hip ] || steps=$steps,examples,bisect,hecbench,bench
fi
SECONDS=0
mkdir -p "$output" "$work"
output=$(realpath "$output") work=$(realpath "$work") archives=$(realpath "$archives")
report=$output/report.txt log=$output/log.txt
: >"$report"
: >"$log"

# Unpacked once, until the archives change.
for archive in "$archives"/*.tar.xz; do
  stamp=$work/$(basename "$archive").cksum
  if [ "$(cksum <"$archive")" != "$(cat "$stamp" 2>/dev/null)" ]; then
    tar -C "$work" -xJf "$archive" || die "cannot unpack '$archive'"
    cksum <"$archive" >"$stamp"
  fi
done
export LD_LIBRARY_PATH=$work/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
for library in libstdc++.so.6 libgcc_s.so.1; do
  ldconfig -p 2>/dev/null | grep -q "$library" ||
    LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$work/lib-fallback
done
for dir in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
  if [ -n "$dir" ] && [ -x "$dir/bin/ptxas" ]; then
    export CUDA_HOME=$dir
    LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$dir/lib64:$dir/extras/CUPTI/lib64
    break
  fi
done

export PATH=$work/bin:$PATH # clang, or ld.lld
# Programs were linked for ROCm 6; their functions are the same in other releases.
if [ "$kind" = hip ]; then
  for dir in "${ROCM_PATH:-}" /opt/rocm; do
    if [ -n "$dir" ] && [ -f "$dir/lib/libamdhip64.so" ]; then
      LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$dir/lib
      [ -f "$dir/lib/libamdhip64.so.6" ] || ln -sf "$dir/lib/libamdhip64.so" "$work/lib/libamdhip64.so.6"
      PATH=$PATH:$dir/bin
      break
    fi
  done
fi

say() { printf '%s\n' "$*" | tee -a "$report"; }
left() { echo $((limit - SECONDS)); }
# limited SECONDS COMMAND...: no longer than that, nor than what is left.
limited() {
  local most=$1
  shift
  [ "$(left)" -lt "$most" ] && most=$(left)
  if [ "$most" -le 0 ]; then
    echo "out of time: $*" >>"$log"
    return 124
  fi
  echo "+ $*" >>"$log"
  timeout -k 5 "$most" "$@"
}
programs() { # seconds, log's name, options...
  local most=$1 name=$2
  shift 2
  # It ends by itself, and writes what it has got, before it is killed.
  local seconds=$most
  [ "$(left)" -lt "$seconds" ] && seconds=$(left)
  limited "$most" python3 "$work/utils/gpu-programs.py" run --tools="$work/bin" \
    --work="$work/run-$name" --json="$output/$name.json" --seconds=$((seconds - 10)) "$@" \
    2>>"$log" | tee -a "$report"
}

# $device through liboffload, which numbers the NVIDIA GPUs first.
offload_device() {
  local before=0
  if [ "$kind" = hip ]; then
    before=$(limited 60 "$work/bin/llvm-mneme-replay" --list-devices 2>>"$log" | grep -c "^cuda:")
  fi
  echo "offload:$((before + ${device#*:}))"
}

smoke() {
  local status=0 test name out
  say "== machine"
  if [ "$kind" = hip ]; then
    { rocminfo 2>/dev/null | grep -E 'Marketing Name|Name: +(gfx|amdgcn)' || echo "no rocminfo"; } | tee -a "$report"
    { cat /sys/module/amdgpu/version 2>/dev/null || echo "no amdgpu driver"; } | tee -a "$report"
  else
    { nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm \
      --format=csv,noheader 2>/dev/null || echo "no nvidia-smi"; } | tee -a "$report"
    { "${CUDA_HOME:-}/bin/ptxas" --version 2>/dev/null | tail -n 1; } | tee -a "$report"
  fi
  limited 60 "$work/bin/llvm-mneme-replay" --list-devices 2>&1 | tee -a "$report"
  say "== unit tests"
  for test in "$work"/tests/*; do
    name=$(basename "$test")
    out=$(cd "$work" && limited 120 "$test" 2>&1) || status=1
    printf '%s\n' "$out" >>"$log"
    say "$(printf '%-24s %s' "$name" "$(printf '%s\n' "$out" |
      sed -n 's/^\[  \(PASSED\|SKIPPED\|FAILED\)  \] \([0-9]* tests\?\).*/\1 \2/p' | tr '\n' ' ')")"
    printf '%s\n' "$out" | sed -n 's/^\[  FAILED  \] \([A-Za-z].*\)/    \1/p' | sort -u | tee -a "$report"
  done
  return $status
}

# Programs of the tests, by the lines of gpu-memory.txt or gpu-memory-amd.txt: alone, recorded, replayed on every
# device and the host.
memory() {
  local status=0 program gpus options folder out device_name devices list lines=0
  gpus=$(limited 60 "$work/bin/llvm-mneme-replay" --list-devices 2>>"$log" | grep -c "^$kind:")
  say "== memory, on $gpus GPUs"
  devices="$device $(offload_device)" list=gpu-memory-amd.txt
  if [ "$kind" = cuda ]; then list=gpu-memory.txt; fi
  if [ "$gpus" -gt 1 ]; then devices="$devices $kind:1"; fi
  while IFS="|" read -r program options <&3; do
    read -r program <<<"$program"
    lines=$((lines + 1)) folder=$work/run-memory/$lines
    rm -rf "$folder"
    out=$(limited 60 "$work/memory/$program" 2>&1) || status=1
    say "$program$options: ${out##*$'\n'}"
    # shellcheck disable=SC2086
    out=$(limited 90 "$work/bin/llvm-mneme-record" --device="$kind" -o "$folder" $options -- \
      "$work/memory/$program" arena 2>&1) || {
      status=1
      say "    FAILED"
    }
    printf '%s\n' "$out" >>"$log"
    printf '%s\n' "$out" | grep -v '^mneme: .* s spent' | grep '^all is well\|^mneme\|\.cu:' |
      sed 's/^/    /' | tee -a "$report"
    for device_name in $devices host; do
      out=$(limited 120 python3 "$work/utils/replay-all.py" "$work/bin/llvm-mneme-replay" \
        "$folder" "$device_name" 2>&1) || status=1
      printf '%s\n' "$out" >>"$log"
      say "    $device_name: $(printf '%s\n' "$out" | sed 's/.*: //' | sort | uniq -c | tr -s ' \n' ' ')"
      printf '%s\n' "$out" | grep -v ': Match$' | grep -qv 'was recorded without IR: it runs on an' && status=1
    done
  done 3< <(grep -v "^#" "$work/utils/$list")
  return $status
}

examples() {
  local status=0 devices
  devices=$device,$(offload_device),host
  say "== examples, replayed on $devices"
  programs 150 examples --programs="$work/examples" --list="$work/utils/gpu-examples.txt" \
    --devices="$devices" --pipelines=own,O1,O3 --baseline --repeat=1 --record-repeat=1 --jobs=5 \
    --replay-jobs=8 || status=1
  say "== examples with the static runtime and the old offloading driver"
  programs 60 examples-static --programs="$work/examples-static" \
    --list="$work/utils/gpu-examples.txt" --devices="$device" --pipelines=O3 --repeat=1 \
    --record-repeat=1 --jobs=8 --replay-jobs=8 || status=1
  return $status
}

bisect() {
  say "== bisection"
  limited 240 python3 "$work/utils/gpu-bisect.py" --tools="$work/bin" --plugin="$work/lib/FaultPasses.so" \
    --examples="$work/examples" --programs="$work/programs" --list="$work/utils/gpu-bisect.txt" \
    --work="$work/run-bisect" --device="$device" --parts="$bisect" --json="$output/bisect.json" \
    --seconds="$(($(left) < 240 ? $(left) - 10 : 230))" 2>>"$log" | tee -a "$report"
}

hecbench() {
  local most=600
  # Benchmarks have to get theirs.
  case $steps in *,bench | *,bench,*) most=$(($(left) - 200)) ;; esac
  say "== programs"
  programs "$most" hecbench --programs="$work/programs" --list="$work/utils/gpu-hecbench.txt" \
    --devices="$device" --pipelines=O3 --baseline --repeat=2 --rst="$output/hecbench.rst" ${only:+--only="$only"}
}

bench() {
  say "== benchmarks"
  limited 600 python3 "$work/benchmarks/run.py" --build="$work" --only="$bench" --device="$device" \
    --faults-on="$device" --searches=full \
    --programs="$work/programs" --output="$output/bench.json" --seconds="$(($(left) - 10))" 2>>"$log" | tee -a "$report"
}

tune() {
  say "== tuning"
  # shellcheck disable=SC2086
  limited 1800 python3 "$work/utils/gpu-tune.py" --tools="$work/bin" --programs="$work/programs" \
    --examples="$work/examples" --work="$work/run-tune" --device="$device" --parts="$tune" \
    --json="$output/tune.json" --seconds="$(($(left) - 10))" $tune_options 2>>"$log" | tee -a "$report"
  # What a report looks like.
  find "$work/run-tune" -name report.html -size -1000k -exec cp {} "$output/" \; -quit
}

deploy() {
  say "== deployment"
  # shellcheck disable=SC2086
  limited 1800 python3 "$work/utils/gpu-deploy.py" --tools="$work/bin" --programs="$work/programs" \
    --work="$work/run-deploy" --device="$device" --parts="$deploy" --json="$output/deploy.json" \
    --seconds="$(($(left) - 10))" $deploy_options 2>>"$log" | tee -a "$report"
}

jit() {
  say "== JIT"
  # shellcheck disable=SC2086
  limited 1800 python3 "$work/utils/gpu-jit.py" --root="$work" --work="$work/run-jit" --parts="$jit" \
    --packages="$work/run-deploy" \
    --json="$output/jit.json" --seconds="$(($(left) - 10))" $jit_options 2>>"$log" | tee -a "$report"
}

others() {
  say "== kernels of other compilers"
  # shellcheck disable=SC2086
  limited 1800 python3 "$work/utils/gpu-others.py" --tools="$work/bin" --output="$output" --work="$work/run-others" \
    ${others:+--steps="$others"} --seconds="$(($(left) - 5))" $others_options 2>>"$log"
}

python() {
  say "== Python"
  # shellcheck disable=SC2086
  limited 1800 python3 "$work/utils/gpu-python.py" --tools="$work/bin" --examples="$work/examples" \
    --plugin="$work/lib/FaultPasses.so" --work="$work/run-python" --device="$device" --json="$output/python.json" \
    --seconds="$(($(left) - 60))" $python_options 2>>"$log" | tee -a "$report"
}

failed=
for step in ${steps//,/ }; do
  case $step in smoke | memory | examples | bisect | hecbench | bench | tune | deploy | jit | others | python) ;; *) die "unknown step '$step'" ;; esac
  start=$SECONDS
  "$step" || failed="$failed $step"
  say "-- $step: $((SECONDS - start)) s"
done
if [ -n "$failed" ]; then
  say "FAILED:$failed ($SECONDS s)"
  exit 1
fi
say "all steps passed ($SECONDS s)"
