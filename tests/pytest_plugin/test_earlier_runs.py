"""Earlier runs of the same machine and configuration, which show how an effect changes from run to run."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from project import Project
from runs import arm, run, save, trial

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Contrast, find_technique, find_workload
from accelbench.pytest_plugin.earlier_runs import MOST_RUNS, EarlierRuns
from accelbench.pytest_plugin.passes import JournaledVisit
from accelbench.pytest_plugin.session import has_user_code
from accelbench.schema import environment
from accelbench.schema.result import Effect, Environment, Run, TrialRecord, Visit, VisitEffect

CONFIGURATION = {"python": "3", "env.OMP_NUM_THREADS": "1"}
FRAMEWORKS = {"torch.version": "2"}
SETTINGS = {"noise": 0.01, "budget_s": 2.0}
CASE: tuple[str, dict[str, Any], dict[str, str]] = ("net", {"layers": 2}, {})
OFF, ON = {"amp": "fp32"}, {"amp": "bf16"}


def record(*log_speedups: float, begun_s: float = 1.0, **fields: Any) -> TrialRecord:
    """Return a trial whose effect was measured in a visit of each of these log speedups."""
    visits = tuple(VisitEffect(visit=number, log_speedup=each, pairs=9) for number, each in enumerate(log_speedups))
    effect = Effect(against=OFF, speedup=1.0, low=0.9, high=1.1, verdict="undecided", pairs=9, visits=visits)
    states = [Visit(begun_s=begun_s + number) for number in range(len(log_speedups))]
    return trial(arm(OFF, 1.0), arm(ON, 1.0, effect=effect), problem=CASE[1], visits=states, **fields)


def earlier(*trials: TrialRecord, **fields: Any) -> Run:
    identity = run().environment.identity
    facts = Environment(identity=identity, configuration=fields.pop("configuration", CONFIGURATION | FRAMEWORKS))
    return replace(run(*trials, settings=SETTINGS, environment=facts), **fields)


def this_visit(begun_s: float) -> JournaledVisit:
    arms = [arm(OFF, 1.0), arm(ON, 1.0)]
    nothing: dict[str, Any] = {name: [] for name in ("samples_s", "contrasts", "pairs", "remarks")}
    return JournaledVisit(
        trial=record().id, workload=CASE[0], problem=CASE[1], fixed=CASE[2], visit=Visit(begun_s=begun_s), arms=arms,
        span_s=1.0, disturbance={}, spent_s={}, configuration={}, **nothing,
    )  # fmt: skip


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[Contrast, list[float]]]:
    """What a session finds of its trial in runs, given newest first."""
    monkeypatch.setattr(environment, "configuration", lambda: CONFIGURATION)

    def of(*runs: Run, broken: bytes = b"") -> dict[Contrast, list[float]]:
        files = [save(each, tmp_path / f"{number:04}_a.json") for number, each in enumerate(runs)]
        if broken:
            files.insert(0, tmp_path / "0009_b.json")
            files[0].write_bytes(broken)
        before = EarlierRuns(files, run().machine, SETTINGS)
        return before.log_speedups(record().id, CASE, [this_visit(99.0)], FRAMEWORKS)

    return of


Found = Callable[..., dict[Contrast, list[float]]]


def test_a_run_counts_by_the_mean_of_its_visits(found: Found) -> None:
    runs = [earlier(record(0.25, 0.75)), earlier(record(0.125))]
    assert found(*runs) == {Contrast(1, 0): [0.5, 0.125]}


def test_the_newest_few_join(found: Found) -> None:
    other = earlier(record(0.0), settings={})
    runs = [earlier(record(float(number))) for number in range(MOST_RUNS + 2)]
    assert found(other, *runs) == {Contrast(1, 0): [0.0, 1.0, 2.0, 3.0, 4.0]}


@pytest.mark.parametrize(
    "other",
    [
        earlier(record(0.5), machine="another"),
        earlier(record(0.5), settings=SETTINGS | {"budget_s": 5.0}),
        earlier(record(0.5), configuration=CONFIGURATION | FRAMEWORKS | {"python": "4"}),
        earlier(record(0.5), configuration=CONFIGURATION | FRAMEWORKS | {"env.OPENBLAS_CORETYPE": "Haswell"}),
        earlier(record(0.5), configuration={"python": "3"} | FRAMEWORKS),
        earlier(record(0.5), configuration=CONFIGURATION | {"torch.version": "1"}),
        earlier(replace(record(0.5), problem={"layers": 3})),
        earlier(replace(record(0.5), id="another")),
        earlier(replace(record(0.5), arms=[arm(OFF, 1.0), arm({"amp": "fp16"}, 1.0)])),
        earlier(record()),
        earlier(record(1e300)),
    ],
    ids=["machine", "settings", "python", "set", "unset", "framework", "problem", "id", "levels", "no-visits", "far"],
)
def test_runs_under_other_conditions_do_not(found: Found, other: Run) -> None:
    assert found(other) == {}


@pytest.mark.parametrize("broken", [b"{", b"[]", b'{"accelbench": {"schema_version": 99}}'])
def test_files_that_cannot_be_read_are_passed_over(found: Found, broken: bytes) -> None:
    assert found(earlier(record(0.5)), broken=broken) == {Contrast(1, 0): [0.5]}


def test_a_file_with_a_visit_of_this_run_is_a_part_of_it(found: Found) -> None:
    assert found(earlier(record(0.5, 0.5, begun_s=98.0)), earlier(record(0.25))) == {Contrast(1, 0): [0.25]}


def test_what_a_user_wrote_may_have_changed_since_and_what_the_suite_ships_has_not() -> None:
    shipped, rungs = find_workload("ladder-chain"), find_technique("numpy", "ladder")
    own = replace(find_technique("numpy", "vectorise"), apply=lambda build, _: build())
    assert not has_user_code(shipped, [rungs])
    assert has_user_code(shipped, [rungs, own])
    assert has_user_code(replace(shipped, builder=lambda: Arm(step=dict)), [])


@pytest.mark.slow
def test_the_interval_of_a_run_carries_the_spread_between_it_and_the_one_before(project: Project) -> None:
    project.configure("accelbench_results = results")
    project.benchmark("slow", "quick")

    def last_effect() -> dict[str, Any]:
        file = max((project.path / "results").rglob("*.json"))
        effect: dict[str, Any] = json.loads(file.read_text())["accelbench"]["trials"][0]["arms"][1]["effects"][0]
        return effect

    arguments = "--benchmark-save=quick", "--accel-visits=2"
    assert project.run(*arguments, "--accel-minutes=0.0001").ret == 75  # a part, which is no earlier run
    assert project.run(*arguments, "--accel-resume").ret == 0
    assert last_effect()["earlier_runs"] == 0
    assert project.run(*arguments).ret == 0
    assert last_effect()["earlier_runs"] == 1
