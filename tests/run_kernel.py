"""The kernel's tests and the record, as the processor allows and with wide vectors switched off.

``python tests/run_kernel.py`` runs them on mddf as it is installed, a wheel for instance.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent
FILES = (
    "kernel",
    "binning/test_bins.py",
    "baselines/test_boosting_kernel.py",
    "forest/test_forests.py",
    "test_record.py",
)


def main() -> int:
    """Run both; 0 if all tests passed."""
    files = [str(TESTS / name) for name in FILES]
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(TESTS.parent / "pyproject.toml")]
    command += ["--rootdir", str(TESTS.parent), "-p", "no:cacheprovider", "--run-slow", *files]
    with tempfile.TemporaryDirectory() as elsewhere:  # in the clone, mddf is what is not compiled
        for wide in ("1", "0"):
            print(f"== MDDF_WIDE_VECTORS={wide}", flush=True)
            environment = {**os.environ, "MDDF_WIDE_VECTORS": wide}
            if code := subprocess.run(command, cwd=elsewhere, env=environment).returncode:
                return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
