# setup.sh - what tools/check and tools/demo share: install what is missing, configure, build.
#
# Sourced, with the repository root as working directory. Written for a bare Debian 12 with git and
# root (or sudo).

readonly DASH_LLVM=22

# What a build needs. The compiler, LLVM and MLIR are one version, so that their headers and
# libraries agree.
readonly DASH_BUILD_PACKAGES=(
  clang-$DASH_LLVM lld-$DASH_LLVM llvm-$DASH_LLVM-dev llvm-$DASH_LLVM-tools
  libmlir-$DASH_LLVM-dev mlir-$DASH_LLVM-tools
  cmake ninja-build ccache python3 libc6-dev zlib1g-dev libzstd-dev)
# What the hooks and the tests need beside it: the formatter, the modules that Python tests import,
# the model checker, sanitizers and libFuzzer.
readonly DASH_TEST_PACKAGES=(
  clang-format-$DASH_LLVM python3-numpy python3-jsonschema python3-z3 python3-venv spin
  libclang-rt-$DASH_LLVM-dev)
# What Python files are formatted by, from PyPI.
readonly DASH_FORMATTER_PACKAGES=(ruff==0.17.6)
# What the tests of the front ends need, from PyPI.
readonly DASH_FRAMEWORK_PACKAGES=(torch==2.15.0 transformers==5.23.0 kernels==0.17.2 numpy==2.4.6)
# JAX for the CPU; it needs a newer Python than that of Debian 12.
readonly DASH_JAX_PACKAGES=(jax==0.12.0.1 jaxlib==0.12.0.1 numpy==2.5.5)

say() { printf '== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# install_packages NAME...: installs those that dpkg does not have; asks the network for nothing if
# it has all.
install_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    die "expected Debian 12 (apt-get, dpkg), found neither; install the equivalents of: $*"
  local name missing=() as_root=()
  for name in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] ||
      missing+=("$name")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "expected root or sudo to install packages; as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq ||
    die "apt-get update failed; check the network and the package sources"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends "${missing[@]}" >/dev/null ||
    die "apt-get install failed; LLVM $DASH_LLVM for Debian 12 comes from bookworm-security:" \
      "is it among the package sources?"
}

# install_environment DIR PYTHON PACKAGE...: a virtual environment, outside of the tree; made anew
# where other packages are wanted.
install_environment() {
  local dir=$1 python=$2 wanted="${*:3}"
  [[ ! -f $dir/wanted || $(<"$dir/wanted") != "$wanted" ]] || return 0
  say "installing $wanted in $dir: up to 6 GB, some minutes"
  rm -rf "$dir"
  "$python" -m venv "$dir" &&
    "$dir/bin/pip" -q --disable-pip-version-check install --no-cache-dir --no-compile $wanted \
      >"$dir/log" 2>&1 ||
    die "cannot install $wanted: $(grep -m1 '^ERROR' "$dir/log" || tail -n1 "$dir/log");" \
      "check the network, pip's index and the room on the disk"
  printf '%s\n' "$wanted" >"$dir/wanted"
}

# python_for_jax: the first Python on PATH, or of pyenv, that is new enough; fails where there is
# none.
python_for_jax() {
  local python
  for python in python3 python3.14 python3.13 python3.12 \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/python3; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
      command -v "$python"
      return
    fi
  done
  return 1
}

# build_dash DIR TARGET...: configures DIR once (as preset dev), then builds the targets,
# incrementally.
build_dash() {
  local dir=$1
  shift
  if [[ ! -f $dir/build.ninja ]]; then
    say "configuring $dir"
    cmake --preset dev -B "$dir" >"$dir.log" 2>&1 || { cat "$dir.log"; return 1; }
    mv "$dir.log" "$dir/configure.log"
  fi
  say "building $dir"
  cmake --build "$dir" -j "$(nproc)" --target "$@"
}
