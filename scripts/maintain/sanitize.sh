#!/bin/sh
# Build the kernel with sanitizers in a temporary folder and run tests on it. Fails if a test fails or
# a sanitizer has anything to say.
#
#   scripts/maintain/sanitize.sh [memory|threads] [pytest arguments]
#
# memory (the default): AddressSanitizer and UndefinedBehaviorSanitizer on the kernel's tests and on
# small fits of every estimator. threads: ThreadSanitizer on fits and predictions at the same time.
#
# PYTHON: the interpreter, with the packages that the build and the tests need; python3 by default.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
python=$(command -v "${PYTHON:-python3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

kind=memory
case "${1:-}" in memory | threads) kind=$1 && shift ;; esac
if [ "$kind" = memory ]; then
  libraries="libasan.so libubsan.so"
  tests="tests/kernel tests/trees tests/binning/test_bins.py
    tests/binning/test_binned_table.py tests/layers/test_margin_loss.py
    tests/baselines/test_boosting_kernel.py tests/test_record.py"
else
  libraries="libtsan.so"
  tests="tests/estimators/test_threads.py"
fi

ninja=
if command -v ninja >/dev/null; then ninja="-G Ninja"; fi
# shellcheck disable=SC2086
cmake -S "$root/mddf/_kernel" -B "$work/build" $ninja -DMDDF_SANITIZE="$kind" \
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
for library in $libraries; do
  path=$("$compiler" -print-file-name="$library")
  if [ "$path" != "$library" ]; then preload="${preload:+$preload:}$path"; fi
done

cd "$root"
status=0
# Reports go to files, so that none is lost in the tests' output. Hooks of an editable install would
# find that one's kernel instead. Threads of other libraries, which are not instrumented, are not
# looked at: their locks cannot be seen.
# shellcheck disable=SC2086
env LD_PRELOAD="$preload" \
  ASAN_OPTIONS="detect_leaks=0:log_path=$work/report" \
  UBSAN_OPTIONS="print_stacktrace=1:log_path=$work/report" \
  TSAN_OPTIONS="ignore_noninstrumented_modules=1:log_path=$work/report" \
  OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
  "$python" -c '
import sys
site, *arguments = sys.argv[1:]
sys.meta_path[:] = [hook for hook in sys.meta_path if "ScikitBuild" not in type(hook).__name__]
sys.path.insert(0, site)
import mddf._core
assert mddf._core.__file__.startswith(site), mddf._core.__file__
import pytest
sys.exit(pytest.main(arguments))
' "$work/site" -q -p no:cacheprovider --run-slow "$@" $tests || status=$?

if ls "$work"/report* >/dev/null 2>&1; then
  cat "$work"/report*
  status=1
fi
exit "$status"
