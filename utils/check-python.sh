#!/bin/bash
# Runs the tests of the Python package in a virtual environment with the newest release of each optional package.
#
#   utils/check-python.sh [BUILD] [FOLDER OF THE ENVIRONMENT]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
env=${2:-$build/check-python}
[ -x "$env/bin/python" ] || python3 -m venv "$env"
"$env/bin/pip" install --quiet --upgrade pip setuptools wheel mypy numpy optuna pandas pyarrow llvmlite matplotlib tqdm ray distributed ipykernel mcp
"$build/bin/llvm-lit" -sv --param=python="$(realpath -s "$env")/bin/python" "$build/test/Python"
