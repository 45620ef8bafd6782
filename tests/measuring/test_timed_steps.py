"""What is timed must do the work of what is checked: arms whose timed steps do something else, and arms that do not."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from fake_device import FakeClock, FakeDevice

from accelbench.core import Arm, Build, Plan, Setting, Technique, Trial, Workload
from accelbench.measuring.trial_run import TrialRun
from accelbench.schema.result import ArmRecord

STEP_S = 1e-3  # of an honest step
IDLE_S = 20e-6  # of one that does nothing
ROWS = 24


class Bench:
    """A batch of rows and the weights that they are multiplied with, and the clock by which work takes its time."""

    def __init__(self, clock: FakeClock) -> None:
        rng = np.random.default_rng(3)
        self.clock = clock
        self.batch, self.weights = rng.normal(size=(ROWS, 6)), rng.normal(size=(6, 4))

    def work(self, seconds: float = STEP_S) -> np.ndarray:
        """Multiply the batch by the weights, which takes that long."""
        self.clock.advance(seconds)
        return self.batch @ self.weights

    def idle(self) -> None:
        """Take as long as a step that does nothing."""
        self.clock.advance(IDLE_S)

    def arm(self, step: Callable[[], Any], **facts: Any) -> Arm:
        """Return an arm with this step, which shows its inputs."""
        return Arm(**{"step": step, "items": ROWS, "inputs": lambda: self.batch} | facts)


Spoil = Callable[[Bench], Arm]


def honest(bench: Bench) -> Arm:
    return bench.arm(bench.work)


def measure(
    candidate: Spoil, baseline: Spoil = honest, *, budget_s: float = 0.2, seed: int = 5, **plan: Any
) -> list[ArmRecord]:
    """Measure an arm beside a baseline on a fake clock."""
    clock = FakeClock()
    builders = {"baseline": baseline, "candidate": candidate}

    def build(_: Setting, *, disguise: str = "baseline") -> Arm:
        return builders[disguise](Bench(clock))

    def disguised(build: Build, level: str) -> Arm:
        return build(disguise=level)

    workload = Workload(name="timed", frameworks=("fake",), unit="row", summary="", builder=build)
    disguise = Technique(name="disguise", framework="fake", levels=tuple(builders), summary="", apply=disguised)
    trial = Trial(
        framework="fake",
        workload=workload,
        arms=tuple({"disguise": level} for level in builders),
        techniques=(disguise,),
        plan=Plan(**{"budget_s": budget_s, "min_span_s": 0.0, "builds": 1, "prices": False} | plan),
    )
    return TrialRun(trial, FakeDevice(clock), clock=clock, coin=Random(seed)).run().arms


def accused(candidate: Spoil, baseline: Spoil = honest, **plan: Any) -> tuple[str, str]:
    """Return the outcome of a candidate that must have no speed, and the code of its reason."""
    first, second = measure(candidate, baseline, **plan)
    assert first.outcome == "measured", first.reason
    assert second.effect is None
    assert second.reason is not None, second.flags
    return second.outcome, second.reason.code


# Everyday mistakes.


class Epochs:
    """Training over a loader: each step is an epoch, which pulls the weights towards the mean of the batches."""

    def __init__(self, bench: Bench, *, patience: float = float("inf"), restarts: bool = True) -> None:
        self.bench, self.patience, self.restarts = bench, patience, restarts
        self.first = bench.weights.copy()
        self.reset()

    def reset(self) -> None:
        """Return to the first weights and the first batch."""
        self.weights, self.epochs, self.loss = self.first.copy(), 0, 0.0
        self.loader = iter(self.batches())

    def batches(self) -> list[np.ndarray]:
        """Return the batches of an epoch."""
        return np.array_split(self.bench.batch, 4)

    def step(self) -> float:
        """Train for an epoch."""
        self.epochs += 1
        self.bench.idle()
        if self.epochs > self.patience:
            return self.loss
        for batch in self.batches() if self.restarts else self.loader:
            self.bench.clock.advance(STEP_S / 4)
            output = batch @ self.weights
            self.loss = float(np.square(output - 1).mean())
            self.weights -= 1e-3 * batch.T @ (output - 1)
        return self.loss

    def arm(self, **facts: Any) -> Arm:
        """Return the arm."""
        shown = {"inputs": lambda: self.bench.batch, "parameters": lambda: [self.weights]}
        return self.bench.arm(self.step, reset=self.reset, **shown | facts)


def training(bench: Bench) -> Arm:
    return Epochs(bench).arm()


def exhausted(bench: Bench, **facts: Any) -> Arm:
    return Epochs(bench, restarts=False).arm(**facts)


def stopping_early(bench: Bench, **facts: Any) -> Arm:
    return Epochs(bench, patience=5).arm(**facts)


HIDDEN = {
    "inputs and parameters shown": {},
    "parameters shown": {"inputs": tuple},
    "inputs shown": {"parameters": tuple},
    "nothing shown": {"inputs": tuple, "parameters": tuple},
}


@pytest.mark.parametrize("facts", HIDDEN.values(), ids=HIDDEN)
def test_a_loaders_iterator_that_is_exhausted_after_the_first_epoch_is_named(facts: dict[str, Any]) -> None:
    outcome, code = accused(lambda bench: exhausted(bench, **facts), training)
    assert outcome.startswith("wrong-")
    assert code in ("idle-without-reset", "stopped-learning", "too-far", "parameters-too-far")


@pytest.mark.parametrize("facts", HIDDEN.values(), ids=HIDDEN)
def test_training_that_stops_early_during_the_timed_epochs_is_named(facts: dict[str, Any]) -> None:
    outcome, code = accused(lambda bench: stopping_early(bench, **facts), training)
    assert outcome == "wrong-work"
    assert code in ("idle-without-reset", "stopped-learning")


def test_an_exhausted_iterator_of_an_arm_without_a_reset_is_named_too() -> None:
    outcome, _ = accused(lambda bench: replace(exhausted(bench), reset=lambda: None), training)
    assert outcome.startswith("wrong-")


# Answers that are remembered.


def remembering(size: int, key: Callable[[np.ndarray], Any] = np.ndarray.tobytes) -> Spoil:
    """Return an arm that keeps the answers to the latest inputs, each found by its key."""

    def spoil(bench: Bench) -> Arm:
        kept: dict[Any, np.ndarray] = {}

        def step() -> np.ndarray:
            bench.idle()
            known = key(bench.batch)
            if known not in kept:
                kept[known] = bench.work()
                while len(kept) > size:
                    del kept[next(iter(kept))]
            return kept[known].copy()

        return bench.arm(step)

    return spoil


def remembering_identities(bench: Bench) -> Arm:
    """Return an arm that is fed with new arrays, and keeps the answers by the arrays' identity."""
    kept: list[tuple[Any, np.ndarray]] = []
    bench.batch.flags.writeable = False

    def step() -> np.ndarray:
        bench.idle()
        for array, answer in kept:
            if array is bench.batch:
                return answer.copy()
        kept.append((bench.batch, bench.work()))
        return kept[-1][1].copy()

    def feed(batch: np.ndarray) -> None:
        bench.batch = batch

    shown = bench.batch
    return bench.arm(step, inputs=lambda: shown, feed=feed)


def warm_start(bench: Bench) -> Arm:
    """Return an arm that iterates from the last solution, while every step is to begin at zero."""
    state = {"solution": np.zeros((ROWS, 4))}

    def step() -> np.ndarray:
        solution = bench.batch @ bench.weights
        distance = float(np.abs(solution - state["solution"]).max())
        bench.idle()
        bench.clock.advance(STEP_S * max(0.0, np.log10(distance / 1e-12)) / 12 if distance else 0.0)
        state["solution"] = solution
        return solution.copy()

    return bench.arm(step)


def hash_of(array: np.ndarray) -> int:
    return hash(array.tobytes())


@pytest.mark.parametrize(
    "spoil",
    [
        remembering(10**6),
        remembering(4),
        remembering(1),
        remembering(2, key=hash_of),
        remembering_identities,
        warm_start,
    ],
    ids=["all", "four", "the last one", "by hash", "by identity", "warm start"],
)
def test_an_arm_that_remembers_answers_is_named(spoil: Spoil) -> None:
    assert accused(spoil) == ("wrong-work", "remembers-answers")


def test_a_baseline_that_remembers_answers_is_named() -> None:
    baseline, candidate = measure(honest, remembering(4))
    assert baseline.reason is not None
    assert (baseline.outcome, baseline.reason.code) == ("wrong-work", "remembers-answers")
    assert candidate.outcome == "unavailable"


# Steps that tell checks from timing.


def cheating_while(is_timed: Callable[[], bool], output: Callable[[np.ndarray], Any] = np.copy) -> Spoil:
    """Return an arm that computes where it believes to be checked, and else returns its first answer."""

    def spoil(bench: Bench) -> Arm:
        known: list[np.ndarray] = []

        def step() -> np.ndarray:
            if known and is_timed():
                bench.idle()
                return output(known[0])
            known.append(bench.work())
            return known[-1].copy()

        return bench.arm(step)

    return spoil


def collector_is_off() -> bool:
    return not gc.isenabled()


def no_check_is_a_caller() -> bool:
    frame = sys._getframe(1)  # noqa: SLF001  the public way to the frames takes a millisecond
    while frame is not None:
        if "/checks/" in frame.f_code.co_filename and frame.f_code.co_name != "_examine":
            return False
        frame = frame.f_back
    return True


def after(calls: int) -> Callable[[], bool]:
    made = iter(range(10**9))
    return lambda: next(made) >= calls


@pytest.mark.parametrize("is_timed", [collector_is_off, no_check_is_a_caller], ids=["collector", "call stack"])
def test_an_arm_that_works_only_where_it_is_checked_is_named(is_timed: Callable[[], bool]) -> None:
    assert accused(cheating_while(is_timed)) == ("wrong-work", "ignores-inputs-when-timed")


@pytest.mark.parametrize("calls", [20, 50, 80])
def test_an_arm_that_works_only_in_its_first_calls_is_named(calls: int) -> None:
    outcome, code = accused(cheating_while(after(calls)))
    assert (outcome, code) == ("wrong-work", "output-ignores-inputs")


@pytest.mark.parametrize(("resets", "code"), [(False, "timed-output"), (True, "too-far")])
@pytest.mark.parametrize("is_timed", [collector_is_off, no_check_is_a_caller], ids=["collector", "call stack"])
def test_an_arm_that_computes_less_exactly_while_it_is_timed_is_named(
    is_timed: Callable[[], bool], resets: bool, code: str
) -> None:
    def spoil(bench: Bench) -> Arm:
        def step() -> np.ndarray:
            if not is_timed():
                return bench.work()
            return bench.work(STEP_S / 2) * 1.1

        return bench.arm(step, **{"reset": lambda: None} if resets else {})

    assert accused(spoil) == ("wrong-output", code)


def test_nan_that_comes_after_some_steps_is_named() -> None:
    assert accused(cheating_while(after(60), lambda known: known * np.nan)) == ("wrong-output", "timed-output")


def test_no_output_in_timed_steps_is_named() -> None:
    assert accused(cheating_while(after(60), lambda _: None)) == ("wrong-output", "timed-output")


def counting_steps(step: Callable[[Bench, int], Any]) -> Spoil:
    """Return an arm whose step knows how many there were since the reset."""

    def spoil(bench: Bench) -> Arm:
        made = {"steps": 0}

        def counted() -> Any:
            made["steps"] += 1
            return step(bench, made["steps"])

        return bench.arm(counted, reset=lambda: made.update(steps=0))

    return spoil


def test_an_arm_that_computes_less_exactly_some_steps_after_a_reset_is_named() -> None:
    spoil = counting_steps(lambda bench, steps: bench.work(STEP_S / 2) * (1.005 if steps > 5 else 1))
    outcome = accused(spoil, counting_steps(lambda bench, _: bench.work()))
    assert outcome == ("wrong-output", "later-output")


def test_arms_that_become_chaotic_alike_are_not_compared_where_differences_have_grown() -> None:
    def growing(scale: float) -> Spoil:
        return counting_steps(lambda bench, steps: bench.work() * (1 + scale * 3.0**steps))

    baseline, candidate = measure(growing(1.0 + 1e-5), growing(1.0))
    assert (baseline.outcome, candidate.outcome) == ("measured", "measured")


# Training that ends.


def frozen(bench: Bench, *, learns: int, reset: bool = True) -> Arm:
    """Return an arm that learns in its first steps, and later computes the loss only."""
    first, state = bench.weights.copy(), {"steps": 0}

    def step() -> float:
        state["steps"] += 1
        output = bench.work(STEP_S / 3)
        if state["steps"] <= learns:
            bench.clock.advance(2 * STEP_S / 3)
            bench.weights -= 1e-3 * bench.batch.T @ (output - 1)
        return float(np.square(output - 1).mean())

    def restart() -> None:
        bench.weights[:] = first
        if reset:
            state["steps"] = 0

    return bench.arm(step, reset=restart, parameters=lambda: [bench.weights])


def learning(bench: Bench) -> Arm:
    return frozen(bench, learns=10**9)


@pytest.mark.parametrize("learns", [2, 10, 100])
def test_parameters_that_are_frozen_after_the_first_steps_are_named(learns: int) -> None:
    assert accused(lambda bench: frozen(bench, learns=learns), learning) == ("wrong-work", "stopped-learning")


def test_a_forward_pass_alone_is_named_although_its_first_loss_is_right() -> None:
    assert accused(lambda bench: frozen(bench, learns=0), learning) == ("wrong-output", "parameters-unchanged")


def test_a_second_step_that_does_not_learn_is_named() -> None:
    outcome, code = accused(lambda bench: frozen(bench, learns=1), learning)
    assert outcome == "wrong-output"
    assert code in ("parameters-too-far", "learns-otherwise")


@pytest.mark.parametrize("rate", [2.0, -1.0])
def test_an_arm_that_learns_otherwise_is_named(rate: float) -> None:
    def spoil(bench: Bench) -> Arm:
        arm = learning(bench)
        first = bench.weights.copy()

        def step() -> Any:
            before = bench.weights.copy()
            loss = arm.step()
            bench.weights[:] = before + rate * (bench.weights - before)
            return loss

        return replace(arm, step=step, reset=lambda: bench.weights.__setitem__(slice(None), first))

    outcome, code = accused(spoil, learning)
    assert outcome == "wrong-output"
    assert code in ("parameters-too-far", "learns-otherwise")


def diverging(steps: int) -> Spoil:
    def spoil(bench: Bench) -> Arm:
        state = {"steps": 0}

        def step() -> np.ndarray:
            state["steps"] += 1
            return bench.work() * (np.nan if state["steps"] > steps else 1.0)

        return bench.arm(step, reset=lambda: state.update(steps=0))

    return spoil


def test_training_that_diverges_as_the_baseline_does_is_flagged_and_keeps_its_speed() -> None:
    for arm in measure(diverging(70), diverging(60)):
        assert arm.outcome == "measured", arm.reason
        assert [flag.code for flag in arm.flags] == ["not-finite-when-timed"]


def test_training_that_diverges_and_the_baseline_does_not_is_named() -> None:
    assert accused(diverging(60), diverging(10**9)) == ("wrong-output", "timed-output")


# Work that has moved to where no clock runs.


def moved_to_reset(bench: Bench) -> Arm:
    answers: list[np.ndarray] = []

    def reset() -> None:
        answers[:] = [bench.work()]

    def step() -> np.ndarray:
        bench.idle()
        return answers[0].copy()

    reset()
    return bench.arm(step, reset=reset)


def moved_to_a_context(bench: Bench) -> Arm:
    answers: list[np.ndarray] = []

    @contextmanager
    def computing() -> Iterator[None]:
        answers[:] = [bench.work()]
        yield

    def step() -> np.ndarray:
        bench.idle()
        return answers[0].copy()

    return bench.arm(step).inside(computing)


def moved_to_the_collector(bench: Bench) -> Arm:
    """Return an arm that only sums up, and leaves the rest to a callback of the collector."""

    def collect(phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            bench.clock.advance(STEP_S)

    gc.callbacks.append(collect)
    return bench.arm(lambda: bench.work(STEP_S / 10), close=lambda: gc.callbacks.remove(collect))


@pytest.mark.parametrize("spoil", [moved_to_reset, moved_to_a_context, moved_to_the_collector])
def test_work_that_has_moved_out_of_the_step_is_named(spoil: Spoil) -> None:
    assert accused(spoil) == ("wrong-work", "work-outside-step")


def test_a_context_that_costs_more_than_the_step_saves_is_flagged() -> None:
    def spoil(bench: Bench) -> Arm:
        @contextmanager
        def dear() -> Iterator[None]:
            bench.clock.advance(STEP_S)
            yield

        return bench.arm(lambda: bench.work(STEP_S / 2)).inside(dear)

    _, candidate = measure(spoil)
    assert candidate.outcome == "measured"
    (flag,) = candidate.flags
    assert flag.code == "costs-outside-step"
    assert "entering and leaving its contexts takes 1.00 ms longer" in str(flag)


def test_a_feed_that_costs_more_than_the_step_saves_is_flagged() -> None:
    def spoil(bench: Bench) -> Arm:
        answers: list[np.ndarray] = []

        def feed(batch: np.ndarray) -> None:
            bench.batch = batch
            answers[:] = [bench.work()]

        def step() -> np.ndarray:
            bench.idle()
            return answers[0].copy()

        shown = bench.batch
        feed(shown)
        return bench.arm(step, inputs=lambda: shown, feed=feed)

    _, candidate = measure(spoil)
    assert [flag.code for flag in candidate.flags] == ["costs-outside-step"]


# Honest arms that look a little like these.


def slower_on_the_first_step_after_a_reset(bench: Bench) -> Arm:
    state = {"cold": True}

    def step() -> np.ndarray:
        output = bench.work(STEP_S * (200 if state["cold"] else 1))
        state["cold"] = False
        return output

    return bench.arm(step, reset=lambda: state.update(cold=True))


def at_a_fixed_point(bench: Bench) -> Arm:
    """Return an arm that averages its state, which a reset copies from the inputs, until nothing changes any more."""
    state = {"rows": bench.batch.copy()}

    def step() -> np.ndarray:
        bench.clock.advance(STEP_S)
        state["rows"] = np.trunc(1e3 * state["rows"] / 2) / 1e3 + 0.0
        return state["rows"] + 1

    return bench.arm(step, reset=lambda: state.update(rows=bench.batch.copy()))


def with_a_state_that_a_reset_prepares(bench: Bench) -> Arm:
    """Return an arm that works on a copy, which a reset makes."""
    state = {"rows": bench.batch.copy()}

    def reset() -> None:
        bench.clock.advance(STEP_S / 10)
        state["rows"] = bench.batch.copy()

    def step() -> np.ndarray:
        bench.clock.advance(STEP_S / 2)
        return state["rows"] @ bench.weights

    return bench.arm(step, reset=reset)


def of_integers(bench: Bench) -> Arm:
    bench.batch = np.arange(ROWS * 6).reshape(ROWS, 6) % 11
    return bench.arm(bench.work)


def slower_on_unrounded_numbers(bench: Bench) -> Arm:
    """Return an arm whose time depends on the numbers, as where zeros are skipped."""
    bench.batch = np.round(bench.batch) + 1

    def step() -> np.ndarray:
        return bench.work(STEP_S * (1 if np.all(bench.batch == np.round(bench.batch)) else 3))

    return bench.arm(step)


def that_refuses_other_numbers(bench: Bench) -> Arm:
    """Return an arm whose timed steps need the numbers that they were made for."""
    expected = bench.batch.sum()

    def step() -> np.ndarray:
        if not gc.isenabled() and bench.batch.sum() != expected:
            raise ValueError("the checksum is wrong")
        return bench.work()

    return bench.arm(step)


def overwriting_its_output(bench: Bench) -> Arm:
    output = np.empty((ROWS, 4))
    turns = iter(range(10**9))

    def step() -> np.ndarray:
        np.multiply(bench.work(), 1 + next(turns) % 4, out=output)
        return output

    def reset() -> None:
        nonlocal turns
        turns = iter(range(10**9))

    return bench.arm(step, reset=reset)


def starting_workers(bench: Bench) -> Arm:
    """Return an arm of hidden inputs whose first step after a reset starts workers."""
    arm = slower_on_the_first_step_after_a_reset(bench)
    return replace(arm, inputs=tuple)


HONEST = {
    "plain": honest,
    "training": training,
    "learning": learning,
    "slow first step": slower_on_the_first_step_after_a_reset,
    "fixed point": at_a_fixed_point,
    "prepared state": with_a_state_that_a_reset_prepares,
    "integers": of_integers,
    "other numbers": slower_on_unrounded_numbers,
    "checksum": that_refuses_other_numbers,
    "buffer": overwriting_its_output,
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_arm_is_not_accused(name: str) -> None:
    for arm in measure(HONEST[name], HONEST[name]):
        assert (arm.outcome, arm.reason, arm.flags) == ("measured", None, [])


def test_an_arm_that_starts_workers_after_a_reset_is_doubted_and_keeps_its_speed() -> None:
    _, candidate = measure(starting_workers, lambda bench: replace(honest(bench), inputs=tuple))
    assert candidate.outcome == "measured", candidate.reason
    assert [flag.code for flag in candidate.flags] == ["faster-without-reset"]


# How the referee asks.


def test_every_arm_is_examined_in_the_first_visit_and_dear_ones_no_more_later() -> None:
    def steps_of(visit: int) -> int:
        counted = []

        def counting(bench: Bench) -> Arm:
            def step() -> np.ndarray:
                counted.append(1)
                return bench.work(0.05)

            return bench.arm(step)

        measure(counting, honest, visit=visit, budget_s=0.5)
        return len(counted)

    first, later = steps_of(0), steps_of(1)
    assert later < first


@pytest.mark.slow
def test_no_honest_arm_is_accused_on_a_machine_that_delays_every_second_step_at_random() -> None:
    coin = Random(1)

    def delayed(bench: Bench) -> Arm:
        def step() -> np.ndarray:
            return bench.work(STEP_S * coin.choice((1, 60)))

        return bench.arm(step, reset=lambda: None)

    found = [arm.reason for seed in range(60) for arm in measure(delayed, delayed, budget_s=1.0, seed=seed)]
    assert found == [None] * 120


def test_later_visits_are_examined_when_a_coin_says_so() -> None:
    outcomes = [measure(remembering(4), visit=1, seed=seed)[1].outcome for seed in range(10)]
    assert 1 <= outcomes.count("wrong-work") < 10
    assert {arm.outcome for seed in range(10) for arm in measure(honest, visit=1, seed=seed)} == {"measured"}


def test_a_later_visit_that_is_not_drawn_ends_with_its_last_timed_block() -> None:
    def resets(visit: int, seed: int) -> int:
        made: list[int] = []

        def watched(bench: Bench) -> Arm:
            return bench.arm(bench.work, reset=lambda: made.append(1))

        measure(honest, watched, visit=visit, seed=seed)
        return len(made)

    later = [resets(1, seed) for seed in range(10)]
    assert 1 <= later.count(min(later)) < 10
    assert max(later) < resets(0, 0)
