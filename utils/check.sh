#!/bin/bash
# Sets up a Debian 12 machine, builds Mneme and passes its tests. One command, no
# GPU needed; where there is one, the same tests use it.
#
#   utils/check.sh [--sanitizers[=readers]] [--install-only]
#
#   --sanitizers      everything once more under ASan and UBSan; with "=readers",
#                     unit tests of the libraries that read what others
#                     write
set -euo pipefail
cd "$(dirname "$0")/.."
. utils/setup.sh

sanitizers=
readers=(Mneme{Support,Record,Pipeline}Tests)
for arg in "$@"; do
  case "$arg" in
    --sanitizers) sanitizers=all ;;
    --sanitizers=readers) sanitizers=readers ;;
    --install-only) mneme_install_packages; mneme_install_mcp build; exit ;;
    *) echo "error: unknown option '$arg'" >&2; exit 1 ;;
  esac
done

# Runs the tests of build folder $1 below its folder $2 and ends with one line that
# counts them. Many of them wait, so each core gets two.
run_tests() {
  local status=0
  "$1/bin/llvm-lit" -sv -j$((2 * $(nproc))) --xunit-xml-output="$1/tests.xml" "$1/$2" || status=$?
  python3 - "$1/tests.xml" <<'END'
import sys, xml.etree.ElementTree as ET
suites = list(ET.parse(sys.argv[1]).getroot().iter("testsuite"))
total, failed, skipped = (sum(int(s.get(k)) for s in suites) for k in ("tests", "failures", "skipped"))
print("%d passed, %d failed, %d skipped" % (total - failed - skipped, failed, skipped))
END
  return $status
}

mneme_install_packages
mneme_install_mcp build || echo "note: tests of the server for agents will be skipped"
mneme_find_cuda || echo "note: tests that compile CUDA programs will be skipped"

mneme_configure default build -DMNEME_PLUGIN_LLVM_DIRS=$MNEME_OTHER_LLVM ${CUDA_PATH:+-DMNEME_CUDA_PATH="$CUDA_PATH"}
cmake --build --preset default --target all MnemeUnitTests
run_tests build test

if [ -n "$sanitizers" ]; then
  # What is compiled for a few tests is compiled faster than it runs.
  flags=()
  [ $sanitizers = all ] || flags=(-DCMAKE_CXX_FLAGS_RELEASE="-O0 -DNDEBUG")
  mneme_configure asan build-asan ${CUDA_PATH:+-DMNEME_CUDA_PATH="$CUDA_PATH"} "${flags[@]}"
fi
case $sanitizers in
  all)
    cmake --build --preset asan --target all MnemeUnitTests
    run_tests build-asan test
    ;;
  readers)
    cmake --build --preset asan --target "${readers[@]}"
    run_tests build-asan test/Unit
    ;;
esac
