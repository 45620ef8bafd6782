"""What a call of ``measure`` does: first it says what the trial is, and later it reports the test's arm of it.

A run visits all of its trials several times, so it must know all of them before the first visit. Therefore a trial's
first test runs up to that call beforehand, and its lines before the call run twice. In the report, the arm becomes the
test's outcome and pytest-benchmark's rounds: its own fixture receives the measured blocks, which its timer replays.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NoReturn

import pytest
from _pytest.runner import runtestprotocol
from pytest_benchmark.fixture import FixtureAlreadyUsed

from accelbench.core import Workload
from accelbench.errors import AccelbenchError, BadInput, Unavailable
from accelbench.pytest_plugin.collection import function_id
from accelbench.pytest_plugin.session import Session
from accelbench.schema.result import SKIPPED, ArmRecord


def plan_requests(session: pytest.Session, own: Session) -> None:
    """Run tests without reporting them until each trial has been asked for, or none of its tests has asked."""
    items = [item for item in session.items if item.nodeid in own.trials]
    own.is_planning = True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are reported when the tests run for good
            for item in items:
                if own.trials[item.nodeid].id not in own.requests:
                    session._setupstate.teardown_exact(item)  # noqa: SLF001  what this item does not share
                    runtestprotocol(item, log=False, nextitem=_sibling(item, items))
            session._setupstate.teardown_exact(session.items[0])  # noqa: SLF001
    finally:
        own.is_planning = False


def _sibling(item: pytest.Item, items: list[pytest.Item]) -> pytest.Item | None:
    """Return another test, of the same module if there is one, so that this module's fixtures stay for it."""
    others = [each for each in items if each is not item]
    return next((each for each in others if each.path == item.path), next(iter(others), None))


class ReplayClock:
    """A timer that reads 0 and then the seconds of an iteration in the next block, in turn."""

    def __init__(self) -> None:
        self.is_loaded = False
        self._readings: Iterator[float] = iter(())

    def load(self, samples_s: tuple[float, ...]) -> None:
        """Load the blocks to replay: the seconds of an iteration in each."""
        self.is_loaded = True
        self._readings = (reading for sample_s in samples_s for reading in (0.0, sample_s))

    def read(self) -> float:
        """Return the next reading; pytest-benchmark takes two per round.

        Raises:
            FixtureAlreadyUsed: there is none, since the test calls ``benchmark`` itself.
        """
        for reading in self._readings:
            return reading
        raise FixtureAlreadyUsed


def install_clock(item: pytest.Item) -> ReplayClock:
    """Make a replay clock the test's benchmark timer, keeping its own marker's other options, and return the clock."""
    clock = ReplayClock()
    marker = item.get_closest_marker("benchmark")
    options = {**(marker.kwargs if marker else {}), "timer": clock.read}
    item.add_marker(pytest.mark.benchmark(**options), append=False)
    return clock


def measure_arm(
    session: Session,
    item: pytest.Item,
    benchmark: Any,
    clock: ReplayClock | None,
    workload: str | Workload,
    keywords: Mapping[str, Any],
) -> ArmRecord:
    """Measure the test's trial, unless an earlier test did, and replay the test's arm through the benchmark fixture.

    The test is skipped if the arm cannot run here, and fails if the arm is broken.
    """
    __tracebackhide__ = True  # a skip is then reported at the line of the test
    if session.is_planning:
        with suppress(AccelbenchError):  # the test reports it when it runs for good
            session.plan(item, workload, keywords)
        benchmark.skipped = True  # as below
        pytest.skip("planned")
    try:
        if refusal := session.refusals.get(function_id(item)):
            raise refusal
        if clock is None:
            raise BadInput(
                "measure compares the levels of a technique: put @toggles(framework, technique) on the test, and take "
                "measure as an argument"
            )
        if clock.is_loaded:
            raise BadInput("measure was called twice in one test; make it two tests, or parametrize")
        measured, place = session.measure(item, workload, keywords)
    except Exception as error:
        if clock is None or not clock.is_loaded:
            _leave_unused(session, benchmark, clock or ReplayClock())
        if isinstance(error, BadInput):
            session.usage_errors.append(error)
        if isinstance(error, Unavailable):
            pytest.skip(str(error))
        if isinstance(error, AccelbenchError):
            raise pytest.fail.Exception(str(error), pytrace=False) from None  # the sentence once, not as a chain of two
        raise
    except KeyboardInterrupt:
        benchmark.skipped = True  # or pytest-benchmark would warn that its fixture was not used
        raise
    arm = measured.record.arms[place]
    benchmark.group = benchmark.group or measured.record.id
    benchmark.extra_info.update(_extra_info(arm, measured.record.unit))
    if arm.outcome == "measured":
        _replay(benchmark, clock, arm, measured.samples_s[place])
    else:
        _replay_nothing(benchmark, clock)
        _end_unmeasured(arm)
    return arm


def require_measured(session: Session, item: pytest.Item, clock: ReplayClock) -> None:
    """Fail a test of a trial that has passed without a call of ``measure``."""
    __tracebackhide__ = True
    if clock.is_loaded or session.is_planning:
        return
    _leave_unused(session, item.funcargs["benchmark"], clock)  # type: ignore[attr-defined]  # a function has them
    error = BadInput(
        "the test takes measure and does not call it, so nothing was measured; call it, as in measure('cnn-train')"
    )
    session.usage_errors.append(error)
    raise pytest.fail.Exception(str(error), pytrace=False)


def _replay(benchmark: Any, clock: ReplayClock, arm: ArmRecord, samples_s: tuple[float, ...]) -> None:
    """Replay an arm's blocks as rounds of one call. In a rehearsal an arm has no blocks and gets one round.

    How many iterations a block has is noted, not replayed: a short step is called a million times in each.
    """
    clock.load(samples_s)
    benchmark.pedantic(lambda: None, rounds=max(1, len(samples_s)))
    if arm.timing:
        benchmark.stats.iterations = arm.timing.iterations_per_block


class _NoSamplesError(AccelbenchError):
    """An arm has no samples to replay."""


def _leave_unused(session: Session, benchmark: Any, clock: ReplayClock) -> None:
    """Keep pytest-benchmark from warning that a failed test did not use its fixture, and from saving an empty run."""
    _replay_nothing(benchmark, clock)
    if not session.visits:
        session.storage.leave_out(benchmark.stats)


def _replay_nothing(benchmark: Any, clock: ReplayClock) -> None:
    """Use the fixture with an error: pytest-benchmark then saves the run, without an entry for this test."""

    def fail() -> None:
        raise _NoSamplesError

    clock.load((0.0,))
    with suppress(_NoSamplesError):
        benchmark.pedantic(fail)


def _end_unmeasured(arm: ArmRecord) -> NoReturn:
    __tracebackhide__ = True
    if arm.outcome in SKIPPED:
        pytest.skip(str(arm.reason))
    pytest.fail(f"{arm.outcome}: {arm.reason}", pytrace=False)


def _extra_info(arm: ArmRecord, unit: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"levels": arm.levels, "unit": unit, "items": arm.items}
    if arm.effect is not None:
        effect = arm.effect
        facts |= {"verdict": effect.verdict, "speedup": effect.speedup, "low": effect.low, "high": effect.high}
    return facts
