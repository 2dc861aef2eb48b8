#!/bin/sh
# Build the wheel that Python 3.12 and later get from a source distribution, audit it, and check the record on Python 3.12 and on the newest one.
# Versions come from PATH, pyenv or Debian; one that cannot be had is skipped, which the last line says.
#
# PYTHON: an interpreter with abi3audit and build; python3 by default.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
python=$(command -v "${PYTHON:-python3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
first=3.12 newest=3.15
skipped=

# The command of a version, or nothing.
find_python() {
  found=$(sh "$root/scripts/maintain/find_python.sh" "$1")
  if [ -n "$found" ]; then
    echo "$found"
    return
  fi
  if command -v apt-get >/dev/null; then
    PYTHON="$python" sh "$root/scripts/maintain/debian_python.sh" "$work/python$1" "$1" \
      "$(dpkg --print-architecture)" sid 2>"$work/debian.log" || true
  fi
}

builder=$(find_python "$first")
if [ -z "$builder" ]; then
  echo "SKIPPED: no Python $first, so no wheel of the stable ABI"
  exit 0
fi
"$python" -m build --sdist --outdir "$work/dist" "$root" >"$work/sdist.log" 2>&1 || { cat "$work/sdist.log"; exit 1; }
"$builder" -m pip wheel -q --no-deps --wheel-dir "$work/dist" "$work"/dist/*.tar.gz
wheel=$(ls "$work"/dist/*-abi3-*.whl)
"$python" -m abi3audit --strict "$wheel"

for version in "$first" "$newest"; do
  found=$(find_python "$version")
  if [ -z "$found" ]; then
    skipped="$skipped $version"
    continue
  fi
  "$found" -m pip install -q --only-binary=:all: --target "$work/site$version" "$wheel" pandas pytest
  (
    cd "$work"
    export PYTHONPATH="$work/site$version"
    "$found" -W error -c "import mddf"
    "$found" -m mddf versions | sed -n 's/^\(python\|kernel stable abi\)/  &/p'
    "$found" -m pytest -q -c "$root/pyproject.toml" --rootdir "$root" -p no:cacheprovider --run-slow \
      "$root/tests/test_record.py"
  )
done
if [ -n "$skipped" ]; then echo "SKIPPED: no Python$skipped on this machine"; fi
