#!/bin/sh
# Build the kernel with AddressSanitizer and UndefinedBehaviorSanitizer in a temporary folder and run
# the kernel's tests on it. Fails if a test fails or a sanitizer has anything to say.
#
#   scripts/sanitize.sh [pytest arguments]
#
# Tests of what is drawn how often are left out unless asked for (with -k): they are slow here and
# show nothing new.
#
# PYTHON: the interpreter, with the packages that the build and the tests need; python3 by default.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
python=$(command -v "${PYTHON:-python3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ninja=
if command -v ninja >/dev/null; then ninja="-G Ninja"; fi
# shellcheck disable=SC2086
cmake -S "$root/mddf/_kernel" -B "$work/build" $ninja -DMDDF_SANITIZE=ON \
  -DPython_EXECUTABLE="$python" >"$work/cmake.log" 2>&1 || { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/build" --parallel

# The package's Python files beside the instrumented kernel, before anything installed.
mkdir -p "$work/site"
cp -r "$root/mddf" "$work/site/mddf"
rm -rf "$work/site/mddf/_kernel" "$work"/site/mddf/_core*.so
cp -r "$root/baselines" "$work/site/mddf/baselines"
cp -r "$root/datasets" "$work/site/mddf/datasets"
cp "$work"/build/_core*.so "$work/site/mddf/"

compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$work/build/CMakeCache.txt")
preload=
for library in libasan.so libubsan.so; do
  path=$("$compiler" -print-file-name="$library")
  if [ "$path" != "$library" ]; then preload="${preload:+$preload:}$path"; fi
done

cd "$root"
status=0
# Reports go to files, so that none is lost in the tests' output. Hooks of an editable install would
# find that one's kernel instead.
env LD_PRELOAD="$preload" \
  ASAN_OPTIONS="detect_leaks=0:log_path=$work/report" \
  UBSAN_OPTIONS="print_stacktrace=1:log_path=$work/report" \
  "$python" -c '
import sys
site, *arguments = sys.argv[1:]
sys.meta_path[:] = [hook for hook in sys.meta_path if "ScikitBuild" not in type(hook).__name__]
sys.path.insert(0, site)
import mddf._core
assert mddf._core.__file__.startswith(site), mddf._core.__file__
import pytest
sys.exit(pytest.main(arguments))
' "$work/site" -q -p no:cacheprovider -k "not often and not uniform and not coin and not many" "$@" \
  tests/test_contract*.py tests/test_core_*.py tests/test_binning.py tests/test_growing.py \
  tests/test_boosting_kernel.py || status=$?

if ls "$work"/report* >/dev/null 2>&1; then
  cat "$work"/report*
  status=1
fi
exit "$status"
