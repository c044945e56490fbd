#!/bin/bash
# Sets up a Debian 12 machine, builds Mneme and passes its tests. One command, no
# GPU needed; where there is one, the same tests use it.
#
#   utils/check.sh [--minutes=N] [--sanitizers[=readers]] [--install-only]
#
#   --minutes=N       the tests of test/long-tests.txt, a quarter of all, run last, in random order, and
#                     end when N minutes have passed (default: 32; 0: all tests run, however long they take)
#   --sanitizers      everything once more under ASan and UBSan; with "=readers",
#                     unit tests of the libraries that read what others
#                     write
set -euo pipefail
cd "$(dirname "$0")/.."
. utils/setup.sh

sanitizers= minutes=32
readers=(Mneme{Support,Record,Pipeline}Tests)
for arg in "$@"; do
  case "$arg" in
    --minutes=*)
      minutes=${arg#*=}
      [[ $minutes =~ ^[0-9]+$ ]] || { echo "error: --minutes needs a number, got '$minutes'" >&2; exit 1; } ;;
    --sanitizers) sanitizers=all ;;
    --sanitizers=readers) sanitizers=readers ;;
    --install-only) mneme_install_packages; mneme_install_mcp build; exit ;;
    *) echo "error: unknown option '$arg'" >&2; exit 1 ;;
  esac
done

# lit FOLDER NAME ARG...: runs tests of a build folder. Many of them wait, so each core gets two.
lit() {
  local folder=$1 name=$2
  shift 2
  "$folder/bin/llvm-lit" -sv -j$((2 * $(nproc))) --xunit-xml-output="$folder/$name.xml" "$@"
}

# run_tests FOLDER PART MINUTES: runs the tests of a build folder below its folder PART and ends with one line
# that counts them.
run_tests() {
  local status=0 minutes=$3 long left
  long=$(grep -v '^#' test/long-tests.txt | paste -sd'|')
  rm -f "$1"/{tests,long-tests}.xml
  if [ "$minutes" = 0 ]; then
    lit "$1" tests "$1/$2" || status=$?
  else
    lit "$1" tests --filter-out="$long" "$1/$2" || status=$?
    left=$((minutes * 60 - SECONDS))
    [ $left -le 0 ] ||
      lit "$1" long-tests --filter="$long" --allow-empty-runs --order=random --max-time=$left "$1/$2" || status=$?
  fi
  python3 - "$1"/{tests,long-tests}.xml <<'END'
import os, sys, xml.etree.ElementTree as ET
results = {}
for file in filter(os.path.exists, sys.argv[1:]):
    for case in ET.parse(file).getroot().iter("testcase"):
        name = case.get("classname"), case.get("name")
        result = "failed" if case.find("failure") is not None else "skipped" if case.find("skipped") is not None else "passed"
        if results.get(name, "skipped") == "skipped":
            results[name] = result
print(", ".join("%d %s" % (list(results.values()).count(r), r) for r in ("passed", "failed", "skipped")))
END
  [ "$minutes" = 0 ] || echo "note: long tests ran for as long as $minutes minutes allowed; --minutes=0 runs all of them"
  return $status
}

mneme_install_packages
mneme_install_mcp build || echo "note: tests of the server for agents will be skipped"
mneme_find_cuda || echo "note: tests that compile CUDA programs will be skipped"

mneme_configure default build -DMNEME_PLUGIN_LLVM_DIRS=$MNEME_OTHER_LLVM ${CUDA_PATH:+-DMNEME_CUDA_PATH="$CUDA_PATH"}
cmake --build --preset default --target all MnemeUnitTests
run_tests build test "$minutes"

if [ -n "$sanitizers" ]; then
  # What is compiled for a few tests is compiled faster than it runs.
  flags=()
  [ $sanitizers = all ] || flags=(-DCMAKE_CXX_FLAGS_RELEASE="-O0 -DNDEBUG")
  mneme_configure asan build-asan ${CUDA_PATH:+-DMNEME_CUDA_PATH="$CUDA_PATH"} "${flags[@]}"
fi
case $sanitizers in
  all)
    cmake --build --preset asan --target all MnemeUnitTests
    run_tests build-asan test 0
    ;;
  readers)
    cmake --build --preset asan --target "${readers[@]}"
    run_tests build-asan test/Unit 0
    ;;
esac
