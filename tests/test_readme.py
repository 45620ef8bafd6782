"""What the README shows is run."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_the_technique_in_ten_lines_is_measured(pytester: pytest.Pytester) -> None:
    (example,) = (
        block for block in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL) if "@toggles" in block
    )
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    pytester.makepyfile(test_example=example)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["cnn-train*onednn*on*×*"])
