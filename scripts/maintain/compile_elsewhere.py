"""Compile the kernel for other systems: Windows, macOS, and Linux with musl.

Nothing is linked or run. The compiler is zig's clang (``pip install ziglang``), which brings the
headers of these systems. The C++ library is libc++, hardened: its iterators are not pointers, and
neither are Microsoft's. Extensions of GNU are errors. For the last target the compiler does not
call itself GNU's, so that it compiles what stands in for GNU's functions.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nanobind

KERNEL = Path(__file__).resolve().parents[2] / "mddf/_kernel"
TARGETS = {
    "x86_64-windows-gnu": [],
    "aarch64-windows-gnu": [],
    "aarch64-macos": [],
    "aarch64-linux-musl": [],
    "x86_64-linux-gnu": ["-fgnuc-version=0"],
}
OPTIONS = [
    *("-std=c++17", "-pedantic-errors", "-Wno-unused-command-line-argument"),
    *("-Wno-macro-redefined", "-U_LIBCPP_HARDENING_MODE"),
    "-D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_EXTENSIVE",
    "-D_LIBCPP_ABI_BOUNDED_ITERATORS",
    "-D_LIBCPP_ABI_BOUNDED_ITERATORS_IN_STD_ARRAY",
    "-D_LIBCPP_ABI_BOUNDED_ITERATORS_IN_STRING",
    "-D_LIBCPP_ABI_BOUNDED_ITERATORS_IN_VECTOR",
]
# Python's headers ask pyconfig.h, which is this machine's, for what differs.
PYCONFIG = """
#include <pyconfig.h>
#ifdef _WIN32
#undef HAVE_SYS_SELECT_H
#endif
#undef SIZEOF_LONG
#define SIZEOF_LONG __SIZEOF_LONG__
#undef SIZEOF_WCHAR_T
#define SIZEOF_WCHAR_T __SIZEOF_WCHAR_T__
"""


def compile_file(file: Path, target: str, folder: Path) -> str:
    """Compile a file for a target; return the messages of the compiler if it fails."""
    command = [sys.executable, "-m", "ziglang", "c++", "-c", str(file), "-target", target]
    command += ["-o", str(folder / f"{target}-{file.parent.name}-{file.stem}.o"), *OPTIONS]
    command += [*TARGETS[target], "-I", str(KERNEL), "-include", str(folder / "pyconfig-target.h")]
    for headers in (nanobind.include_dir(), sysconfig.get_path("include")):
        command += ["-isystem", headers]
    caches = {f"ZIG_{kind}_CACHE_DIR": str(folder / "cache") for kind in ("GLOBAL", "LOCAL")}
    done = subprocess.run(
        command, env={**os.environ, **caches}, capture_output=True, text=True, check=False
    )
    return done.stderr if done.returncode else ""


def main(argv: list[str] | None = None) -> int:
    """Compile all files for all targets; 0 if that works."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--targets", nargs="+", choices=TARGETS, default=list(TARGETS),
        help="systems to compile for (default: all)",
    )  # fmt: skip
    targets = parser.parse_args(argv).targets
    files = sorted(KERNEL.rglob("*.cpp"))
    n_failed = 0
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = Path(name)
        (folder / "pyconfig-target.h").write_text(PYCONFIG)
        for target in targets:
            errors = list(
                pool.map(compile_file, files, [target] * len(files), [folder] * len(files))
            )
            failed = [error for error in errors if error]
            sys.stdout.write(
                f"{target}: {len(files) - len(failed)} of {len(files)} files compile\n"
            )
            sys.stdout.flush()
            sys.stderr.write("".join(failed))
            n_failed += len(failed)
    return int(n_failed > 0)


if __name__ == "__main__":
    sys.exit(main())
