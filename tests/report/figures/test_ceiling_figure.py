"""Shares of the machine's ceilings: what is drawn is what stands in the table."""

import pytest
from golden import close, marks, texts
from runs import STORED, arm, effect, trial

from accelbench.report.figures.ceilings import ceiling_figure
from accelbench.results import find_results, tabulate_arms
from accelbench.results.sweeps import ceiling_shares
from accelbench.schema.result import Rate

BEFORE, AFTER = "baseline's share of its ceiling", "share of its ceiling"


def workload(name, before, after, ceiling="cpu memory"):
    rates = [[Rate(ceiling=ceiling, per_s=1e9, share=share)] for share in (before, after)]
    quick = arm({"threads": "2"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster"), rates=rates[1])
    return trial(arm({"threads": "1"}, 1.0, rates=rates[0]), quick, id=name, workload=name)


@pytest.fixture
def drawn(arms_of):
    """Draw the shares of workloads."""
    return lambda *trials: ceiling_figure(ceiling_shares(arms_of(*trials))[0])


def test_both_ends_stand_where_the_table_says(drawn):
    figure = drawn(
        workload("add", 0.01, 0.92), workload("net", 0.4, 0.05, "cpu matrix fp32"), workload("low", 1e-4, 0.2)
    )
    assert sorted(marks(figure)["x"]) == close([*figure.data[BEFORE], *figure.data[AFTER]])
    assert figure.data["workload"].tolist() == ["add", "low", "net"]
    assert [each for each in texts(figure) if each in ("add", "low", "net")] == ["add", "low", "net"]


def test_the_title_says_who_comes_nearest_and_how_many_stay_far_below(drawn):
    figure = drawn(workload("add", 0.01, 0.92), workload("net", 0.04, 0.05, "cpu matrix fp32"))
    assert figure.title == "add reaches 92 % of cpu memory; 1 of 2 workloads stays below 10 %"
    assert drawn(workload("add", 0.1, 0.2)).title == "add reaches 20 % of cpu memory"


def test_the_nearest_forty_are_drawn_and_the_note_says_so(drawn):
    figure = drawn(*(workload(f"w{place}", 0.1, 0.2 + place / 100) for place in range(41)))
    assert len(figure.data) == 40
    assert figure.note.startswith("The 40 of 41 workloads that come nearest.")


def test_a_run_from_before_ceilings_has_no_such_figure():
    assert ceiling_shares(tabulate_arms(find_results(STORED).results)) == []
