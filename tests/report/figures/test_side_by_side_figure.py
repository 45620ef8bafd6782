"""Effects in several runs: what is drawn is what stands in the table."""

import pytest
from golden import close, marks
from runs import arm, effect, run, save, trial

from harness.reading import find_results
from harness.reading.matching import matched
from harness.report.figures.side_by_side import most_different


@pytest.fixture
def drawn(tmp_path):
    """Draw runs that each have the same effects at these speedups, undecided where they are 1."""

    def of(*runs):
        found = []
        for place, speedups in enumerate(runs):
            arms = [
                arm({"pace": str(level)}, 1.0, effect=effect(speed, speed / 1.1, speed * 1.1, verdict(speed)))
                for level, speed in enumerate(speedups)
            ]
            path = save(run(trial(arm({"pace": "none"}, 1.0), *arms)), tmp_path / f"{place:04}_a.json")
            found.append(find_results(path).results[0])
        return most_different(matched(found), ["here", "there", "elsewhere"][: len(runs)])

    return of


def verdict(speedup):
    return "undecided" if speedup == 1 else "faster" if speedup > 1 else "slower"


def test_every_run_has_its_point_and_the_title_names_what_is_furthest_apart(drawn):
    figure = drawn([2.0, 3.0, 0.5], [0.5, 3.0, 0.9], [2.0, 2.9, 0.6])
    assert sorted(marks(figure)["x"]) == close([2.0, 0.5, 2.0, 0.5, 0.9, 0.6])
    assert sorted(marks(figure)["x"]) == close(figure.data["speedup (×)"])
    said = "pace 0 on net: 2.00× in here, 0.500× in there, 2.00× in elsewhere"
    assert figure.title == f"2 of 3 shared effects differ between the runs; first, {said}"
    assert figure.data["run"].tolist()[:3] == ["here", "there", "elsewhere"]


def test_where_nothing_differs_the_furthest_apart_are_drawn(drawn):
    figure = drawn([2.0, 3.0], [2.1, 3.0])
    assert figure.title.startswith("None of 2 shared effects differs between the runs; furthest apart, pace 0 on net")
    assert len(figure.data) == 4


def test_no_more_than_thirty_effects_are_drawn(drawn):
    figure = drawn([2.0] * 31, [0.5] * 31)
    assert len(figure.data) == 60
    assert figure.note.startswith("30 effects of 31 that the runs share, those that differ most")


def test_runs_that_share_nothing_have_no_figure(drawn):
    assert drawn([2.0], []) is None
