"""Calibrate this machine: everything on the schedule, and the certificate that it makes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec

from harness.calibration.laboratory import Laboratory, laboratory
from harness.calibration.neighbours import busy_neighbours, half_of_the_cores
from harness.calibration.progress import Progress
from harness.calibration.schedule import FULL, QUICK, Extent, Task, tasks
from harness.certificate import SCHEMA_VERSION, Certificate
from harness.environment import fingerprint
from harness.errors import BadInput, Unavailable
from harness.experiment import Plan
from harness.frameworks.protocol import FRAMEWORKS
from harness.hosting.lock import alone
from harness.identity import machine_key


def calibrate(
    progress: Progress, *, quick: bool = False, busy: bool = False, frameworks: Sequence[str] = ()
) -> Certificate:
    """Measure on this machine, and beside busy neighbours too where asked, and return the certificate.

    Ctrl-C ends it early; the certificate then has what was measured until then.

    Raises:
        BadInput: a framework was named that is none.
        Unavailable: a framework was named that is not installed.
        KeyboardInterrupt: nothing was compared yet.
    """
    chosen = _installed(frameworks)
    extent = QUICK if quick else FULL
    beside = (0, half_of_the_cores()) if busy else (0,)
    with alone(progress.say), laboratory() as found:
        environment, start = fingerprint(), time.monotonic()
        schedule = {neighbours: tasks(extent, chosen, neighbours) for neighbours in beside}
        interrupted = _measure(found, schedule, progress)
    configuration = environment.configuration | found.configuration
    return Certificate(
        schema_version=SCHEMA_VERSION,
        machine=machine_key(environment.identity),
        environment=replace(environment, configuration=configuration),
        taken=datetime.now(UTC).isoformat(timespec="seconds"),
        settings=_settings(extent, quick, chosen),
        spent_s=time.monotonic() - start,
        duels=found.duels,
        multiples=found.multiples,
        waits=found.waits,
        slow_calls=found.slow_calls,
        coverage=found.coverage,
        timer=found.timer,
        remarks=found.remarks,
        interrupted=interrupted,
    )


def _installed(frameworks: Sequence[str]) -> list[str]:
    if unknown := [name for name in frameworks if name not in FRAMEWORKS]:
        raise BadInput(f"--framework: {unknown[0]!r} is no framework; expected one of: {', '.join(FRAMEWORKS)}")
    missing = [name for name in FRAMEWORKS if find_spec(name) is None]
    if named := [name for name in frameworks if name in missing]:
        raise Unavailable(f"{named[0]} is not installed: pip install 'accelbench[{named[0]}]'")
    return [name for name in frameworks or FRAMEWORKS if name not in missing]


def _measure(found: Laboratory, schedule: dict[int, list[Task]], progress: Progress) -> bool:
    """Measure what is on the schedule until its end or Ctrl-C, and return whether that was Ctrl-C.

    Raises:
        KeyboardInterrupt: it was, and nothing was compared yet.
    """
    every = [task for planned in schedule.values() for task in planned]
    total_s, passed_s = sum(task.guess_s for task in every), 0.0
    try:
        for neighbours, planned in schedule.items():
            with busy_neighbours(neighbours):
                for place, task in enumerate(planned):
                    done, of = _within_part(planned, place)
                    progress.show(task.part, done, of, passed_s / total_s, total_s)
                    task.measure(found)
                    passed_s += task.guess_s
    except KeyboardInterrupt:
        if not found.duels:
            raise
        return True
    finally:
        progress.finish()
    return False


def _within_part(planned: Sequence[Task], place: int) -> tuple[int, int]:
    """Return how many tasks of this one's part come before it, and how many the part has."""
    part = planned[place].part
    return sum(task.part == part for task in planned[:place]), sum(task.part == part for task in planned)


def _settings(extent: Extent, quick: bool, frameworks: Sequence[str]) -> dict[str, str | int | float | bool | None]:
    plan = Plan()
    return {
        "quick": quick,
        "frameworks": ", ".join(frameworks),
        "budget_s": extent.budget_s,
        "alpha": plan.alpha,
        "noise": plan.noise,
    }
