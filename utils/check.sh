#!/bin/bash
# Sets up a Debian 12 machine, builds Mneme and passes its tests. One command, no
# GPU needed; where there is one, the same tests use it.
#
#   utils/check.sh [--sanitizers] [--install-only]
set -euo pipefail
cd "$(dirname "$0")/.."
. utils/setup.sh

sanitizers=0
for arg in "$@"; do
  case "$arg" in
    --sanitizers) sanitizers=1 ;;
    --install-only) mneme_install_packages; exit ;;
    *) echo "error: unknown option '$arg'" >&2; exit 1 ;;
  esac
done

# Runs the tests of build folder $1 and ends with one line that counts them.
run_tests() {
  local status=0
  "$1/bin/llvm-lit" -sv --xunit-xml-output="$1/tests.xml" "$1/test" || status=$?
  python3 - "$1/tests.xml" <<'END'
import sys, xml.etree.ElementTree as ET
suites = list(ET.parse(sys.argv[1]).getroot().iter("testsuite"))
total, failed, skipped = (sum(int(s.get(k)) for s in suites) for k in ("tests", "failures", "skipped"))
print("%d passed, %d failed, %d skipped" % (total - failed - skipped, failed, skipped))
END
  return $status
}

mneme_install_packages
mneme_find_cuda || echo "note: tests that compile CUDA programs will be skipped"

cmake --preset default ${CUDA_PATH:+-DMNEME_CUDA_PATH="$CUDA_PATH"}
cmake --build --preset default --target all MnemeUnitTests
run_tests build

if [ "$sanitizers" = 1 ]; then
  cmake --preset asan ${CUDA_PATH:+-DMNEME_CUDA_PATH="$CUDA_PATH"}
  cmake --build --preset asan --target all MnemeUnitTests
  run_tests build-asan
fi
