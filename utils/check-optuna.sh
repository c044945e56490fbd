#!/bin/bash
# Passes the tests that need Optuna with its versions 3.1, 4 and 5, each in a virtual environment below the
# build folder. Needs PyPI once.
#
#   utils/check-optuna.sh [build]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "${1:-build}")

for version in 3.1.0 4.0 5.0; do
  environment=$build/optuna-$version
  if [ ! -x "$environment/bin/python" ]; then
    python3 -m venv "$environment"
    "$environment/bin/pip" install -q "optuna~=$version"
  fi
  "$build/bin/llvm-lit" -sv --param=optuna="$environment/bin/python" --param=python="$environment/bin/python" \
    --filter=optuna "$build/test/Tune" "$build/test/Python"
done
