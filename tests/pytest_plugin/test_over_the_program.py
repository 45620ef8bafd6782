"""A test that measures a user's program compares with the program as it stands."""

import json

import pytest
from click.testing import CliRunner
from project import Project, narrow_intervals

from accelbench.cli import main

OWN = """
import time

import accelbench
from accelbench import Arm, technique, toggles


@technique("numpy", levels=("slow", "quick", "sluggish"), snippet={"*": "pace = '{level}'"})
def pace(build, level):
    \"\"\"How to walk.\"\"\"
    return build(pace=level)


def built(setting, *, pace="slow"):
    return Arm(step=lambda: time.sleep({"slow": 6e-4, "quick": 2e-4, "sluggish": 9e-4}[pace]) or 1.0)


mine = accelbench.Workload(
    name="mine", frameworks=("numpy",), unit="step", summary="Walk.", builder=built, is_program=True
)


@toggles("numpy", "pace")
def test_mine(measure):
    measure(mine)
"""


@pytest.mark.slow
def test_every_level_is_a_candidate_over_the_program_and_what_it_has_already_is_skipped(project: Project) -> None:
    project.write("test_pace.py", OWN)
    result = project.run("--benchmark-json=out.json", "-rs")
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["*SKIPPED*the program has this already*"])
    result.stdout.fnmatch_lines(["speedups of mine are over your program as it stands"])
    out = project.path / "out.json"
    (trial,) = json.loads(out.read_text())["accelbench"]["trials"]
    assert [arm["levels"]["pace"] for arm in trial["arms"]] == ["as-is", "slow", "quick", "sluggish"]
    assert [arm["outcome"] for arm in trial["arms"]] == ["measured", "unavailable", "measured", "measured"]
    assert all(effect["against"] == {"pace": "as-is"} for arm in trial["arms"] for effect in arm["effects"])
    narrow_intervals(out)
    folder = project.path / "reports"
    reported = CliRunner().invoke(main, ["report", str(out), "--output", str(folder)])
    assert reported.exit_code == 0, reported.output
    assert "over your program" in (folder / "out" / "index.html").read_text()
