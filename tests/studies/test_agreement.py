"""The study of the agreement between runs."""

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import runs

from accelbench.errors import BadInput
from accelbench.results import find_results
from accelbench.schema.result import VisitEffect
from studies import agreement
from studies.agreement import (
    Agreement,
    count_agreement,
    count_agreement_judged_again,
    count_agreement_of_halves,
    find_runs,
    table,
)


def _save(folder: Path, number: int, *effects: tuple[float, float, float | None, str], **fields: Any) -> Path:
    """Write a run with a trial of one technique for each effect."""
    trials = [
        runs.trial(
            runs.arm({"amp": "fp32"}, 1.0), runs.arm({"amp": "bf16"}, 1.0, effect=runs.effect(*effect)),
            id=f"benchmarks/test_amp.py::test_amp[net-{place}]",
        )
        for place, effect in enumerate(effects)
    ]  # fmt: skip
    return runs.save(runs.run(*trials, **fields), folder / f"{number:04}_quick.json")


def _agreements(folder: Path) -> list[Agreement]:
    return list(count_agreement(find_results(folder).results))


def test_every_pair_of_runs_counts_in_every_effect_that_both_measured(tmp_path):
    _save(tmp_path, 1, (2.0, 1.9, 2.1, "faster"), (1.0, 0.5, 2.0, "undecided"))
    _save(tmp_path, 2, (2.05, 2.0, 2.1, "faster"), (1.0, 0.5, 2.0, "undecided"))
    _save(tmp_path, 3, (2.3, 2.2, 2.4, "faster"))
    (found,) = _agreements(tmp_path)
    assert (found.runs, found.pairs, found.disjoint, found.opposite.total()) == (3, 4, 2, 0)
    assert (found.comparisons, found.decided) == (5, 3)


def test_intervals_that_touch_share_a_value_and_an_unbounded_one_shares_all_above_it(tmp_path):
    _save(tmp_path, 1, (2.0, 1.5, 2.1, "faster"), (3.0, 2.0, None, "faster"))
    _save(tmp_path, 2, (2.5, 2.1, 3.0, "faster"), (9.0, 8.0, 9.5, "faster"))
    (found,) = _agreements(tmp_path)
    assert (found.pairs, found.disjoint) == (2, 0)


def test_only_faster_against_slower_is_opposite(tmp_path):
    _save(tmp_path, 1, (1.2, 1.1, 1.3, "faster"), (1.2, 1.1, 1.3, "faster"), (1.2, 1.1, 1.3, "faster"))
    _save(tmp_path, 2, (0.8, 0.7, 0.9, "slower"), (1.0, 0.995, 1.005, "same"), (0.8, 0.6, 1.3, "undecided"))
    (found,) = _agreements(tmp_path)
    assert found.opposite.total() == 1
    *_, listed = table({"after": [found]})
    assert "`test_amp.py::test_amp[net-0]: amp bf16 against amp fp32`, 1" in listed


def test_the_half_width_is_the_median_over_all_effects_unbounded_ones_included(tmp_path):
    _save(tmp_path, 1, (1.0, 1 / 1.1, 1.1, "undecided"))
    _save(tmp_path, 2, (1.0, 1 / 1.2, 1.2, "undecided"), (1.0, 0.0, None, "undecided"))
    (found,) = _agreements(tmp_path)
    assert found.half_width == pytest.approx(0.2)
    assert "| 20 % |" in list(table({"after": [found]}))[2]
    unbounded = replace(found, half_width=math.inf)
    assert "| unbounded |" in list(table({"after": [unbounded]}))[2]


def _save_in_visits(folder: Path, number: int, *log_speedups: float) -> None:
    """Write a run in which every effect had this log speedup in each of three visits."""
    effects = [
        replace(
            runs.effect(1.0, 0.5, 2.0, "undecided"),
            visits=tuple(VisitEffect(visit=visit, log_speedup=each, pairs=9) for visit in range(3)),
        )
        for each in log_speedups
    ]
    trials = [
        runs.trial(
            runs.arm({"amp": "fp32"}, 1.0), runs.arm({"amp": "bf16"}, 1.0, effect=effect),
            id=f"benchmarks/test_amp.py::test_amp[net-{place}]",
        )
        for place, effect in enumerate(effects)
    ]  # fmt: skip
    runs.save(runs.run(*trials), folder / f"{number:04}_quick.json")


def test_halves_of_six_runs_are_joined_and_held_against_each_other(tmp_path):
    random = np.random.default_rng(0)
    quiet = [[0.2 + each, -0.3 + each, each] for each in random.normal(0, 0.001, 6).tolist()]
    for number, effects in enumerate(quiet, start=1):
        _save_in_visits(tmp_path, number, *effects)
    (found,) = count_agreement_of_halves(find_results(tmp_path).results)
    assert (found.runs, found.pairs, found.disjoint, found.opposite.total()) == (6, 30, 0, 0)
    assert (found.comparisons, found.decided) == (60, 60)
    assert found.half_width < 0.05


def test_the_newest_four_are_judged_again_with_the_five_before_each(tmp_path):
    for number in range(1, 9):
        _save_in_visits(tmp_path, number, 0.2 + number / 1000, -0.3)
    (few,) = count_agreement_judged_again(find_results(tmp_path).results)
    _save_in_visits(tmp_path, 9, 0.2, -0.3)
    _save_in_visits(tmp_path, 10, 0.2, -0.3)
    (found,) = count_agreement_judged_again(find_results(tmp_path).results)
    assert [(each.runs, each.pairs, each.disjoint, each.comparisons, each.decided) for each in (few, found)] == [
        (3, 6, 0, 6, 6),
        (4, 12, 0, 8, 8),
    ]


def test_fewer_than_six_runs_in_visits_have_no_halves(tmp_path):
    _save(tmp_path, 1, (2.0, 1.9, 2.1, "faster"))
    for number in range(2, 7):
        _save_in_visits(tmp_path, number, 0.2, -0.3)
    assert list(count_agreement_of_halves(find_results(tmp_path).results)) == []
    assert list(count_agreement_judged_again(find_results(tmp_path).results)) == []


def test_runs_of_other_machines_or_of_other_sizes_are_not_compared(tmp_path):
    for number, machine in enumerate(["one", "one", "two", "two", "three"], start=1):
        speedup = float(number)
        _save(tmp_path, number, (speedup, speedup - 0.1, speedup + 0.1, "faster"), machine=machine)
    _save(tmp_path, 6, (9.0, 8.9, 9.1, "faster"), machine="one", settings={"size": "full"})
    found = {each.machine: (each.runs, each.pairs, each.disjoint) for each in _agreements(tmp_path)}
    assert found == {"one": (3, 1, 1), "two": (2, 1, 1)}


def test_an_arm_without_a_speed_is_no_comparison(tmp_path):
    wrong = runs.arm(
        {"amp": "bf16"}, outcome="wrong-output", reason="too far", effect=runs.effect(2.0, 1.9, 2.1, "faster")
    )
    for number in (1, 2):
        runs.save(runs.run(runs.trial(runs.arm({"amp": "fp32"}, 1.0), wrong)), tmp_path / f"{number:04}_quick.json")
    (found,) = _agreements(tmp_path)
    assert (found.pairs, found.comparisons, found.half_width) == (0, 0, math.inf)
    assert "| 0 | – | 0 | – | unbounded |" in list(table({"after": [found]}))[2]


def test_a_file_that_is_given_twice_counts_once(tmp_path):
    file = _save(tmp_path, 1, (2.0, 1.9, 2.1, "faster"))
    found = find_runs([str(tmp_path), str(file)])
    assert len(found) == 1
    with pytest.raises(BadInput, match="found runs of: example-2c-8g; expected at least two runs of one machine"):
        list(count_agreement(found))


def test_the_command_writes_both_groups_into_the_page(tmp_path, monkeypatch, capsys):
    for group, speedups in {"old": (1.0, 2.0), "new": (1.5, 1.5)}.items():
        for number, speedup in enumerate(speedups, start=1):
            _save(tmp_path / group, number, (speedup, speedup - 0.1, speedup + 0.1, "undecided"))
    page = tmp_path / "page.md"
    marks = [f"<!-- {name}: begin -->\nold\n<!-- {name}: end -->\n" for name in ("agreement", "side by side")]
    page.write_text("above\n" + "between\n".join(marks) + "below\n")
    monkeypatch.setattr(agreement, "PAGE", page)
    old, new = (str(tmp_path / group) for group in ("old", "new"))
    monkeypatch.setattr(sys, "argv", ["agreement", new, "--before", old, "--write"])
    agreement.main()
    assert "| before | example-2c-8g | 2 | 1 | 1 (100 %) | 0 | 0 (0 %) | 7.8 % |" in page.read_text()
    assert "| after | example-2c-8g | 2 | 1 | 0 (0 %) |" in page.read_text()
    assert "of 1 effect in both, 0 have another verdict" in page.read_text()
    assert "| 2.00× (1.90–2.10) | undecided | 1.50× (1.40–1.60) | undecided |" in page.read_text()
    assert [line for line in ("above", "between", "below", "old") if line in page.read_text().splitlines()] == [
        "above",
        "between",
        "below",
    ]
    assert {*capsys.readouterr().out.splitlines()} <= {*page.read_text().splitlines()}


def test_the_command_answers_bad_input_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["agreement", "--before", str(tmp_path / "nowhere")])
    with pytest.raises(SystemExit, match=r"studies\.agreement: .*nowhere: no such file or folder"):
        agreement.main()
