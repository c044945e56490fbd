#!/bin/bash
# Passes the tests that need Optuna with its versions 3, 4 and 5, each in a virtual environment below the
# build folder. Needs PyPI once.
#
#   utils/check-optuna.sh [build]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")

for version in 3 4 5; do
  environment=$build/optuna-$version
  if [ ! -x "$environment/bin/python" ]; then
    python3 -m venv "$environment"
    "$environment/bin/pip" install -q "optuna>=$version,<$((version + 1))"
  fi
  "$build/bin/llvm-lit" -sv --param=optuna="$environment/bin/python" --filter=optuna "$build/test/Tune"
done
