"""The list of techniques in the documentation."""

import subprocess
import sys
from pathlib import Path

DOCUMENTED = Path(__file__).parents[2] / "docs" / "techniques.md"


def test_the_documentation_lists_what_is_declared() -> None:
    listed = subprocess.run([sys.executable, "-m", "harness.techniques"], check=True, capture_output=True, text=True)
    assert listed.stdout == DOCUMENTED.read_text(), (
        "declarations changed: python -m harness.techniques > docs/techniques.md"
    )
