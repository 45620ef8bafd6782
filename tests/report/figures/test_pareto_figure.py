"""Speed against numeric error and memory: what is drawn is what stands in the table."""

from itertools import combinations
from xml.etree import ElementTree as ET

import pytest
from golden import close, marks
from runs import STORED, arm, effect, memory, trial

from accelbench.report.figures.pareto import pareto_figure
from accelbench.report.figures.svg import text_width_pt
from accelbench.results import effects, find_results, tabulate_arms
from accelbench.results.tradeoffs import tradeoffs
from accelbench.schema.result import Price

MIB = 2**20
ERROR, MEMORY = "numeric error (relative)", "memory (relative to the baseline's)"
BASELINE = arm({"amp": "fp32"}, 1.0, price=memory(100 * MIB))


def candidate(level, speedup, error=None, mib=100, verdict="faster"):
    found = effect(speedup, speedup / 1.1, speedup * 1.1, verdict)
    return arm({"amp": level}, 1 / speedup, price=Price(error=error, peak_rss_bytes=mib * MIB), effect=found)


def overlap(one, other):
    """Return whether two texts of a figure touch."""
    (start, end), (other_start, other_end) = sides(one), sides(other)
    heights = abs(float(one.get("y")) - float(other.get("y")))
    return heights < float(one.get("font-size")) and start < other_end and other_start < end


def sides(text):
    """Return where a text of a figure begins and ends, in points from the left."""
    x, width = float(text.get("x")), text_width_pt(text.text, float(text.get("font-size")))
    return (x - width, x) if text.get("text-anchor") == "end" else (x, x + width)


@pytest.fixture
def drawn(arms_of):
    """Draw the arms of one technique."""

    def of(*candidates):
        ((framework, technique, points),) = tradeoffs(effects(arms_of(trial(BASELINE, *candidates))))
        return pareto_figure(framework, technique, points)

    return of


@pytest.mark.parametrize("place", range(3))
def test_what_is_drawn_of_the_stored_run_stands_in_the_table(place):
    framework, technique, points = list(tradeoffs(effects(tabulate_arms(find_results(STORED).results))))[place]
    figure = pareto_figure(framework, technique, points)
    panels = [panel.y.label for panel in figure.figure.panels]
    for panel, label in enumerate(panels):
        price, free = (ERROR, 0.0) if label == "numeric error" else (MEMORY, 1.0)
        data, shown = figure.data[figure.data[price].notna()], marks(figure, panel)
        assert sorted(shown["x"]) == close([*data["speedup (×)"], 1.0])
        assert sorted(shown["y"]) == pytest.approx(sorted([*data[price], free]), rel=0.01, abs=1e-6)


def test_the_title_says_what_is_gained_and_paid_and_what_is_dominated(drawn):
    figure = drawn(candidate("bf16", 1.25, 0.0039, 88), candidate("fp16", 0.5, 0.01, 100, "slower"))
    finding = (
        "amp bf16 is 1.25× as fast on net with 0.39 % error and 12 % less memory; amp fp16 is dominated everywhere"
    )
    assert figure.title == finding
    assert figure.alt.startswith(finding)


def test_memory_that_is_saved_at_the_cost_of_speed_is_the_finding_where_nothing_is_faster(drawn):
    figure = drawn(candidate("checkpointed", 0.7, None, 40, "slower"))
    assert figure.title == "amp checkpointed takes 60 % less memory on net, at 0.700× the speed"


def test_only_the_prices_that_are_paid_are_drawn(drawn):
    assert [panel.y.label for panel in drawn(candidate("bf16", 1.25, 0.0039)).figure.panels] == ["numeric error"]
    both = drawn(candidate("bf16", 1.25, 0.0039, 50)).figure.panels
    assert [panel.y.label for panel in both] == ["numeric error", "memory (baseline: 1×)"]


def test_names_stand_only_at_decided_points_of_a_front_and_never_on_each_other(drawn):
    near = [candidate(f"level-{place}", 2 + place / 1000, 0.01 + place / 1000) for place in range(6)]
    figure = drawn(*near, candidate("unsure", 8.0, 0.5, verdict="undecided"), candidate("beaten", 1.1, 0.9))
    panel = ET.fromstring(figure.render().inline).find("{*}g")
    names = [each for each in panel.findall("{*}text") if "· net" in each.text]
    assert "level-5 · net" in {name.text for name in names}
    assert not {"unsure · net", "beaten · net"} & {name.text for name in names}
    assert not any(overlap(one, other) for one, other in combinations(names, 2))


def test_the_table_says_which_arms_are_on_a_front(drawn):
    figure = drawn(candidate("bf16", 2.0, 0.004), candidate("fp16", 1.5, 0.01))
    assert figure.data["on the front of speed and error"].tolist() == [True, False]
    assert "2 arms in 1 trial, 50 pairs each" in figure.note


def test_the_arms_that_pay_are_drawn_where_there_are_too_many(drawn):
    free = [candidate(f"free-{place}", 50 + place) for place in range(201)]
    figure = drawn(*free, candidate("bf16", 1.1, 0.01), candidate("fp16", 100.0, 0.02))
    assert len(figure.data) == 200
    assert {"amp bf16", "amp fp16"} < set(figure.data["level"])
    assert figure.note.startswith("The 200 strongest of 203 arms")
