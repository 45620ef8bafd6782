"""What the page on histories says of the committed runs is what its command finds in them."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness import units
from harness.cli import main

CHECKOUT = Path(__file__).parent.parent
SECTION = (CHECKOUT / "docs" / "history.md").read_text().partition("## Two real machines")[2].partition("\n## ")[0]
(COMMAND,) = re.findall(r"^accelbench (compare .*)$", SECTION, re.MULTILINE)
COUNTS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def test_two_real_machines_are_compared_as_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    found: dict[str, Any] = json.loads(CliRunner().invoke(main, [*shlex.split(COMMAND), "--json"]).stdout)
    said = " ".join(SECTION.split()).lower()
    before, after = (COUNTS[len(found[side]["runs"])] for side in ("before", "after"))
    assert f"{before} runs" in said
    assert f"against {after} on" in said
    assert f"is {found['machine']['verdict']}, {_ratio(found['machine'])}" in said
    changed = [row for row in found["techniques"] if row["standing"] in ("grows", "shrinks")]
    assert "two effects grow and one shrinks" in said
    assert sorted(row["standing"] for row in changed) == ["grows", "grows", "shrinks"]
    for row in changed:
        assert units.speedup(row["effect_before"]) in said
        assert units.speedup(row["effect_after"]) in said
    assert f"the other {len(found['techniques']) - len(changed)} are unclear" in said
    (sort,) = [row for row in found["workloads"] if row["workload"] == "sort"]
    assert f"`sort` is {_ratio(sort)}" in said


def _ratio(row: dict[str, Any]) -> str:
    return units.ratio(row["ratio"], row["low"], row["high"])
