"""What shifted between two sides, drawn: the machine always, else what was decided, or what moved furthest."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from golden import close, lines, marks
from histories import history

from accelbench.history.compare_runs import compare_runs
from accelbench.report.figures.shifts import draw_shifts
from accelbench.report.figures.svg import WIDTH_PT


def drawn(**moved):
    """Draw five runs against the five before them, in which something moved."""
    known = history(runs=10, at=-5, machine_spread=0.01, **moved)
    names = known.runs["run"].tolist()
    return draw_shifts(compare_runs(known, names[:5], names[5:]), "What shifted")


def test_what_is_drawn_are_the_numbers_of_the_table():
    figure = drawn(step={0: 0.8, 3: 0.9}, machine_step=1.3)
    assert figure.data["shift of"].tolist() == ["machine", "technique", "technique"]
    assert figure.data["what"].tolist()[1:] == ["amp bf16 · net-0 · torch", "amp bf16 · net-3 · torch"]
    assert sorted(marks(figure)["x"]) == close(figure.data["shift (×)"])
    ends = [tuple(line[:, 0]) for line in lines(figure) if len(line) == 2 and line[0, 1] == line[1, 1]]
    for low, high in zip(figure.data["from (×)"], figure.data["to (×)"], strict=True):
        assert any(end == pytest.approx((low, high), rel=1e-3) for end in ends)


def test_the_machine_and_techniques_stand_where_they_shifted_to():
    machine, technique = drawn(step={0: 0.8}, machine_step=1.3).data["shift (×)"]
    assert machine == pytest.approx(1.3, rel=0.03)
    assert technique == pytest.approx(0.8, rel=0.03)


def test_a_technique_has_its_speedups_before_and_after_beside_it():
    (_, ends) = drawn(step={0: 0.8}).data["speedup before and after"]
    before, after = (float(each.rstrip("×")) for each in ends.split(" → "))
    assert (before, after) == pytest.approx((1.5, 1.2), rel=0.03)


def test_where_nothing_was_decided_the_furthest_are_drawn():
    figure = drawn(cases=20)
    assert set(figure.data["verdict"]) <= {"same", "undecided"}
    assert figure.data["shift of"].tolist() == ["machine", *["workload"] * 6, *["technique"] * 6]
    assert figure.note.startswith("13 of 41 shifts, 5 runs against 5: ")


def test_a_change_at_the_right_stays_within_the_drawing_beside_short_shifts():
    known = history(runs=2)
    first, last = known.runs["run"]
    copied = known.observations[known.observations["run"] == first]
    same = replace(known, observations=pd.concat([copied, copied.assign(run=last)]))
    figure = draw_shifts(compare_runs(same, [first], [last]), "Nothing shifted")
    texts = ET.fromstring(figure.render().inline).findall(".//{*}text")
    ends = [float(each.get("x")) for each in texts if "→" in str(each.text)]
    assert ends
    assert max(ends) <= WIDTH_PT


def test_what_shares_nothing_has_no_figure():
    known = history(runs=2)
    first, last = known.runs["run"]
    seen = known.observations
    apart = seen.assign(workload=seen["workload"].where(seen["run"] == first, "other"), case=seen["case"] + seen["run"])
    assert draw_shifts(compare_runs(replace(known, observations=apart), [first], [last]), "Nothing") is None
