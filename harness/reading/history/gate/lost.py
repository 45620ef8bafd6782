"""Speeds that are no more: arms that the newest run did not measure, and that runs before it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness import units
from harness.errors import HarnessError
from harness.reading.files import as_result
from harness.reading.finding import document_at
from harness.reading.history.gate.accepted import Accepted
from harness.reading.history.gate.series import Subject
from harness.reading.table import held_in_words, load, rows_of
from harness.stored import PARTS, from_json

SKIPPED = ("unavailable", "given-up")  # not a fault of the arm; told, and no regression


def unmeasured(address: str) -> pd.DataFrame:
    """Return the arms of a result file that have no speed; none where it cannot be read any more, or knows no arms."""
    try:
        run = from_json(document_at(address, *PARTS), source=address)
    except HarnessError:
        run = None
    arms = load([as_result(Path(address), None, run)]) if run else pd.DataFrame()
    return arms[arms["outcome"] != "measured"] if len(arms) else arms


def lost_speeds(
    missing: pd.DataFrame, observations: pd.DataFrame, newest: str, accepted: Sequence[Accepted]
) -> tuple[list[tuple[Subject, str]], list[str]]:
    """Return the subjects that newly have no speed, each with why, and sentences on what was newly left out."""
    if observations.empty:
        return [], []
    earlier = observations[observations["run"] != newest]
    before, now = set(earlier["case"].astype(str)), set(observations.loc[observations["run"] == newest, "case"])
    last = set(earlier.loc[earlier["run"] == earlier["run"].iloc[-1], "case"]) if len(earlier) else set()
    lost: list[tuple[Subject, str]] = []
    skipped: Counter[str] = Counter()
    for row in rows_of(missing):
        subject = _subject(row)
        if subject.key not in before:
            continue
        if row["outcome"] in SKIPPED:
            skipped[row["reason"] or row["outcome"]] += 1
        elif not any(entry.names(subject) and entry.ratio is None for entry in accepted):
            lost.append((subject, f"{row['outcome'].replace('-', ' ')}: {row['reason']}".rstrip(": ")))
    told = [f"{units.plural(count, 'arm')} that had a speed newly skipped: {why}" for why, count in skipped.items()]
    if absent := last - now - {_key(row) for row in rows_of(missing)}:
        told.append(f"{units.plural(len(absent), 'arm')} of the run before not in this one, such as {min(absent)}")
    return lost, told


def _subject(row: Mapping[str, Any]) -> Subject:
    return Subject(
        kind="technique",
        key=_key(row),
        technique="" if row["baseline"] else row["switched"],
        held=held_in_words(row["problem"], row["fixed"]),
        **{name: row[name] for name in ("framework", "workload", "level", "against")},
    )


def _key(row: Mapping[str, Any]) -> str:
    return f"{row['trial']}|{row['level']}"
