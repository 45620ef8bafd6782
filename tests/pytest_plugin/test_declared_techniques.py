"""Techniques that somebody declares in a test module: what follows from the declaration, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from project import WALK, Project, narrow_intervals

from accelbench.cli import main

SWEEP = """
@technique(
    "numpy",
    levels=("1", "2", "4"),
    kind="sweep",
    same_output=False,
    snippet={"*": "sack.fill({level})\\nsack.tie()"},
    aliases=("burden", "dead weight"),
)
def load(build, level):
    \"\"\"How much to carry.\"\"\"
    return build(load=int(level))


@workload("numpy", unit="sack")
def haul(setting, *, load):
    return Arm(step=lambda: time.sleep(2e-4 * (1 + load)) or float(load), items=load)


@toggles("numpy", "load")
def test_load(measure):
    measure("haul")
"""


@pytest.mark.parametrize("words", ["burden", "dead_weight", "DEAD-WEIGHT and not burdened"])
def test_k_selects_the_tests_of_a_technique_by_what_else_it_is_called(project: Project, words: str) -> None:
    project.benchmark("slow", "quick", tests=WALK + SWEEP)
    project.run("--collect-only", "-k", words).stdout.fnmatch_lines(["*3/5 tests collected (2 deselected)*"])


def test_what_to_write_for_a_technique_of_ones_own_travels_in_the_file_to_the_page(
    page_and_trial: tuple[str, dict[str, Any]],
) -> None:
    page, trial = page_and_trial
    assert [each["recipe"] for each in trial["arms"]] == [
        [],
        ["sack.fill(2)", "sack.tie()"],
        ["sack.fill(4)", "sack.tie()"],
    ]
    assert trial["technique_aliases"] == {"load": ["burden", "dead weight"]}
    assert "sack.fill(4)\nsack.tie()</code>" in page
    assert 'data-names="burden, dead weight, load' in page


@pytest.fixture
def page_and_trial(project: Project, once: Callable[[Callable[[], Any]], Any]) -> Any:
    """The page of a sweep and its only trial, which is measured once for all tests."""
    return once(lambda: measured_sweep(project))


def measured_sweep(project: Project) -> tuple[str, dict[str, Any]]:
    project.benchmark("slow", "quick", tests=SWEEP)
    project.run("--benchmark-json=out.json").assert_outcomes(passed=3)
    out = project.path / "out.json"
    narrow_intervals(out)
    result = CliRunner().invoke(main, ["report", str(out), "--output", str(project.path / "reports")])
    assert result.exit_code == 0, result.output
    (trial,) = json.loads(out.read_text())["accelbench"]["trials"]
    return (project.path / "reports" / "out" / "index.html").read_text(), trial


def test_a_numeric_technique_of_ones_own_gets_its_sweep_figure(page_and_trial: tuple[str, dict[str, Any]]) -> None:
    page, trial = page_and_trial
    assert trial["kinds"] == {"load": "sweep"}
    assert "knee at load 4, the smallest within 5 % of the best throughput" in page
    assert "haul: throughput still grows at load 4, the limit asked for" in page  # the figure's title


@pytest.mark.slow
@pytest.mark.parametrize("imported_before", [False, True], ids=["not imported", "imported before"])
@pytest.mark.parametrize(
    ("declaration", "place", "words"),
    [
        (
            '@technique("torch", levels=("fp32", "bf16"))\ndef amp(build, level): ...\n',
            "techniques",
            "technique 'amp' of torch",
        ),
        ('@workload("torch", unit="step")\ndef cnn_train(setting): ...\n', "workloads", "workload 'cnn-train'"),
        (
            'ladder("numpy", "ladder", start={}, steps=[("in_place", "on")])\n',
            "techniques",
            "technique 'ladder' of numpy",
        ),
        ('versions("vectorise", {"a": int, "b": float})\n', "techniques", "technique 'vectorise' of numpy"),
    ],
)
def test_a_name_of_accelbenchs_own_is_refused_with_both_places_whatever_is_imported_first(
    project: Project, imported_before: bool, declaration: str, place: str, words: str
) -> None:
    header = "from accelbench import ladder, technique, versions, workload\n\n"
    project.write("test_pace.py", header + declaration)
    result = project.run() if imported_before else project.run_subprocess()  # this process has imported them
    line = header.count("\n") + 1
    shown = result.stdout.str()
    assert (
        f"{words} is declared in {project.path / 'test_pace.py'}:{line}, but accelbench has one of this name" in shown
    )
    assert str(Path("accelbench") / place) in shown.partition("declared in")[2]


def test_two_techniques_of_ones_own_need_two_names(project: Project) -> None:
    project.write("test_other.py", (project.path / "test_pace.py").read_text())
    shown = project.run("--collect-only").stdout.str()
    other, pace = (f"declared in {project.path / name}:" for name in ("test_other.py", "test_pace.py"))
    assert "technique 'pace' of numpy is declared in" in shown
    assert other in shown
    assert pace in shown


def test_a_declaration_that_is_imported_again_is_the_same_one(project: Project) -> None:
    module = (
        "from accelbench import technique\n\n@technique('numpy', levels=('off', 'on'))\ndef gait(build, level): ...\n"
    )
    project.write("steps.py", module)
    project.write("test_steps.py", "import sys\nimport steps\ndel sys.modules['steps']\nimport steps\n")
    project.run("--collect-only").assert_outcomes()
