"""Advice from real workers, in a space of a user's own."""

import json
import os
import sys
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest

from accelbench.advise.advice import as_json, as_text
from accelbench.advise.evaluate import Evaluator
from accelbench.advise.search import Limits, NoBaseline
from accelbench.advise.session import Request, advise, prepare
from accelbench.advise.space import SearchAxis, SearchSpace
from accelbench.core import Arm, Plan, Setting, Technique, Trial, Workload
from accelbench.errors import BadInput, Unavailable
from accelbench.measuring.interference import describe_other_work
from accelbench.measuring.trial_result import TrialResult
from accelbench.measuring.workers.pool import Pool
from accelbench.schema.reasons import reason
from accelbench.schema.result import ArmRecord, Timing


def _built(
    setting: Setting,
    *,
    gait: str = "slow",
    reach: str = "short",
    drift: str = "none",
    hoard: str = "no",
    fate: str = "live",
) -> Arm:
    """Wait for a known time, which only two switches together make shorter."""
    wait_s = {("slow", "short"): 0.006, ("quick", "long"): 0.002}.get((gait, reach), 0.009)
    wait_s *= 1.0 if (drift, hoard) == ("none", "no") else 0.3
    numbers = np.random.default_rng(setting.seed).random(64)
    held: list[np.ndarray] = []

    def step() -> np.ndarray:
        if fate == "die":
            os._exit(1)
        if fate == "refuse":
            raise ValueError("one is too few")
        if hoard == "yes" and not held:
            held.append(np.ones(2**23))
        time.sleep(wait_s)
        return numbers * {"none": 1.0, "wrong": 2.0, "random": 1 + 1e-9 * np.random.default_rng().random()}[drift]

    return Arm(step=step, inputs=lambda: numbers, items=64, close=held.clear)


WALK = Workload(name="walk", frameworks=("numpy",), unit="step", summary="Walk.", builder=_built)


def _switch(name: str, *levels: str) -> Technique:
    def apply(build, level):
        return build(**{name: level})

    return Technique(
        name=name,
        framework="numpy",
        levels=levels,
        summary="",
        apply=apply,
        snippet=dict.fromkeys(levels[1:], f"{name} = '{{level}}'"),
    )


GAIT, REACH = _switch("gait", "slow", "quick"), _switch("reach", "short", "long")
PACE = _switch("pace", "1", "2", "4")


@pytest.fixture(autouse=True)
def own_catalogue(monkeypatch):
    """Keep what is declared here from other tests."""
    module = sys.modules["accelbench.core.technique"]
    monkeypatch.setattr(module, "_TECHNIQUES", dict(vars(module)["_TECHNIQUES"]))


@pytest.fixture(scope="module")
def pool():
    pool = Pool(Plan())
    yield pool
    pool.close()


def asked(pool, *techniques: Technique, budget_s: float = 3.0, **wishes):
    names = tuple(technique.name for technique in techniques)
    return advise(Request(workload=WALK, budget_s=budget_s, only=names, techniques=techniques, **wishes), pool=pool)


def dropped(advice, **changes):
    """Return why those configurations were dropped in which these changes were made, among others."""
    return [each.dropped for each in advice.tried if changes.items() <= each.changes.items()]


@pytest.mark.slow
def test_two_switches_that_pay_only_together_are_advised_with_what_to_write(pool):
    advice = asked(pool, GAIT, REACH, budget_s=8.0)  # for all four, on a busy machine too
    assert advice.changes == {"gait": "quick", "reach": "long"}
    assert advice.gain.verdict == "faster"
    assert advice.settings == {"gait": "gait = 'quick'", "reach": "reach = 'long'"}
    text = as_text(advice)
    assert text.startswith("walk (numpy): gait quick, reach long is ")
    assert "\n  gait = 'quick'\n" in text
    assert "\n\n4 of 4 configurations tried" in text
    assert "\n\nTried, the fastest first:\n" in text
    assert json.loads(json.dumps(as_json(advice)))["changes"] == advice.changes


def test_a_program_that_was_found_not_to_repeat_itself_is_not_compared_later_and_what_disturbed_is_noted():
    asked_of = []

    class FakePool:
        """Measures nothing, and finds in the first trial that outputs differ."""

        def measure(self, trial, **_):
            asked_of.append(trial.setting)
            timing = Timing(
                median_s=1.0, quantiles_s=(), blocks=1, iterations_per_block=1, cold_s=1.0, build_s=1.0,
                warmup_blocks=1, warmup_settled=True,
            )  # fmt: skip
            record = ArmRecord(levels={}, outcome="measured", items=8.0, timing=timing)
            used = reason("other-processes", used=0.5 * len(asked_of), cores=2)
            remarks = [used] if trial.setting.items else [reason("program-differs", spread=0.5)]
            return TrialResult(arms=[record] * len(trial.arms), samples_s=[(1.0,)] * len(trial.arms), remarks=remarks)

    axis = SearchAxis(technique="gait", levels=("slow", "quick"), computes=("", ""), tolerances=(0.0, 0.0))
    space = SearchSpace((axis,))
    trial = Trial(framework="numpy", workload=WALK, arms=({},))
    evaluator = Evaluator(pool=FakePool(), trial=trial, space=space)
    for _ in range(3):
        evaluator.judge([space.baseline, ("quick",)], 1.0, 1.0)
    assert [setting.compares_outputs for setting in asked_of] == [True, False, False]
    assert not evaluator.iteration.compares_outputs
    assert describe_other_work(evaluator.remarks) == (
        "Other work was in the way: other processes used 1.0–1.5 of 2 cores in 2 of 3 trials. "
        "On a quieter machine, the numbers may differ."
    )


@dataclass(frozen=True, kw_only=True)
class Path:
    """The one option of a program that ends its process."""

    path: str = "short"


def _ending(_: Setting, __: Path) -> Arm:
    sys.exit("no data")


def test_a_program_that_ends_its_process_while_it_is_prepared_is_one_line_with_the_place(pool):
    ending = replace(WALK, is_program=True, shared=Path, builder=_ending)
    with pytest.raises(
        BadInput, match=r"^the program cannot be prepared: SystemExit: no data \(test_advise_session.py"
    ):
        prepare(Request(workload=ending), pool)


def test_the_first_thing_that_is_reported_of_a_search_is_its_baseline(pool):
    reported = []
    advise(Request(workload=WALK, budget_s=0.2, only=("gait",), techniques=(GAIT,)), pool=pool, report=reported.append)
    assert reported[0] == "the baseline"


@pytest.mark.slow
def test_wrong_outputs_and_lost_workers_are_dropped_with_the_reason(pool):
    advice = asked(pool, _switch("drift", "none", "wrong"), _switch("fate", "live", "die"))
    assert advice.changes == {}
    assert any(
        "wrong-output: the output differs from the baseline's" in reason for reason in dropped(advice, drift="wrong")
    )
    assert dropped(advice, fate="die")
    assert all("crashed: the worker ended with exit status 1" in reason for reason in dropped(advice, fate="die"))


@pytest.mark.slow
def test_a_technique_with_whose_first_level_nothing_runs_begins_at_the_next_one(pool):
    advice = asked(pool, GAIT, _switch("fate", "refuse", "live", "live on"))
    assert advice.levels["fate"].startswith("live")
    assert advice.left_out["fate refuse"].startswith(
        "failed: ValueError: one is too few (test_advise_session.py, line "
    )
    with pytest.raises(NoBaseline, match="the baseline cannot be measured: failed: ValueError"):
        asked(pool, GAIT, REACH, held={"fate": "refuse"})


@pytest.mark.slow
def test_memory_and_repeatability_are_kept_to_where_they_are_asked_for(pool):
    hoard, drift = _switch("hoard", "no", "yes"), _switch("drift", "none", "random")
    advice = asked(pool, hoard, drift, limits=Limits(memory_bytes=2**25), deterministic=True)
    assert advice.changes == {}
    assert advice.deterministic
    assert dropped(advice, hoard="yes")
    assert all(" MiB, 32.0 MiB is allowed" in reason for reason in dropped(advice, hoard="yes"))
    assert "two runs from the same start did not give the same bits" in dropped(advice, drift="random")


@pytest.mark.slow
def test_an_option_that_is_held_is_the_same_in_every_arm(pool):
    advice = asked(pool, GAIT, held={"hoard": "yes"})
    assert advice.held == {"hoard": "yes"}
    assert advice.memory_bytes > 2**25


@pytest.mark.parametrize(
    ("wishes", "error", "words"),
    [
        ({"framework": "torch"}, BadInput, "--framework: walk does not run in 'torch'; expected one of: numpy"),
        ({"held": {"pocket": "1"}}, BadInput, "--set: 'pocket' is neither a technique of numpy nor an option of walk"),
        ({"held": {"gait": "hop"}}, BadInput, "--set: gait has no level 'hop'; expected some of: slow, quick"),
        ({"held": {"pace": "fast"}}, BadInput, "--set: pace must be a whole number from 1, got 'fast'"),
        ({"held": {"pace": "0"}}, BadInput, "--set: pace must be a whole number from 1, got '0'"),
        (
            {"held": {"gait": "quick"}, "only": ("pace", "gait")},
            BadInput,
            "--only: gait cannot be tried, since --set holds it at quick",
        ),
        ({"only": ("flight",)}, BadInput, "unknown technique 'flight' for numpy"),
        ({"only": ("malloc",)}, Unavailable, "--only: malloc cannot be switched here; what can: "),
    ],
)
def test_what_cannot_be_done_is_one_line(pool, wishes, error, words):
    with pytest.raises(error) as raised:
        prepare(Request(workload=WALK, techniques=(GAIT, PACE), **wishes), pool)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("wishes", [{"framework": "torch"}, {"only": ("flight",)}])
def test_a_wrong_name_is_refused_while_another_process_measures(wishes, monkeypatch):
    monkeypatch.setattr("accelbench.advise.session.hold_machine", lambda _: pytest.fail("waits for the machine"))
    with pytest.raises(BadInput):
        advise(Request(workload=WALK, techniques=(GAIT, PACE), **wishes))


def test_a_technique_of_numbers_can_be_held_at_one_between_its_levels(pool):
    request = Request(workload=WALK, techniques=(GAIT, PACE), only=("gait",), held={"pace": "3"})
    assert prepare(request, pool).trial.fixed == {"pace": "3"}
