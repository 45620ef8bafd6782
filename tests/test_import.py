"""What `import harness` brings along: next to nothing."""

import subprocess
import sys


def test_importing_the_package_loads_no_framework_and_nothing_heavy() -> None:
    heavy = "torch tensorflow keras cupy numpy scipy pandas seaborn matplotlib pytest psutil joblib msgspec"
    found = f"import sys, harness; print([name for name in {heavy.split()!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
