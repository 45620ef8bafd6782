"""Workers import the framework at the same time, and no worker is timed in which a profiler was attached."""

import json
import sys
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Setting, Trial, find_workload
from accelbench.errors import BadInput, Unavailable
from accelbench.explain import (
    ExplanationRequest,
    as_markdown,
    as_text,
    explain,
    explain_technique,
    predict_speedups,
    reasons_as_json,
    reasons_as_text,
)
from accelbench.explain.paired_measurement import PairedMeasurement
from accelbench.explain.parts import TOO_LATE, StepPart
from accelbench.explain.profile import OperatorTime, Profile, StepShare
from accelbench.explain.profile_worker import find_profiler
from accelbench.explain.technique_session import find_objection
from accelbench.machine_lock import lock_machine
from accelbench.measuring.applicable import Applicable
from accelbench.measuring.trial_result import TrialResult
from accelbench.measuring.workers.process import WorkerLostError
from accelbench.schema.reasons import reason
from accelbench.schema.result import AS_IS, ArmRecord, Ceiling, Effect, Price, Timing
from accelbench.workloads.program_file import find_user_workload

PROGRAM = """
from accelbench import ArrayProgram

def build() -> ArrayProgram:
    raise AssertionError("no worker of these tests builds it")
"""
PROFILE = Profile(framework="numpy", device="cpu", seconds=1e-3, items=32.0, threads=1, cores=2)
CEILINGS = [Ceiling(name="cpu memory", per_s=1e10, unit="byte", working_set_bytes=0)]
MOVING = OperatorTime(name="add", calls=1, seconds=9e-4, share=StepShare(share=0.9, low=0.8, high=1.0), moved_bytes=3e6)
HALF_THE_BANDWIDTH = replace(CEILINGS[0], per_s=5e9)
LOST = WorkerLostError("crashed", reason("worker-exited", status=1, when="during a trial"))
ANSWERS: dict[str, Any] = {
    "import": 0.1,
    "describe": ((), {}, False),
    "ceilings": CEILINGS,
    "applicable": [],
}
OBJECTION = ""


def use_pool(monkeypatch: pytest.MonkeyPatch, pool: Any) -> None:
    """Measure by this pool."""
    for room in ("session", "technique_session"):
        monkeypatch.setattr(f"accelbench.explain.{room}.Pool", lambda _: pool)


def use_clock(monkeypatch: pytest.MonkeyPatch, now_s: list[float]) -> None:
    """Read the time, in seconds, from a list of one."""
    for room in ("session", "technique_session", "paired_measurement"):
        monkeypatch.setattr(f"accelbench.explain.{room}.time", SimpleNamespace(monotonic=lambda: now_s[0]))


@pytest.fixture
def orders(monkeypatch, tmp_path) -> list[tuple[int, str]]:
    """What all workers are asked for, in order, by the number of the worker; each is lost when it is to measure.

    What applies to the program is not among it.
    """
    log: list[tuple[int, str]] = []

    class LoggingWorker:
        interpreter = SimpleNamespace(describe=lambda _, description: description)
        is_running = True

        def __init__(self, framework: str, environment: dict[str, str]) -> None:
            self.framework, self.environment = framework, environment
            self.number = sum(order == "start" for _, order in log)
            log.append((self.number, "start"))

        def ask(self, order: str, *_: Any, **__: Any) -> Any:
            if order in ("describe", "applicable"):
                return ANSWERS[order]
            log.append((self.number, order))
            if order == "measure":
                raise LOST
            return ANSWERS[order]

        def call(self, function: Any, *_: Any, **__: Any) -> Any:
            if function is find_objection:
                return OBJECTION
            log.append((self.number, "profile"))
            return PROFILE

        def close(self) -> None:
            log.append((self.number, "close"))

    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("accelbench.explain.profile_worker.Worker", LoggingWorker)
    monkeypatch.setattr("accelbench.measuring.workers.pool.Worker", LoggingWorker)
    return log


@pytest.fixture
def request_of_a_program(tmp_path) -> ExplanationRequest:
    (tmp_path / "program.py").write_text(PROGRAM)
    workload, _ = find_user_workload(f"{tmp_path / 'program.py'}:build")
    return ExplanationRequest(workload=workload)


def test_the_worker_that_profiles_and_the_one_that_measures_import_at_the_same_time(orders, request_of_a_program):
    with pytest.raises(Unavailable, match="your program was not measured"):
        explain(request_of_a_program)
    assert orders[:5] == [(0, "start"), (1, "start"), (1, "import"), (0, "import"), (0, "profile")]


def test_no_worker_is_timed_in_which_a_profiler_was(orders, request_of_a_program):
    for _ in range(2):  # the second one finds the ceilings in the cache
        orders.clear()
        with pytest.raises(Unavailable):
            explain(request_of_a_program)
        (profiled,) = [number for number, order in orders if order == "profile"]
        (measured,) = [number for number, order in orders if order == "measure"]
        assert measured != profiled
        assert orders.index((profiled, "close")) < orders.index((measured, "measure"))


def test_no_import_after_the_ceilings_is_part_of_the_budget(orders, request_of_a_program):
    with pytest.raises(Unavailable):
        explain(request_of_a_program)
    later = [order for _, order in orders[orders.index((2, "ceilings")) :]]
    assert "measure" in later
    assert "import" not in later


def test_known_ceilings_cost_no_import(orders, request_of_a_program, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "PROFILE", replace(PROFILE, operators=(MOVING,)))
    for _ in range(2):
        orders.clear()
        with pytest.raises(Unavailable):
            explain(request_of_a_program)
    assert [number for number, order in orders if order == "import"] == [1, 0]


@pytest.mark.parametrize("ask", [explain, predict_speedups, partial(explain_technique, name="threads", level="all")])
def test_a_recipe_for_something_that_is_no_technique_is_refused(ask, orders, request_of_a_program, monkeypatch):
    monkeypatch.setitem(globals(), "PROFILE", replace(PROFILE, recipes={"treads": {"1": "one_tread()"}}))
    with pytest.raises(BadInput, match="unknown technique 'treads'"):
        ask(request_of_a_program)
    assert "measure" not in {order for _, order in orders}


@pytest.mark.parametrize("ask", [explain, partial(explain_technique, name="threads", level="all")])
def test_the_start_is_told_when_the_machine_is_free_and_before_a_worker_starts(ask, orders, request_of_a_program):
    told: list[tuple[list[Any], bool]] = []
    lock = lock_machine(wait=False, say=pytest.fail)
    assert lock is not None
    with pytest.raises(Unavailable):
        ask(
            request_of_a_program,
            report=lambda _: lock.release(),  # first told that another process measures
            on_start=lambda: told.append(([*orders], lock.is_locked)),
        )
    assert told == [([], False)]


def test_both_profiles_of_a_technique_and_its_trial_have_workers_that_start_at_once(orders, request_of_a_program):
    with pytest.raises(Unavailable):
        explain_technique(request_of_a_program, "threads", "all")
    assert [order for _, order in orders[:6]] == ["start"] * 3 + ["import"] * 3
    assert orders[6:10] == [(0, "profile"), (0, "close"), (1, "profile"), (1, "close")]


@pytest.mark.usefixtures("orders")
def test_what_a_program_has_already_is_left_out_of_a_prediction(request_of_a_program, monkeypatch):
    fixed = Applicable(technique="dtype", levels=(AS_IS,), present=("float32",))
    monkeypatch.setitem(ANSWERS, "applicable", [fixed])
    found = predict_speedups(request_of_a_program)
    assert "dtype" not in {name for each in found for name in each.techniques}
    assert [each.present for each in found if each.present] == [{"dtype": ("float32",)}]
    monkeypatch.setitem(ANSWERS, "applicable", BadInput("it cannot be built"))
    with pytest.raises(BadInput, match="it cannot be built"):
        predict_speedups(request_of_a_program)


def test_what_a_program_has_already_is_refused_before_it_is_profiled(orders, request_of_a_program, monkeypatch):
    monkeypatch.setitem(globals(), "OBJECTION", "the program has this already")
    with pytest.raises(
        Unavailable, match=r"^threads all cannot be compared with your program as it stands: the program has this "
    ):
        explain_technique(request_of_a_program, "threads", "all")
    assert "profile" not in {order for _, order in orders}


PRECISE = """
import numpy
from accelbench import ArrayProgram

def build() -> ArrayProgram:
    return ArrayProgram(step=lambda xp, array: array + 1, arrays=(numpy.ones(3, numpy.{}),))
"""


@pytest.mark.parametrize(
    ("own", "name", "level", "why"),
    [
        ("float32", "dtype", "float32", "the program has this already"),
        ("float64", "dtype", "float64", "the program has this already"),
        ("float64", "in_place", "on", "has no option 'in_place'"),
        ("float64", "dtype", "float32", ""),
    ],
)
def test_an_objection_is_that_of_advice(tmp_path, own, name, level, why):
    path = tmp_path / f"{own}_{name}_{level}.py"  # a process imports a module of one name once
    path.write_text(PRECISE.format(own))
    workload, _ = find_user_workload(f"{path}:build")
    trial = Trial(framework="numpy", workload=workload, arms=({},), setting=Setting(cores=2))
    found = find_objection(trial, name, level)
    assert why in found
    assert bool(found) == bool(why)


@pytest.mark.parametrize(
    ("workload", "name", "level", "words"),
    [
        ("heat", "dtype", "float46", "dtype has no level 'float46'; expected some of: float64, float32"),
        ("mlp-train", "batch_size", "many", "batch_size must be a whole number from 1, got 'many'"),
        ("mlp-train", "workers", "-1", "workers must be a whole number from 0, got '-1'"),
    ],
)
def test_a_level_that_a_technique_does_not_have_is_refused_before_a_worker_starts(orders, workload, name, level, words):
    with pytest.raises(BadInput, match=f"^--technique: {words}$"):
        explain_technique(ExplanationRequest(workload=find_workload(workload)), name, level)
    assert orders == []


@pytest.mark.parametrize("during", ["ceilings", "parts"])
@pytest.mark.usefixtures("orders")
def test_an_interruption_shows_the_profile_and_what_was_measured_by_then(request_of_a_program, monkeypatch, during):
    class InterruptedPool(AnsweringPool):
        def measure(self, trial: Trial, **_: Any) -> TrialResult:
            if not self.answers:
                raise KeyboardInterrupt
            return super().measure(trial)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    pool = InterruptedPool(SURE)
    if during == "ceilings":
        pool.ceilings.get = interrupt
    several = replace(PROFILE, batch_size=8, most=64, float64=StepShare(share=0.5, low=0.4, high=0.6))
    monkeypatch.setattr(sys.modules[__name__], "PROFILE", several)
    use_pool(monkeypatch, pool)
    explanation = explain(request_of_a_program)
    assert explanation.interrupted
    assert explanation.profile == several
    assert sum(part.share is not None for part in explanation.parts) == (during == "parts")
    assert {part.reason for part in explanation.parts if part.share is None} == {"it was interrupted"}
    assert "Interrupted: what was not measured by then is left out." in as_text(explanation)


@pytest.mark.usefixtures("slow_profiles")
def test_a_first_profile_that_does_not_end_is_ended(orders, request_of_a_program, monkeypatch):
    monkeypatch.setattr("accelbench.explain.profile_worker.LEAST_PROFILE_S", 0.2)
    with pytest.raises(
        Unavailable,
        match=r"a step, or its first call, is slow; raise --budget, such as to 10s",
    ):
        explain(replace(request_of_a_program, budget_s=0.1))
    assert "measure" not in {order for _, order in orders}


def test_a_prediction_starts_one_worker(orders, request_of_a_program):
    assert {("dtype",), ("threads",)} <= {each.techniques for each in predict_speedups(request_of_a_program)}
    assert orders[:4] == [(0, "start"), (0, "import"), (0, "profile"), (0, "close")]
    assert {number for number, _ in orders} == {0}


def test_a_workload_of_the_suite_is_profiled_by_its_name_with_the_levels_of_its_trial(orders):
    request = ExplanationRequest(workload=find_workload("mlp-train"), fixed={"threads": "1"}, options={"rows": 8})
    assert find_profiler(request).args == ("torch", "mlp-train", {"threads": "1"}, {"rows": 8})
    with pytest.raises(Unavailable, match="mlp-train was not measured"):
        explain_technique(request, "amp", "bf16")
    assert [order for _, order in orders[:6]] == ["start"] * 3 + ["import"] * 3


class AnsweringPool:
    """Measures nothing: the speedups of a trial's arms are those of the next answer, each with its interval."""

    def __init__(self, *answers: tuple[float, float, float]) -> None:
        self.answers, self.trials = [*answers], list[Trial]()
        self.ceilings = SimpleNamespace(get=lambda *_: CEILINGS, measure_memory=lambda *_: [HALF_THE_BANDWIDTH])

    def start(self, _: str) -> None:
        """Start no worker."""

    def close(self) -> None:
        """End none."""

    def measure(self, trial: Trial, **_: Any) -> TrialResult:
        self.trials.append(trial)
        speedup, low, high = self.answers.pop(0)
        effect = Effect(against={}, speedup=speedup, low=low, high=high, verdict="undecided", pairs=9)
        own, *others = trial.arms
        timing = Timing(
            median_s=0.01,
            quantiles_s=(0.01,),
            blocks=9,
            iterations_per_block=1,
            cold_s=0.01,
            build_s=0.01,
            warmup_blocks=1,
            warmup_settled=True,
        )
        arms = [ArmRecord(levels=own, outcome="measured", timing=timing, items=trial.setting.items)]
        arms += [ArmRecord(levels=levels, outcome="measured", effects=[effect]) for levels in others]
        return TrialResult(arms=arms, samples_s=[(0.01,)] * len(arms))


OPEN, SURE = (1.2, 0.9, 1.5), (1.3, 1.2, 1.4)


@pytest.mark.usefixtures("orders")
def test_what_the_pairs_leave_open_is_taken_off_again_in_the_time_that_is_left(request_of_a_program, monkeypatch):
    pool = AnsweringPool(OPEN, SURE)
    use_pool(monkeypatch, pool)
    explanation = explain(request_of_a_program)
    assert [trial.arms[1:] for trial in pool.trials] == [({"threads": "all"},)] * 2
    assert [cause.code for cause in explanation.causes] == ["one-thread"]


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize(("moved_bytes", "causes"), [(3e6, ["memory-bound"]), (1e6, [])])
def test_operators_are_compared_with_the_present_bandwidth_of_the_memory(
    request_of_a_program, monkeypatch, moved_bytes, causes
):
    moving = replace(MOVING, moved_bytes=moved_bytes)
    monkeypatch.setattr(sys.modules[__name__], "PROFILE", replace(PROFILE, threads=2, operators=(moving,)))
    use_pool(monkeypatch, AnsweringPool(SURE))
    explanation = explain(request_of_a_program)
    assert [cause.code for cause in explanation.causes] == causes


@pytest.mark.usefixtures("orders")
def test_what_is_finished_when_the_time_is_up_is_kept(request_of_a_program, monkeypatch):
    class SlowPool(AnsweringPool):
        def measure(self, trial: Trial, **_: Any) -> TrialResult:
            if not self.answers:
                time.sleep(30.0)  # until the limit interrupts it
            return super().measure(trial)

    several = replace(PROFILE, batch_size=8, most=64, float64=StepShare(share=0.5, low=0.4, high=0.6))
    monkeypatch.setattr(sys.modules[__name__], "PROFILE", several)
    use_pool(monkeypatch, SlowPool(SURE))
    explanation = explain(replace(request_of_a_program, budget_s=2.0))
    names = [part.name for part in explanation.parts]
    assert len(names) > 2
    assert [part.name for part in explanation.parts if part.share is not None] == names[:1]
    assert {part.reason for part in explanation.parts[1:]} == {TOO_LATE}
    assert "1 part taken off" in as_text(explanation)


@pytest.mark.usefixtures("orders")
def test_a_program_that_is_slow_to_build_has_no_more_trials_than_its_time_has_room_for(
    request_of_a_program, monkeypatch
):
    class SlowPool(AnsweringPool):
        def measure(self, trial: Trial, **_: Any) -> TrialResult:
            now_s[0] += len(trial.arms) * (30.0 + 1.6 * trial.plan.budget_s)
            return super().measure(trial)

    now_s = [0.0]
    use_clock(monkeypatch, now_s)
    pool = SlowPool(*[SURE] * 4)
    measure = PairedMeasurement(request_of_a_program, pool, PROFILE, lambda _: None)
    parts = [(name, {"threads": name}) for name in ("1", "2", "3", "4", "5")]
    found = measure(parts, 100.0, latest_s=200.0)
    assert [len(trial.arms) for trial in pool.trials] == [2, 3]
    assert [part.name for part in found if part.share is not None] == ["1", "2", "3"]
    assert [part.reason for part in found[3:]] == [TOO_LATE] * 2
    assert [part.reason for part in measure(parts[:1], 20.0)] == [TOO_LATE]


@pytest.fixture
def explained_slowly(request_of_a_program, monkeypatch):
    """Explain a program of three parts on a fake clock; ``seconds_of`` says how long each trial takes."""

    def explain_in(budget_s, seconds_of):
        class SlowPool(AnsweringPool):
            def measure(self, trial: Trial, **_: Any) -> TrialResult:
                now_s[0] += seconds_of(len(self.trials), trial)
                return super().measure(trial)

        now_s, pool = [0.0], SlowPool(*[OPEN] * 9)
        use_clock(monkeypatch, now_s)
        several = replace(PROFILE, batch_size=8, most=64, float64=StepShare(share=0.5, low=0.4, high=0.6))
        monkeypatch.setattr(sys.modules[__name__], "PROFILE", several)
        use_pool(monkeypatch, pool)
        return explain(replace(request_of_a_program, budget_s=budget_s)), pool

    return explain_in


@pytest.mark.usefixtures("orders")
def test_what_does_not_fit_together_is_taken_off_alone_before_anything_is_taken_off_again(explained_slowly):
    explanation, pool = explained_slowly(
        20.0, lambda number, trial: (0.0 if number else 10.0) + len(trial.arms) * 1.6 * trial.plan.budget_s
    )
    assert [part.name for part in explanation.parts if part.share is None] == []
    assert len(explanation.parts) == 3
    assert [len(trial.arms) for trial in pool.trials[:3]] == [2, 2, 2]


@pytest.mark.usefixtures("orders")
def test_nothing_is_taken_off_again_where_a_part_was_not_taken_off_at_all(explained_slowly):
    explanation, pool = explained_slowly(14.0, lambda *_: 12.0)
    assert len(pool.trials) == 1
    assert [part.reason for part in explanation.parts[1:]] == [TOO_LATE] * (len(explanation.parts) - 1)


@pytest.fixture
def slow_profiles(monkeypatch):
    """Set how long each profile takes on a fake clock; a profile without a time really waits until it is ended."""
    now_s, took_s, real = [0.0], list[float](), time

    def call(*_: Any, **__: Any) -> Profile:
        if took_s:
            now_s[0] += took_s.pop(0)
            return PROFILE
        real.sleep(30.0)
        raise AssertionError("nothing ended it")

    use_clock(monkeypatch, now_s)
    for room in ("profile_worker", "technique_session"):
        monkeypatch.setattr(f"accelbench.explain.{room}.profile_in", call)
    return took_s


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize(
    ("profiles_s", "budget_s", "has_profile", "pairs", "words"),
    [
        ([10.0, 10.0], 60.0, True, 1, ""),
        ([50.0, 50.0], 60.0, False, 1, "raise --budget to 110s"),
        ([34.0, 34.5], 60.0, True, 0, ""),
        ([1.0], 1.5, False, 0, "raise --budget to 10s"),
    ],
)
def test_what_does_not_fit_into_the_budget_of_a_technique_is_left_out_and_the_budget_that_would_do_is_named(
    request_of_a_program, monkeypatch, slow_profiles, profiles_s, budget_s, has_profile, pairs, words
):
    slow_profiles += profiles_s
    slow_start = replace(PROFILE, first_s=1.0)
    monkeypatch.setattr(sys.modules[__name__], "PROFILE", slow_start)
    pool = AnsweringPool(SURE)
    use_pool(monkeypatch, pool)
    start_s = time.monotonic()
    reasons = explain_technique(replace(request_of_a_program, budget_s=budget_s), "threads", "all")
    assert time.monotonic() - start_s < 10.0
    assert (reasons.after is not None, len(pool.trials)) == (has_profile, pairs)
    text = reasons_as_text(reasons)
    assert (f"There is no profile of the program with it: the budget is too short for it: {words}" in text) == (
        not has_profile
    )
    assert ("not measured: the budget is too short for it: raise --budget to " in text) == (not pairs)
    assert json.dumps(reasons_as_json(reasons), allow_nan=False)


@pytest.mark.usefixtures("orders")
def test_what_is_sure_is_taken_off_once(request_of_a_program, monkeypatch):
    pool = AnsweringPool(SURE)
    use_pool(monkeypatch, pool)
    explain(request_of_a_program)
    assert len(pool.trials) == 1


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize(("workers", "items"), [(0, 8.0), (2, 32.0)])
def test_an_iteration_of_a_data_set_that_makes_its_batches_is_shortened_to_a_few_of_them(
    request_of_a_program, monkeypatch, workers, items
):
    slow = replace(PROFILE, seconds=0.8, batches=8, batch_size=None, workers=workers)
    monkeypatch.setattr(sys.modules[__name__], "PROFILE", slow)
    pool = AnsweringPool(SURE)
    use_pool(monkeypatch, pool)
    explain(request_of_a_program)
    assert pool.trials[0].setting.items == items


@pytest.mark.parametrize(("counts", "left_s"), [(True, 60.0), (False, 60.0), (True, 0.1)])
def test_energy_is_counted_of_what_helps_where_there_is_a_counter_and_time(
    monkeypatch, request_of_a_program, counts, left_s
):
    trials = []

    class CountingPool:
        def measure(self, trial: Trial, **_: Any) -> TrialResult:
            trials.append(trial)
            prices = [Price(energy_j_per_item=2e-3 / place) for place, _ in enumerate(trial.arms, start=1)]
            arms = zip(trial.arms, prices, strict=True)
            return TrialResult(
                arms=[ArmRecord(levels=levels, outcome="measured", price=price) for levels, price in arms],
                samples_s=[(1.0,)] * len(prices),
            )

    def tried(name: str, low: float) -> StepPart:
        effect = Effect(against={}, speedup=2 * low, low=low, high=4 * low, verdict="undecided", pairs=9)
        return StepPart(name=name, levels={name: "on"}, effect=effect)

    monkeypatch.setattr("accelbench.explain.paired_measurement.counts_energy", lambda _: counts)
    measure = PairedMeasurement(request_of_a_program, CountingPool(), PROFILE, lambda _: None)
    item_j, remedies = measure.count_energy([tried("dtype", 1.2), tried("threads", 0.5)], time.monotonic() + left_s)
    if counts and left_s > 1:
        assert (item_j, [each.item_j for each in remedies]) == (2e-3, [1e-3, None])
        assert trials[0].arms == ({"dtype": AS_IS}, {"dtype": "on"})
    else:
        assert (item_j, trials, [each.item_j for each in remedies]) == (None, [], [None, None])


def test_a_workload_of_the_suite_is_explained_by_its_profile_alone(orders, monkeypatch):
    busy = replace(PROFILE, threads=PROFILE.cores, loads=True)
    monkeypatch.setattr(sys.modules[__name__], "PROFILE", busy)
    explanation = explain(ExplanationRequest(workload=find_workload("mlp-train")))
    assert explanation.profile == busy
    assert (explanation.parts, explanation.remedies) == ((), ())
    assert "measure" not in [order for _, order in orders]
    assert "By profile, most of the time lies in the operators below." in as_text(explanation)


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize(("answer", "is_advised"), [(SURE, True), ((0.5, 0.4, 0.6), False)])
def test_what_was_tried_and_is_slower_is_not_advised(request_of_a_program, monkeypatch, answer, is_advised):
    profile = replace(PROFILE, threads=2, operators=(replace(MOVING, moved_bytes=3e6),))
    monkeypatch.setattr(sys.modules[__name__], "PROFILE", profile)
    use_pool(monkeypatch, AnsweringPool(answer))
    explanation = explain(request_of_a_program)
    (cause,) = explanation.causes
    assert [each.name for each in explanation.remedies] == ["dtype float32"]
    assert ("store in fewer bits" in as_text(explanation)) == is_advised
    assert ("store in fewer bits" in as_markdown(explanation)) == is_advised
    assert cause.techniques == (("dtype", "float32"),) * is_advised


def test_a_workload_that_raises_under_its_profiler_is_one_line(monkeypatch):
    def fail(*_: Any) -> Profile:
        raise KeyError("labels")

    monkeypatch.setattr("accelbench.explain.array_profile.profile_workload", fail)
    request = ExplanationRequest(workload=find_workload("heat"))
    assert request.framework == "numpy"
    with pytest.raises(
        Unavailable, match=r"heat cannot be profiled: failed: KeyError: 'labels' \(test_explain_session"
    ):
        find_profiler(request)(request.setting, {})
