# Sourced by check.sh and quickstart.sh: installs what Mneme needs on Debian 12.
# Everything but the package mcp comes from apt; nothing is touched when all of it is there.
MNEME_PACKAGES="llvm-22-dev clang-22 clang-tools-22 llvm-22-tools libclang-rt-22-dev
lld-22 clang-19 llvm-19-dev libmlir-22-dev mlir-22-tools libpolly-22-dev liboffload-22-dev libzstd-dev
libxxhash-dev zlib1g-dev googletest libbenchmark-dev ninja-build cmake
g++ patchelf python3 python3-numpy python3-optuna python3-pip python3-setuptools python3-sphinx python3-wheel file"

mneme_install_packages() {
  local missing="" package
  for package in $MNEME_PACKAGES; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
      grep -q '^install ok installed$' || missing="$missing $package"
  done
  [ -z "$missing" ] && return 0
  echo "installing (this takes some minutes):$missing"
  local sudo=""
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get -qq update &&
    $sudo env DEBIAN_FRONTEND=noninteractive \
      apt-get -qq install --no-install-recommends -y $missing >/dev/null ||
    { echo "error: apt-get could not install$missing" >&2; return 1; }
}

# mneme_install_mcp FOLDER: the package mcp, which Debian does not have, for the tests of the
# server for agents. pip may not change Debian's Python, so FOLDER/python-env becomes a virtual
# environment that also has Debian's packages, and that the tests use if it is there.
mneme_install_mcp() {
  local env=$1/python-env
  "$env/bin/python" -c 'import mcp' 2>/dev/null && return 0
  # Without pip of its own: that would need python3-venv.
  /usr/bin/python3 -m venv --system-site-packages --without-pip "$env" &&
    /usr/bin/python3 -m pip --quiet --python "$env/bin/python" install 'mcp>=2.3' ||
    { rm -rf "$env"; echo "error: pip could not install mcp" >&2; return 1; }
}

# Sets CUDA_PATH, or explains how to get one.
mneme_find_cuda() {
  local dir
  for dir in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    if [ -n "$dir" ] && [ -f "$dir/include/cuda_runtime.h" ]; then
      CUDA_PATH=$dir
      return 0
    fi
  done
  echo "error: no CUDA toolkit: set CUDA_HOME to one (headers, libdevice, ptxas;" \
    "no driver or GPU is needed)" >&2
  return 1
}

# The pass for clang 19, too (docs/Compilers.rst).
MNEME_OTHER_LLVM=/usr/lib/llvm-19/lib/cmake/llvm

# mneme_configure PRESET FOLDER [CMAKE OPTION...]. A new folder compiles several files
# at once, which halves the time of the first build.
mneme_configure() {
  local preset=$1 folder=$2
  shift 2
  [ -f "$folder/CMakeCache.txt" ] || set -- -DMNEME_UNITY_BUILD=ON "$@"
  cmake --preset "$preset" -B "$folder" "$@"
}
