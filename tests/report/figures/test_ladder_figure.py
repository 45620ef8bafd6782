"""Stacked techniques: what is drawn, and what the title says of it."""

from dataclasses import replace

import pytest
from golden import close, marks
from runs import arm, effect, trial

from accelbench.report.figures.ladder import ladder_figure
from accelbench.results.combinations import find_ladders


@pytest.fixture
def drawn(arms_of):
    def of(**speedups):
        rungs = [
            arm({"pipeline": f"+{rung}"}, 1 / speedup, effect=effect(speedup, speedup / 1.1, speedup * 1.1, verdict))
            for rung, (speedup, verdict) in speedups.items()
        ]
        (ladder,) = find_ladders(arms_of(trial(arm({"pipeline": "naive"}, 1.0), *rungs)))
        return ladder_figure(ladder)

    return of


def test_every_rung_is_drawn_from_the_table(drawn):
    figure = drawn(prefetch=(1.2, "faster"), cache=(2.4, "faster"))
    assert sorted(marks(figure)["x"]) == close(figure.data["speedup over the start (×)"])
    assert sorted(marks(figure, 1)["x"]) == close(figure.data["speedup over the rung below (×)"][1:])
    assert figure.data["speedup over the rung below (×)"].tolist()[1:] == pytest.approx([1.2, 2.0])
    assert "were not paired with each other" in figure.note


def test_a_rung_that_was_paired_with_the_one_below_shows_its_verdict_and_the_title_names_one_that_harms(arms_of):
    start, lower, upper = ({"pipeline": level} for level in ("naive", "+prefetch", "+cache"))
    up, down = effect(2.0, 1.9, 2.1, "faster"), effect(0.8, 0.7, 0.9, "slower")
    (ladder,) = find_ladders(
        arms_of(
            trial(
                arm(start, 1.0),
                arm(lower, 0.5, effect=up),
                arm(upper, 0.6, effects=[effect(1.6, 1.5, 1.7, "faster"), replace(down, against=lower)]),
            )
        )
    )
    figure = ladder_figure(ladder)
    assert figure.title.endswith("+prefetch brings most of it (2.00×); slower than without: +cache")
    assert "+cache 1.60× (1.50–1.70), 0.800× (0.700–0.900) the rung below, slower" in figure.alt
    assert sorted(marks(figure, 1)["x"]) == close([0.8, 2.0])
    assert "were not paired" not in figure.note


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("faster", "all together 2.40× as fast as naive (2.18–2.64); +cache brings most of it (2.00×)"),
        ("same", "all together do not pay: 2.40× as fast as naive (2.18–2.64)"),
        ("undecided", "it is undecided whether all together pay: 2.40× as fast as naive (2.18–2.64)"),
    ],
)
def test_the_title_says_what_all_rungs_bring(drawn, verdict, said):
    assert drawn(prefetch=(1.2, "faster"), cache=(2.4, verdict)).title == f"net: {said}"


def test_no_rung_brings_most_of_it_where_each_brings_a_third(drawn):
    figure = drawn(a=(2.0, "faster"), b=(4.1, "faster"), c=(8.0, "faster"))
    assert figure.title.endswith("+b brings the largest part (2.05×)")
