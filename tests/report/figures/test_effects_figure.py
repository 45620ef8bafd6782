"""The figure of a technique's effects: what is drawn is what stands in its table, and its title says what it shows."""

import pytest
from golden import close, lines, marks, texts
from runs import STORED, arm, effect, run, save, trial

from accelbench.report.figures.effects import effects_figure
from accelbench.report.figures.svg import WIDTH_PT
from accelbench.results import effects, find_results, tabulate_arms
from accelbench.results.arm_table import by_technique

FAST, SLOW = effect(2.0, 1.9, 2.1, "faster"), effect(0.5, 0.4, 0.6, "slower")
SAME, UNSURE = effect(1.0, 0.995, 1.005, "same"), effect(1.2, 0.0, None, "undecided", pairs=2)


@pytest.fixture
def drawn(tmp_path):
    """Draw the effects of a technique, by level or in trials."""

    def of(*trials, **levels):
        arms = [arm({"amp": level}, 1.0, effect=found) for level, found in levels.items()]
        trials = trials or (trial(arm({"amp": "fp32"}, 1.0), *arms),)
        path = save(run(*trials), tmp_path / "0001_a.json")
        return effects_figure(effects(tabulate_arms(find_results(path).results)), 0.01)

    return of


@pytest.mark.parametrize("place", range(5))
def test_points_and_intervals_are_those_of_the_table(place):
    techniques = list(by_technique(effects(tabulate_arms(find_results(STORED).results))))
    drawn = effects_figure(techniques[place][2], 0.01)
    data = drawn.data
    assert len(data) == len(techniques[place][2])
    assert list(marks(drawn)["x"].sort_values()) == close(data["speedup (×)"])
    axis = drawn.figure.panels[0].x
    ends = [line[:, 0] for line in lines(drawn) if line[0, 1] == pytest.approx(line[1, 1])]
    assert sorted(end[0] for end in ends) == close(data["from (×)"].clip(lower=axis.low))
    assert sorted(end[1] for end in ends) == close(data["to (×)"].clip(upper=axis.high))


@pytest.mark.parametrize(
    ("levels", "title"),
    [
        (
            {"bf16": FAST, "fp16": SLOW, "fp8": UNSURE},
            "amp pays on 1 of 3 comparisons, at best 2.00× (net, bf16); slower on 1",
        ),
        ({"bf16": SLOW, "fp16": SAME}, "amp slows down 1 of 2 comparisons, at worst 0.500× (net, bf16)"),
        ({"bf16": SAME, "fp16": UNSURE}, "amp makes no difference in 1 of 2 comparisons, and pays on none"),
        ({"bf16": UNSURE, "fp16": UNSURE}, "amp is undecided in all of 2 comparisons"),
        ({"on": FAST}, "amp pays: 2.00× (net)"),
    ],
)
def test_the_title_says_what_was_found(drawn, levels, title):
    assert drawn(**levels).title == title


def test_the_description_names_every_verdict_and_both_ends(drawn):
    assert drawn(bf16=FAST, fp16=SLOW).alt.endswith(
        "Verdicts: 1 faster, 1 slower. "
        "Speedups: highest bf16 on net, 2.00× (1.90–2.10); lowest fp16 on net, 0.500× (0.400–0.600)."
    )


def test_a_row_is_named_by_what_tells_it_from_the_others_and_the_note_says_what_they_share(drawn):
    found = drawn(
        *(
            trial(
                arm({"amp": "fp32"}, 1.0),
                arm({"amp": "bf16"}, 1.0, effect=FAST),
                id=f"benchmarks/test_amp.py::test_amp[{size}]",
                problem={"rows": size},
                fixed={"threads": "1"},
            )
            for size in (10, 10_000)
        )
    )
    assert {"rows\xa010", "rows\xa010\xa0k"} <= set(texts(found))
    assert "50 pairs each. All rows: bf16, net, threads 1, against amp fp32." in found.note


def test_more_effects_than_a_figure_can_show_are_cut_to_the_strongest(drawn):
    found = drawn(**{str(place): effect(1 + place, 1, 300, "faster") for place in range(1, 52)})
    assert "Shown are the 40 strongest of 51 effects; the table of effects has all." in found.note
    assert found.data["level"].tolist() == [str(place) for place in range(51, 11, -1)]
    assert "51 of 51 comparisons" in found.title


def test_a_long_name_leaves_room_for_the_plot(drawn):
    found = drawn(**{"a-level-with-a-name-that-goes-on-and-on" * 5: FAST, "bf16": SLOW})
    assert found.figure.boxes[0].width > 0.35 * WIDTH_PT


def test_a_row_says_its_effect_where_the_mouse_rests_on_it(drawn):
    svg = drawn(bf16=FAST, fp16=SLOW).render().inline
    assert "<title>bf16: 2.00× (1.90–2.10), faster, 50 pairs</title>" in svg
    assert "<title>fp16: 0.500× (0.400–0.600), slower, 50 pairs</title>" in svg
