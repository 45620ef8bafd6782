"""What the page on histories says of the committed runs is what its command finds in them."""

import json
import re
import shlex
from collections import Counter
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
    standing = Counter(row["standing"] for row in found["techniques"])
    counts = [COUNTS[standing[kind]] for kind in ("grows", "shrinks", "carries over")]
    assert "{} effects grow, {} shrink and {} carry over".format(*counts) in said
    assert f"the other {standing['unclear']} are unclear" in said
    told = re.findall(
        r"([\d.]+×) (?:where it brought|in training after|after) ([\d.]+×)|brings `[\w-]+` ([\d.]+×) after ([\d.]+×)",
        said,
    )
    shown = {(units.speedup(row["effect_after"]), units.speedup(row["effect_before"])) for row in found["techniques"]}
    assert len(told) == 4
    assert {tuple(filter(None, each)) for each in told} <= shown
    (sort,) = [row for row in found["workloads"] if row["workload"] == "sort"]
    assert f"`sort` is {_ratio(sort)}" in said


def _ratio(row: dict[str, Any]) -> str:
    return units.ratio(row["ratio"], row["low"], row["high"])
