#!/bin/sh
# Compile the kernel for ARM64 and check the record there: by a cross compiler, and Debian's Python under qemu.
#
#   scripts/maintain/arm64.sh [pytest's arguments]
#
# Needs the packages g++-aarch64-linux-gnu and qemu-user. PYTHON: Python 3.11, with what the build needs; python3 by default.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
python=$(command -v "${PYTHON:-python3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$#" = 0 ]; then set -- tests/test_record.py; fi

cmake -S "$root/mddf/_kernel" -B "$work/build" -DPython_EXECUTABLE="$python" -DCMAKE_SYSTEM_NAME=Linux \
  -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
  -DPython_INCLUDE_DIR="$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')" >"$work/cmake.log" 2>&1 ||
  { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/build" --parallel

arm=$(PYTHON="$python" sh "$root/scripts/maintain/debian_python.sh" "$work/python" 3.11 arm64 bookworm)
"$arm" -m pip install -q --only-binary=:all: --target "$work/site" \
  numpy scipy scikit-learn joblib tqdm threadpoolctl narwhals pandas pytest
cp -r "$root/mddf" "$work/site/mddf"
rm -rf "$work/site/mddf/_kernel" "$work"/site/mddf/_core*.so
cp -r "$root/baselines" "$work/site/mddf/baselines"
cp -r "$root/datasets" "$work/site/mddf/datasets"
cp "$work"/build/_core*.so "$work/site/mddf/_core.so"

cd "$root"
export PYTHONPATH="$work/site" OPENBLAS_NUM_THREADS=1
"$arm" -c 'import platform; print(platform.machine())'
"$arm" -P -c 'import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))' -q -p no:cacheprovider --run-slow "$@"
