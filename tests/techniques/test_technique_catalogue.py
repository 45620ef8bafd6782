"""The list of techniques in the documentation."""

import subprocess
import sys
from pathlib import Path

DOCUMENTED = Path(__file__).parents[2] / "docs" / "techniques.md"


def test_the_documentation_lists_what_is_declared() -> None:
    # In a process of its own, since other tests declare techniques.
    command = [sys.executable, "-m", "accelbench.techniques"]
    catalogue = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert catalogue in DOCUMENTED.read_text(), "declarations changed: python docs/make_tables.py"
