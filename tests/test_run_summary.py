"""The end of a run: what pays, what slows down and what would decide the rest, in at most 40 lines."""

from dataclasses import replace
from typing import Any

import pytest
from runs import arm, effect, trial

from accelbench.run_summary import Judging, summary_lines
from accelbench.schema.reasons import reason
from accelbench.schema.result import Effect, TrialRecord, Visit


def texts(trials: list[TrialRecord], *, width: int | None = None, verbose: bool = False, visits: int = 1) -> list[str]:
    """Return the summary of these trials, made at a budget of 0.7 s and 1 % of noise."""
    judging = Judging(noise=0.01, budget_s=0.7, visits=visits)
    return [line.text for line in summary_lines(trials, judging, width=width, verbose=verbose)]


FAR = reason("cores-far-apart", latency_s=4.3e-7, best_s=2.1e-7)


def odd_trial(odd: int, visits: int) -> TrialRecord:
    """Return a trial some of whose visits found the cores far apart, of which one was repeated."""
    return trial(
        arm({"amp": "fp32"}, 1.0),
        remarks=[reason("odd-visits", odd=odd, visits=visits, cause=FAR)],
        visits=[
            Visit(begun_s=1.0, odd=[FAR] * (n < odd), span_s=2.0, is_repetition=n == visits - 1) for n in range(visits)
        ],
    )


def test_the_summary_says_for_how_long_visits_were_odd() -> None:
    lines = texts([odd_trial(2, 5), odd_trial(1, 5)])
    assert "In this run, the cores lay far apart for 6 s; 2 visits were repeated" in lines


def test_trials_that_were_disturbed_alike_are_one_line_with_their_visits_added_up() -> None:
    lines = texts([odd_trial(1, 1), odd_trial(5, 5), odd_trial(2, 4)])
    assert "3 trials: the machine was in an unusual state in 8 of 10 visits: the cores lay far apart" in lines


def test_the_only_arm_of_a_rehearsal_is_counted_in_the_singular() -> None:
    judging = Judging(noise=0.01, budget_s=0.7)
    first = next(summary_lines([trial(arm({"amp": "fp32"}, 1.0))], judging, rehearsed=True))
    assert first.text == "rehearsal: 1 arm was run once and checked; nothing was timed"


RECIPE = ["model.eval()", "model.compile()"]
PAYS, SLOWS = effect(2.0, 1.9, 2.1, "faster"), effect(0.5, 0.4, 0.6, "slower")
OPEN = effect(1.11, 0.9, 1.3, "undecided")


def switched(name: str, found: Effect, **fields: Any) -> TrialRecord:
    """Return a trial that switches a technique of this name on."""
    return trial(arm({name: "off"}, 1.0), arm({name: "on"}, 0.5, effect=found, **fields), id=f"t[{name}]")


def test_an_interrupted_run_is_resumed_to_decide_what_its_other_visits_may_decide() -> None:
    made = replace(switched("amp", OPEN), visits=[Visit(begun_s=1.0)])
    assert any("to decide: --accel-resume, which makes 1 more visit" in line for line in texts([made], visits=2))
    assert not any("--accel-resume" in line for line in texts([made]))


def test_effects_stand_by_verdict_with_the_recipe_of_what_pays_and_what_would_decide_the_rest() -> None:
    lines = texts([switched("a", SLOWS, recipe=RECIPE), switched("b", OPEN), switched("c", PAYS, recipe=RECIPE)])
    assert lines == [
        "What pays",
        "▲ c on  net  2.00×   1.90–2.10    first call 5.00 s",
        "    write: model.eval() ⏎ model.compile()",
        "What slows down",
        "▼ a on  net  0.500×  0.400–0.600  first call 5.00 s",
        "What is undecided, and what would decide it",
        "? b on  net  1.11×   0.900–1.30   to decide: about 5 times the pairs (--accel-budget=4)",
        "3 trials, 3 comparisons, 2 decided: 1 faster, 1 slower, 1 undecided",
    ]


def test_the_mark_of_a_doubtful_effect_is_explained_below() -> None:
    of_a, of_b = switched("a", PAYS, flags=[reason("message", message="a doubt")]), switched("b", PAYS)
    marked = [line for line in texts([of_a, of_b]) if "†" in line]
    assert ["a on" in line for line in marked] == [True, False]
    assert marked[-1] == "1 doubtful arm (†): a doubt"


def test_the_surest_gain_with_something_to_write_comes_first() -> None:
    trials = [
        switched("unwritten", effect(9.0, 8.0, 10.0, "faster")),
        switched("small", effect(1.2, 1.1, 1.3, "faster"), recipe=RECIPE),
        switched("large", PAYS, recipe=["other()"]),
    ]
    assert [line.split()[1] for line in texts(trials) if line.startswith("▲")] == ["large", "small", "unwritten"]


def many() -> list[TrialRecord]:
    """Return the trials of a large run."""
    alike = effect(1.0, 0.995, 1.005, "same")
    measured = [
        switched(f"t{number}", found, recipe=[f"write({number})"])
        for number, found in enumerate([PAYS, SLOWS, alike, OPEN] * 20)
    ]
    lost = [
        trial(arm({"x": "off"}, reason=f"no {thing}"), arm({"x": "on"}, reason=f"no {thing}")) for thing in "abcdefgh"
    ]
    return [*measured, *lost, odd_trial(2, 5)]


def test_a_rung_that_adds_nothing_to_the_one_below_comes_after_it() -> None:
    """Its interval begins higher, and it is not shown to be faster than the rung below."""
    below = replace(effect(0.98, 0.8, 1.2, "undecided"), against={"ladder": "+dot"})
    rungs = trial(
        arm({"ladder": "start"}, 1.0),
        arm({"ladder": "+dot"}, 0.5, effect=effect(2.0, 1.6, 2.4, "faster"), recipe=RECIPE),
        arm({"ladder": "+layout"}, 0.5, effects=[effect(1.96, 1.8, 2.1, "faster"), below], recipe=RECIPE),
    )
    named = [line.split()[2] for line in texts([rungs], verbose=True) if line.lstrip().startswith("▲")]
    assert named == ["+dot", "+layout"]


def test_a_large_run_ends_in_at_most_40_rows_and_v_shows_everything() -> None:
    short, whole = texts(many()), texts(many(), verbose=True)
    assert len(short) + len(["=== accelbench ===", "3 min went into", "saved in"]) <= 40
    assert [line for line in short if "-v" in line] == [
        "  and 14 more; -v shows them",
        "  and 16 more; -v shows them",
        "  and 16 more; -v shows them",
        "and 4 more reasons; -v shows them",
    ]
    assert sum(line.startswith(("▲", "▼", "=", "?")) for line in whole) == 80
    assert sum(line.startswith("2 arms unavailable: no ") for line in whole) == 8


def test_on_a_narrow_terminal_names_are_cut_short_and_details_stand_below() -> None:
    trials = [switched("a_technique_with_a_long_name", PAYS, recipe=RECIPE), switched("b", OPEN)]
    lines = texts(trials, width=40)
    assert lines[1:4] == [
        "▲ a-technique-w…  net  2.00×  1.90–2.10",
        "    first call 5.00 s",
        "    write: model.eval() ⏎ model.compile()",
    ]
    assert lines[5] == "? b on            net  1.11×  0.900–1.30"


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_large_run_ends_in_at_most_40_rows_at_every_width(width: int) -> None:
    lines = texts(many(), width=width)
    assert len(lines) + len(["=== accelbench ===", "3 min went into", "saved in"]) <= 40
    assert all(len(line) <= width for line in lines if line.startswith(("▲", "▼", "?")))


def test_what_a_small_section_leaves_is_the_next_ones() -> None:
    shown = texts([switched(f"t{number}", SLOWS) for number in range(20)])
    assert sum(line.startswith("▼") for line in shown) == 20


def test_trials_of_one_case_are_told_apart_by_their_tests() -> None:
    arms = arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=effect(2.0, 1.9, 2.1, "faster"))
    pair = [trial(*arms, id=f"test_amp.py::{name}::test_net") for name in ("TestOne", "TestTwo")]
    assert [line.split("  ")[1].strip() for line in texts([*pair, trial(*arms, workload="cnn")])[1:4]] == [
        "net, TestOne::test_net",
        "net, TestTwo::test_net",
        "cnn",
    ]
