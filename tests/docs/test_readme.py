"""What the README shows can be done."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
README = (CHECKOUT / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
ROW = re.compile(
    r"\| [^|]+ \| [^|]+ \| [\d.,]+× \| [\d.,]+–([\d.,]+|∞) \| (▲ faster|▼ slower|= same|\? undecided) \| [^|]* \|"
)


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 100


@pytest.mark.slow
def test_the_two_lines_of_python_print_a_verdict(tmp_path: Path) -> None:
    (example,) = (block for block in EXAMPLES if "compare" in block)
    done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"products .*(faster|slower|same|undecided)", done.stdout)


@pytest.mark.slow
def test_the_technique_in_ten_lines_is_measured(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # threads that wait for each other beside other tests take seconds
    (example,) = (block for block in EXAMPLES if "@toggles" in block)
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    pytester.makepyfile(test_example=example)
    result = pytester.runpytest_subprocess("--accel-visits=1", "--accel-budget=0.3")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*onednn on*cnn-train*×*"])


def test_the_table_shows_gains_and_losses_with_their_intervals() -> None:
    table = README.partition("<!-- quick-run: begin -->\n")[2].partition("<!-- quick-run: end -->")[0]
    _, _, *rows = (line for line in table.splitlines() if line.startswith("|"))
    assert len(rows) > 8
    assert [row for row in rows if not ROW.fullmatch(row)] == []
    assert {"▲ faster", "▼ slower"} <= {ROW.fullmatch(row)[2] for row in rows}


def test_the_picture_is_that_of_a_committed_report() -> None:
    (picture,) = re.findall(r"^!\[.+\]\((reports/.*\.svg)\)$", README, re.MULTILINE)
    assert "<svg" in (CHECKOUT / picture).read_text()
