"""What the README shows can be done."""

import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
README = (CHECKOUT / "README.md").read_text()
ROW = re.compile(
    r"\| [^|]+ \| [^|]+ \| [\d.,]+× \| [\d.,]+–([\d.,]+|∞) \| (▲ faster|▼ slower|= same|\? undecided) \| [^|]* \|"
)


@pytest.mark.slow
def test_the_technique_in_ten_lines_is_measured(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # threads that wait for each other beside other tests take seconds
    (example,) = (block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "@toggles" in block)
    assert len([line for line in example.splitlines() if line.strip()]) <= 10
    pytester.makepyfile(test_example=example)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*cnn-train*onednn*on*×*"])


def test_the_first_screen_shows_every_verdict_with_its_interval() -> None:
    table = README.partition("<!-- quick-run: begin -->\n")[2].partition("<!-- quick-run: end -->")[0]
    _, _, *rows = table.splitlines()
    assert len(rows) > 8
    assert [row for row in rows if not ROW.fullmatch(row)] == []
    assert {ROW.fullmatch(row)[2] for row in rows} == {"▲ faster", "▼ slower", "= same", "? undecided"}


def test_the_two_commands_are_environments_of_tox() -> None:
    first_screen = README.partition("A technique is declared in one place")[0]
    environments = re.findall(r"tox -e (\w+)", first_screen.partition("Two commands")[2])
    assert environments == ["quick", "tests"]
