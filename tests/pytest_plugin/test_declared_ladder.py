"""Techniques and a ladder of them, declared in somebody's own test module: found everywhere, by that alone."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from project import Project, narrow_intervals

from accelbench.cli import main

LADDER = """
from accelbench import ladder

ladder("numpy", "outing", start={"pace": "slow", "stride": "short"}, steps=[("pace", "quick"), ("stride", "long")])


@toggles("numpy", "outing")
def test_outing(measure):
    measure("walk")
"""
SUMMARY = "One technique after another: pace quick, stride long."


@pytest.fixture
def ladder_of_one_file(project: Project) -> Project:
    project.benchmark("slow", "quick", tests=LADDER)
    return project


@pytest.mark.slow
def test_a_declared_ladder_is_in_ids_results_page_summary_and_table(ladder_of_one_file: Project) -> None:
    path = ladder_of_one_file.path
    shown = ladder_of_one_file.run("--benchmark-json=out.json", "-v").stdout.str()
    assert "test_outing[outing-+stride-long]" in shown
    assert "+pace quick" in shown
    assert "over the rung below" in shown
    (trial,) = json.loads((path / "out.json").read_text())["accelbench"]["trials"]
    assert trial["technique_summaries"] == {"outing": SUMMARY}
    assert [arm["levels"]["outing"] for arm in trial["arms"]] == ["start", "+pace quick", "+stride long"]
    assert trial["arms"][2]["effects"][1]["against"] == {"outing": "+pace quick"}
    narrow_intervals(path / "out.json")
    report = _report(path)
    page, summary, table = ((report / name).read_text() for name in ("index.html", "summary.md", "effects.csv"))
    assert SUMMARY in page
    assert "all together" in page  # the ladder's figure
    assert "outing +" in summary
    for text in (page, table):
        assert "outing" in text
        assert "+pace quick" in text
    assert "step_verdict" in table.splitlines()[0]


@pytest.mark.slow
def test_selecting_one_rung_measures_those_below_it_too(ladder_of_one_file: Project) -> None:
    ladder_of_one_file.run("--benchmark-json=out.json", "-k", "long")
    document = json.loads((ladder_of_one_file.path / "out.json").read_text())
    (trial,) = document["accelbench"]["trials"]
    assert [arm["levels"]["outing"] for arm in trial["arms"]] == ["start", "+pace quick", "+stride long"]
    assert [each["name"] for each in document["benchmarks"]] == ["test_outing[outing-+stride-long]"]


def _report(path: Path) -> Path:
    result = CliRunner().invoke(main, ["report", str(path / "out.json"), "--output", str(path / "reports")])
    assert result.exit_code == 0, result.output
    return path / "reports" / "out"
