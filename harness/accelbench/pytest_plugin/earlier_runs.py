"""Earlier runs of the same machine and configuration: what each effect of a trial was in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from accelbench.core import Contrast
from accelbench.errors import AccelbenchError
from accelbench.measuring.statistics import UNBOUNDED
from accelbench.schema import environment
from accelbench.schema.environment_difference import differing_facts, is_same_configuration
from accelbench.schema.result import Effect, Run, TrialRecord, Visit
from accelbench.schema.result_json import from_bytes
from accelbench.schema.safe_json import read_bytes

if TYPE_CHECKING:
    from accelbench.pytest_plugin.passes import Case, JournaledVisit

MOST_RUNS = 5
MOST_FILES = 20  # that are read to find them, since runs of other tests and settings lie in the same folder


class EarlierRuns:
    """The newest runs of this machine under these conditions; files that cannot be read are passed over."""

    def __init__(self, newest_first: Sequence[Path], machine: str, settings: Mapping[str, Any]) -> None:
        now = environment.configuration()
        comparable = (
            run for run in _readable(newest_first[:MOST_FILES]) if run.machine == machine and run.settings == settings
        )
        alike = (run for run in comparable if is_same_configuration(run.environment.configuration, now))
        self._records: dict[str, list[tuple[Run, TrialRecord]]] = {}
        for run in islice(alike, MOST_RUNS):
            for record in run.trials:
                self._records.setdefault(record.id, []).append((run, record))

    def log_speedups(
        self, trial: str, case: Case, visits: Sequence[JournaledVisit], frameworks: Mapping[str, str]
    ) -> dict[Contrast, list[float]]:
        """Return the log speedups of a trial's contrasts in earlier runs, each the mean of its visits.

        ``frameworks`` is what those in use report about themselves. A file that contains one of these ``visits`` holds
        a part of this very run, and is left out.
        """
        found: dict[Contrast, list[float]] = {}
        moments = {_moment(each.visit) for each in visits}
        arms = [arm.levels for arm in visits[0].arms]
        for run, record in self._records.get(trial, ()):
            same = (record.workload, record.problem, record.fixed) == case
            same = same and not differing_facts([run.environment.configuration, frameworks])
            if same and moments.isdisjoint(map(_moment, record.visits)):
                for contrast, effect in _effects(record, arms):
                    mean = fmean(visit.log_speedup for visit in effect.visits if visit.in_interval)
                    if abs(mean) < UNBOUNDED:
                        found.setdefault(contrast, []).append(mean)
        return found


def _effects(record: TrialRecord, arms: Sequence[Mapping[str, str]]) -> Iterator[tuple[Contrast, Effect]]:
    for arm in record.arms:
        for effect in arm.effects:
            if any(visit.in_interval for visit in effect.visits) and arm.levels in arms and effect.against in arms:
                yield Contrast(arms.index(arm.levels), arms.index(effect.against)), effect


def _moment(visit: Visit) -> tuple[float | None, ...]:
    return visit.begun_s, visit.core_latency_s, visit.slowdown


def _readable(files: Iterable[Path]) -> Iterator[Run]:
    for file in files:
        with suppress(AccelbenchError, OSError):
            yield from_bytes(read_bytes(file), source=str(file))
