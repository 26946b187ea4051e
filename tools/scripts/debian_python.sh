#!/usr/bin/env bash
# debian_python.sh - a Python of another Debian in a folder of its own; nothing is installed.
#
#   debian_python.sh MINOR DIR [PATCHELF]     prints the path of a Python 3.MINOR in DIR
#
# Its packages come from the mirror that apt has here, with the C library that they need. The
# program then names that library by its full path, so it runs beside an older one. A second call
# finds what is there.
set -euo pipefail
declare -A suites=([11]=bookworm [13]=trixie [14]=forky)
readonly minor=$1 dir=$(realpath -m "$2") patchelf=${3:-patchelf}
readonly suite=${suites[$minor]:-} python=$dir/usr/bin/python3.$minor
if [[ ! $suite ]]; then
  echo "error: expected a minor version that a Debian has (11, 13, 14), found $minor" >&2
  exit 1
fi

if [[ ! -f $dir/done ]]; then
  rm -rf "$dir"
  mkdir -p "$dir/apt/lists/partial" "$dir/apt/archives/partial" "$dir/apt/parts"
  : >"$dir/apt/status" # says that no package is there yet, so apt brings all that it needs
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' | sed -n 1p)
  keys=/usr/share/keyrings/debian-archive-keyring.gpg
  echo "deb [signed-by=$keys] $mirror $suite main" >"$dir/apt/sources.list"
  apt=(apt-get -q -o Dir::State="$dir/apt" -o Dir::State::status="$dir/apt/status"
    -o Dir::Cache="$dir/apt" -o Dir::Etc="$dir/apt" -o Dir::Etc::SourceParts=parts
    -o Dir::Etc::PreferencesParts=parts -o Debug::NoLocking=true
    -o APT::Install-Recommends=false -o APT::Sandbox::User="$(id -un)")
  "${apt[@]}" update >&2
  "${apt[@]}" install -y --download-only "python3.$minor-venv" >&2
  mkdir -p "$dir/usr/lib" "$dir/usr/lib64"
  ln -s usr/lib usr/lib64 "$dir"
  for package in "$dir"/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$dir"
  done
  "$patchelf" --force-rpath --set-rpath "$dir/usr/lib/x86_64-linux-gnu" \
    --set-interpreter "$dir/lib64/ld-linux-x86-64.so.2" "$python"
  # Where ensurepip finds pip.
  sed -i "s|'/usr/share/python-wheels/'|'$dir/usr/share/python-wheels/'|" \
    "$dir/usr/lib/python3.$minor"/_sysconfigdata*.py
  rm -rf "$dir/apt"
  touch "$dir/done"
fi
"$python" -c 'import ctypes, ssl, venv'
echo "$python"
