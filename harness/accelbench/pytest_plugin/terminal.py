"""What the terminal shows: the header line, the trial being measured, and what is said of skipped tests."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Mapping
from contextlib import nullcontext
from typing import Any

import pytest

from accelbench import units
from accelbench.pytest_plugin.options import RunConfig
from accelbench.run_summary import unmeasured
from accelbench.schema.reasons import describe
from accelbench.schema.result import TrialRecord, rank_spending

_COLUMNS_OF_5_2 = ["min", "max", "mean", "stddev", "median", "iqr", "outliers", "ops", "rounds", "iterations"]
# The options of pytest-benchmark's table, each with the values that it has if nobody sets it, in any release.
TABLE_OPTIONS: Mapping[str, tuple[Any, ...]] = {
    "benchmark_verbose": (False,), "benchmark_compare": ([],), "benchmark_columns": (None, _COLUMNS_OF_5_2),
    "benchmark_sort": ("min",), "benchmark_group_by": ("group",), "benchmark_time_unit": (None,),
    "benchmark_histogram": ([],), "benchmark_cprofile": (None,),
}  # fmt: skip
LEAST_SHARE = 0.005  # of the session's time; smaller shares are not shown
SKIPPED_BY = "Skipped: "  # how pytest begins the reason of a skipped test


class ReporterScreen:
    """pytest's terminal reporter, which bypasses the capturing of output; with -q nothing is shown."""

    def __init__(self, config: pytest.Config) -> None:
        plugins: Any = config.pluginmanager
        self._reporter = plugins.get_plugin("terminalreporter")
        self._capture = plugins.get_plugin("capturemanager")
        self._is_quiet = not self._reporter or config.get_verbosity() < 0
        self.is_terminal: bool = not self._is_quiet and self._reporter.isatty

    def rewrite(self, line: str) -> None:
        """Replace the last line; an empty text removes it."""
        with self._without_capture():
            self._reporter.ensure_newline()
            self._reporter.rewrite(line[: shutil.get_terminal_size().columns - 1], erase=True)
            self._reporter.write("" if line else "\r", flush=True)

    def print_line(self, line: str) -> None:
        """Print a line that stays."""
        if not self._is_quiet:
            with self._without_capture():
                self._reporter.ensure_newline()
                self._reporter.write_line(line)

    def _without_capture(self) -> Any:
        return self._capture.global_and_fixture_disabled() if self._capture else nullcontext()


def header_line(config: RunConfig, arms: Collection[int]) -> str:
    """Return what is going to be measured, and how."""
    counted = f"{units.plural(len(arms), 'trial')}, {units.plural(sum(arms), 'arm')}, size {config.size}"
    if config.rehearse:
        return f"accelbench: {counted}; a rehearsal: every arm is run once and checked, nothing is timed"
    plan = config.plan
    visits = f" in {plan.visits} visits" if plan.visits > 1 else ""
    cache = ", cold caches" if plan.cold_cache else ""
    precision = f"{units.seconds(plan.budget_s)} an arm{visits}, noise ±{units.percent(plan.noise)}"
    return f"accelbench: {counted}, {precision}{cache}"


def fold_skips(reports: Iterable[Any], trials: Iterable[TrialRecord]) -> None:
    """Give skipped tests whose reasons differ only in numbers one wording and place, so that pytest prints one line.

    ``reports`` are those of tests of trials.
    """
    wordings = {str(reason): describe(alike) for alike, _ in unmeasured(trials) for reason in alike}
    folded: dict[str, list[Any]] = {}
    for report in reports:
        if isinstance(report.longrepr, tuple):
            text = report.longrepr[2].removeprefix(SKIPPED_BY)
            folded.setdefault(wordings.get(text, text), []).append(report)
    for wording, alike in folded.items():
        places = {(report.longrepr[0], report.longrepr[1]) for report in alike}
        files = {path for path, _ in places}
        path = files.pop() if len(files) == 1 else units.plural(len(files), "file")
        line = next(iter(places))[1] if len(places) == 1 else None
        for report in alike:
            report.longrepr = (path, line, SKIPPED_BY + wording)


def hide_table(host: Any, config: pytest.Config, trials: Collection[str]) -> None:
    """Leave the tests of trials out of pytest-benchmark's table, unless one of the options of the table is given.

    ``host`` is pytest-benchmark's session, None if its plugin is switched off. The table stays for other benchmarks.
    """
    if host is None or not host.groups:
        return
    if any(config.getoption(each) not in unset for each, unset in TABLE_OPTIONS.items()):
        return
    others = [(name, [each for each in group if each["fullname"] not in trials]) for name, group in host.groups]
    host.groups = [(name, group) for name, group in others if group]


def spending_line(spent_s: Mapping[str, float]) -> str:
    """Return how the session spent its time, the largest share first, without negligible shares."""
    shares = [f"{kind} {units.percent(share)}" for kind, _, share in rank_spending(spent_s) if share > LEAST_SHARE]
    return f"{units.minutes(sum(spent_s.values()))} went into {', '.join(shares)}"
