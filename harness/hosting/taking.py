"""One call of ``measure``: from the suite's answer to the test's outcome and pytest-benchmark's rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import pytest

from harness.errors import BadInput, HarnessError, Unavailable
from harness.experiment import Workload
from harness.hosting.replay import ReplayClock, refuse, replay
from harness.hosting.suite import Suite
from harness.record import ArmRecord

SKIPPED = ("unavailable", "given-up", "out-of-memory")


def take(
    suite: Suite,
    item: pytest.Item,
    benchmark: Any,
    clock: ReplayClock | None,
    workload: str | Workload,
    keywords: Mapping[str, Any],
) -> ArmRecord:
    """Measure the test's arm, or take it from its trial, and let the benchmark fixture replay it.

    Skips the test where the arm cannot run here, and fails it where the arm is broken.
    """
    __tracebackhide__ = True  # a skip is then reported at the line of the test
    try:
        if clock is None:
            raise BadInput(
                "measure compares the levels of a technique: put @toggles(framework, technique) on the test, and take "
                "measure as an argument"
            )
        if clock.loaded:
            raise BadInput("measure was called twice in one test; make it two tests, or parametrize")
        arm, samples_s = suite.measure(item, workload, keywords)
    except Exception as error:
        if clock is None or not clock.loaded:
            refuse(benchmark, clock or ReplayClock())
        if isinstance(error, BadInput):
            suite.complaints.append(error)
        if isinstance(error, Unavailable):
            pytest.skip(str(error))
        if isinstance(error, HarnessError):
            pytest.fail(str(error), pytrace=False)
        raise
    except KeyboardInterrupt:
        benchmark.skipped = True  # else pytest-benchmark warns, while it is torn down, that it was not used
        raise
    trial = suite.trials[item.nodeid]
    benchmark.group = benchmark.group or trial.id
    benchmark.extra_info.update(_small_facts(arm, suite.entries[trial.id].record.unit))
    if arm.outcome == "measured":
        replay(benchmark, clock, arm, samples_s)
    else:
        refuse(benchmark, clock)
        _end(arm)
    return arm


def _end(arm: ArmRecord) -> NoReturn:
    """End the test of an arm that was not measured."""
    __tracebackhide__ = True
    if arm.outcome in SKIPPED:
        pytest.skip(arm.reason)
    pytest.fail(f"{arm.outcome}: {arm.reason}", pytrace=False)


def _small_facts(arm: ArmRecord, unit: str) -> dict[str, Any]:
    facts: dict[str, Any] = {"levels": arm.levels, "unit": unit, "items": arm.items}
    if arm.effect is not None:
        effect = arm.effect
        facts |= {"verdict": effect.verdict, "speedup": effect.speedup, "low": effect.low, "high": effect.high}
    return facts
