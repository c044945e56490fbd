#!/bin/bash
# Links a libLLVM.so.22.1 with only some targets: two thirds of the size, and no library but zlib and zstd.
#
#   utils/slim-llvm.sh FILE TARGET...
#
# Functions that initialize other targets do nothing. The libraries that are left out need further ones (libxml2, libedit,
# libffi), and Mneme calls none of them. Nothing calls Z3, whose functions abort.
set -euo pipefail
file=$1 keep=" ${*:2} " out='/libLLVM(WindowsManifest|LineEditor|Interpreter|TableGen'
for target in $(llvm-config-22 --targets-built); do
  case $keep in *" $target "*) continue ;; esac
  out="$out|${target}[A-Z]"
  for part in AsmParser AsmPrinter Disassembler Target TargetInfo TargetMC TargetMCA; do
    echo "void LLVMInitialize$target$part(void) {}"
  done
done >"$file.c"
nm -u "$(llvm-config-22 --libdir)/libLLVMSupport.a" 2>/dev/null |
  sed -n 's/^ *U \(Z3_.*\)/void \1(void) { __builtin_trap(); }/p' | sort -u >>"$file.c"
echo 'LLVM_22.1 { global: *; };' >"$file.map"
read -ra all < <(llvm-config-22 --link-static --libfiles all)
mapfile -t all < <(printf '%s\n' "${all[@]}" | grep -Ev "$out)")
# shellcheck disable=SC2016 # $ORIGIN is for the dynamic linker
clang++-22 -fuse-ld=lld -shared -fPIC -x c "$file.c" -x none -Wl,--whole-archive "${all[@]}" -Wl,--no-whole-archive \
  -Wl,-soname,libLLVM.so.22.1,--version-script="$file.map",-z,defs,-Bsymbolic-functions,-s,-rpath,'$ORIGIN' \
  -lz -lzstd -lm -lpthread -o "$file"
rm "$file.c" "$file.map"
