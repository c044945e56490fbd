#!/bin/bash
# Installs a wheel (utils/wheel.sh) in fresh systems that have only Python and clang 19, and times the way to the first
# verified replay, as docs/Packaging.rst describes it. Needs root, debootstrap, the distributions' archives and PyPI.
#
#   utils/check-wheel.sh WHEEL [FOLDER [RELEASE...]]
#
# FOLDER (default: a temporary one) keeps the systems for the next run. RELEASE: bookworm, trixie (default: both),
# or noble, for which UBUNTU_KEYRING names ubuntu-archive-keyring.gpg (package ubuntu-keyring of Debian 13).
set -euo pipefail
wheel=$(realpath "${1:?"usage: utils/check-wheel.sh WHEEL [FOLDER [RELEASE...]]"}")
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
  echo "check-wheel.sh: error: needs root, for chroot, and debootstrap: apt-get install debootstrap" >&2
  exit 1
fi
folder=${2:-}
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
releases=("${@:3}")
[ ${#releases[@]} -gt 0 ] || releases=(bookworm trixie)

# in_root ROOT SCRIPT: runs a script of bash in the system, whose mounts end with it.
in_root() {
  # shellcheck disable=SC2016 # the inner shell's
  unshare --mount --pid --fork sh -c 'mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" &&
    exec chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
      ${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL"} PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
      PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore bash -c "$2"' sh "$1" "$2"
}

make_root() { # release, folder
  local list=$2/etc/apt/sources.list ubuntu=http://archive.ubuntu.com/ubuntu
  case $1 in
    noble)
      # The releases that debootstrap does not know are like gutsy.
      debootstrap --variant=minbase --include=ca-certificates --components=main,universe \
        --keyring="${UBUNTU_KEYRING:-/usr/share/keyrings/ubuntu-archive-keyring.gpg}" "$1" "$2" $ubuntu \
        /usr/share/debootstrap/scripts/gutsy
      echo "deb $ubuntu noble-updates main universe" >>"$list"
      ;;
    *) debootstrap --variant=minbase --include=ca-certificates "$1" "$2" http://deb.debian.org/debian ;;
  esac
  [ "$1" != bookworm ] || echo 'deb http://deb.debian.org/debian-security bookworm-security main' >>"$list"
  # This machine's way into the network.
  cp -L /etc/resolv.conf "$2/etc/"
  in_root "$2" 'apt-get -qq update && apt-get -qq install --no-install-recommends python3-venv clang-19'
  cp -L /etc/ssl/certs/ca-certificates.crt "$2/etc/ssl/certs/"
  touch "$2/ready"
}

for release in "${releases[@]}"; do
  root=$folder/$release
  if [ ! -f "$root/ready" ]; then
    rm -rf --one-file-system "$root"
    mkdir -p "$root"
    echo "making $root, with the log $root.log"
    make_root "$release" "$root" >"$root.log" 2>&1
  fi
  rm -rf "$root/srv/wheel"
  mkdir "$root/srv/wheel"
  cp "$wheel" "$root/srv/wheel/"
  # shellcheck disable=SC2016 # the inner shell's
  in_root "$root" '
    set -euo pipefail
    cd /srv/wheel
    . /etc/os-release
    echo "== $PRETTY_NAME, $(clang++-19 --version | head -n 1), $(python3 --version)"
    timed() { # name, command...
      local begin=$EPOCHREALTIME
      "${@:2}" >log 2>&1 || { cat log; echo "error: $1 failed"; exit 1; }
      printf "%7.2f s  %s\n" "$(python3 -c "print($EPOCHREALTIME - $begin)")" "$1"
    }
    first=$EPOCHREALTIME
    timed "python3 -m venv" python3 -m venv "my env"
    find "my env" -not -type d | sort >before
    timed "pip install WHEEL[cuda]" "my env/bin/pip" install -q "$(echo llvm_mneme-*.whl)[cuda]"
    export PATH="$PWD/my env/bin:$PATH"
    timed nvcc-as-clang nvcc-as-clang -arch=sm_90 -O2 "my env/share/mneme/examples/saxpy.cu" -o saxpy
    timed llvm-mneme-record llvm-mneme-record -o rec --device=host -- ./saxpy
    timed llvm-mneme-replay llvm-mneme-replay rec --device=host --passes="default<O3>" --resources
    grep -h -e "\"verdict\": \"Match\"" -e "\"application\": \"clang 19" log
    printf "%7.2f s  in all\n" "$(python3 -c "print($EPOCHREALTIME - $first)")"

    # The tools through a link; the package without PATH; the libraries.
    ln -s "$PWD/my env/bin/llvm-mneme-record" record
    ./record --print-config=plugin | grep -qx "$PWD/my env/lib/MnemePass-19.so"
    PATH=/usr/bin:/bin "my env/bin/python" -c "
import llvm_mneme as mneme
with mneme.Executor(mneme.open(\"rec\")[\"saxpy\"], device=\"host\") as executor:
    print(\"llvm_mneme:\", executor.submit(mneme.Config(passes=\"default<O1>\")).result().verdict)"
    for file in "my env"/bin/llvm-mneme-*; do ldd "$file"; done | grep -e "not found" -e "/usr/lib/llvm" && exit 1

    "my env/bin/pip" uninstall -q -y $("my env/bin/pip" list --format=freeze | grep -e cuda -e nvidia -e mneme | sed "s/==.*//")
    # pip keeps empty folders.
    find "my env" -not -type d | sort | diff before - >left || { cat left; echo "error: left after pip uninstall"; exit 1; }
    echo "pip uninstall leaves no file"'
done
