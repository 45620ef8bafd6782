"""Throughput over batch sizes and workers: what is drawn, and what the title says of it."""

from dataclasses import replace

import pytest
from golden import close, marks
from runs import arm, effect, memory, trial

from accelbench.report.figures.sweeps import sweep_figure
from accelbench.results.sweeps import level_sweeps

FULL = arm({"batch_size": "8"}, outcome="out-of-memory", reason="no room")


def level(technique, at, per_s, **fields):
    faster = effect(per_s / 100, per_s / 110, per_s / 90, "faster")
    items = float(at) if technique == "batch_size" else 1.0
    return arm({technique: str(at)}, items / per_s, items=items, effect=faster, **fields)


@pytest.fixture
def batches(arms_of):
    def of(*rates, then=()):
        arms = [level("batch_size", 2**place, rate, price=memory(2**20)) for place, rate in enumerate(rates)]
        (sweep,) = level_sweeps(arms_of(trial(*arms, *then)))
        return sweep_figure(sweep)

    return of


@pytest.mark.parametrize(
    ("rates", "then", "said"),
    [
        ((100, 180, 185), (), "throughput levels off at batch size 2; 4 is the limit asked for"),
        ((100, 180, 300), (), "throughput still grows at batch size 4, the limit asked for"),
        ((100, 200, 150), (), "throughput peaks at batch size 2 and is 25 % lower at 4, the limit asked for"),
        ((100, 180, 185), (FULL,), "throughput levels off at batch size 2; out of memory at 8"),
    ],
)
def test_the_title_says_where_throughput_stops_growing_and_what_ended_the_sweep(batches, rates, then, said):
    assert batches(*rates, then=then).title == f"net: {said}"


def test_no_peak_is_claimed_where_no_level_is_known_to_differ(arms_of):
    known = [level("workers", 0, 100.0), level("workers", 1, 90.0)]
    unsure = replace(known[1], effects=[effect(0.9, 0.5, 1.5, "undecided")])
    (sweep,) = level_sweeps(arms_of(trial(known[0], unsure, arm({"workers": "2"}))))
    assert sweep_figure(sweep).title.startswith(
        "net: no other number of workers is known to be faster or slower than 0 workers"
    )


def test_the_batch_figure_draws_what_its_table_holds(batches):
    drawn = batches(100, 180, 185)
    throughput, resident = marks(drawn), marks(drawn, 1)
    assert sorted(throughput["x"]) == close(drawn.data["batch size"])
    assert sorted(throughput["y"]) == close(drawn.data["images per second"])
    assert sorted(resident["y"]) == close(drawn.data["resident memory (bytes)"])


def test_a_cross_marks_the_size_at_which_memory_ended(batches):
    drawn = batches(100, 180, 185, then=[FULL])
    assert marks(drawn)["x"].max() == pytest.approx(8, rel=1e-3)
    assert drawn.data["outcome"].tolist() == ["measured"] * 3 + ["out-of-memory"]


def test_the_workers_figure_draws_the_share_of_time_waited_from_its_table(arms_of):
    arms = [
        level("workers", at, rate, observed={"wait_share": share})
        for at, rate, share in ((0, 100, 0.8), (1, 180, 0.3), (2, 190, 0.1))
    ]
    (sweep,) = level_sweeps(arms_of(trial(*arms)))
    drawn = sweep_figure(sweep)
    assert sorted(marks(drawn, 1)["y"]) == close(drawn.data["share of time waited for data"])
    assert drawn.title.endswith("waiting for data takes 80 % at 0, 10 % at 2")
