#!/bin/bash
# compile.sh FOLDER CLANG ARG...: compiles a program of a test. FOLDER lives as long as one run of lit and has
# - the outputs of commands whose inputs are files of the sources: an equal command of another test copies them;
# - precompiled headers, from the second command with the same options on: CUDA's headers are most of a compilation.
# The output is that of the command with -fuse-ld=lld, byte for byte, but for names that -fgpu-rdc makes of it. A command
# with an option that is unknown here runs unchanged, as does one whose headers clang refuses.
folder=$1
shift
case " $* " in
*' -c '* | *' -S '* | *' -emit-llvm '* | *-only* | *-fuse-ld=*) ;;
# GNU ld reads all of LLVM to link a program with an emulated runtime.
*) [ ! -x "${1%/*}/ld.lld" ] || set -- "$@" -fuse-ld=lld ;;
esac
command=("$@") key=("$1") options=("$1") withoutDefines=("$1") sources=()
defines= language= output= keep=1 headers=1
plain() { exec "${command[@]}"; }
[ -z "$MNEME_SOURCE" ] || plain
shift
# -D of a name of the test's own, which no header knows.
isOwn() { [[ $1 == -D* && $1 != -D@(_|CUDA|NDEBUG)* ]]; }
for argument; do isOwn "$argument" || withoutDefines+=("$argument"); done
while [ $# != 0 ]; do
  key+=("$1")
  case $1 in
  -o)
    [ -z "$output" ] || plain
    unset 'key[-1]'
    output=$2
    case $output in - | /dev/*) plain ;; esac
    shift
    ;;
  -c | -S | -emit-llvm | --cuda-device-only | --offload-device-only | --offload-link) ;;
  -fuse-ld=* | -fpass-plugin=* | -l* | -L* | -Wl,-rpath,* | -cuid=*) ;;
  -fplugin=*) keep= ;;
  -mllvm)
    keep=
    shift
    ;;
  -W[alp],*) plain ;;
  -no-pie | -shared | -O* | -std=* | -W*) options+=("$1") ;;
  --driver-mode=* | --cuda-path=* | --offload-arch=*) options+=("$1") ;;
  -fPIC | -fvisibility=* | -fno-discard-value-names | -ffast-math | -frounding-math | -fgpu-rdc) options+=("$1") ;;
  # clang refuses precompiled headers beside the name of a test, but not beside a header.
  -D*)
    if isOwn "$1"; then
      name=${1#-D} value=1
      case $name in *=*) value=${name#*=} name=${name%%=*} ;; esac
      defines+="#define $name $value"$'\n'
    else
      options+=("$1")
    fi
    ;;
  -I/*)
    options+=("$1")
    case $1 in -I"${folder%/*}"/*) keep= ;; esac
    ;;
  -isystem)
    options+=("$1" "$2") key+=("$2")
    shift
    ;;
  -x)
    [ "$2" = cuda ] && language=.cu || headers=
    key+=("$2")
    shift
    ;;
  -include)
    headers= key+=("$2")
    shift
    ;;
  -nogpuinc | -nogpulib | -fdeclspec) headers= ;;
  *.cu | *.cpp)
    sources+=("$1")
    case $1 in
    "${folder%/*}"/* | [!/]*) keep= ;;
    esac
    ;;
  # Inputs of the linker may change.
  *.o | *.a | *.so) keep= ;;
  *) plain ;;
  esac
  shift
done
[ -n "$output" ] && [ ${#sources[@]} = 1 ] || plain
case ${sources[0]}$language in *.cpp) headers= ;; esac

name() { printf '%s\0' "$@" | sha1sum | cut -c1-40; }
if [ -n "$keep" ]; then
  kept=$folder/$(name "${key[@]}")
  # Another test with the same command waits.
  exec 9> "$kept.lock"
  flock 9
  cp --remove-destination "$kept" "$output" 2> /dev/null && exit
fi
best=("${command[@]}")
if [ -n "$headers" ]; then
  group=$folder/$(name "${options[@]}")
  exec 8> "$group.lock"
  flock 8
  if ! [ -e "$group.cu" ]; then
    : > "$group.cu"
  elif ! [ -e "$group" ]; then
    mkdir "$group"
    for side in host device; do
      "${options[@]}" -w -Qunused-arguments -fsyntax-only --offload-$side-only -Xclang -emit-pch -Xclang -o -Xclang "$group/$side" \
        "$group.cu" > /dev/null 2>&1 || rm -f "$group"/*
    done
  fi
  exec 8>&-
  if [ -e "$group/device" ] && [ -e "$group/host" ]; then
    best=("${withoutDefines[@]}" -Xclang -include-pch -Xclang "$group")
    if [ -n "$defines" ]; then
      header=$folder/$(name "$defines").h
      printf %s "$defines" > "$header.$$" && mv "$header.$$" "$header"
      best+=(-include "$header")
    fi
  fi
fi
printed=$("${best[@]}" 2>&1 9>&-)
status=$?
case $printed in
'') [ $status != 0 ] || [ -z "$keep" ] || cp "$output" "$kept" ;;
*"precompiled header"* | *"PCH file"*)
  rm -f "$group"/*
  plain 9>&-
  ;;
*) printf '%s\n' "$printed" >&2 ;;
esac
exit $status
