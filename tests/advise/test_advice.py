"""What an advice reports about its own search."""

import json
import math
from dataclasses import replace

import pytest

from accelbench.advise.advice import Advice, TriedConfiguration, as_json, as_text, find_largest_batch, list_left_out
from accelbench.advise.program_search import Alone
from accelbench.measuring.applicable import Applicable
from accelbench.measuring.statistics import Judgement

ADVICE = Advice(
    workload="walk",
    framework="torch",
    unit="step",
    levels={"compile": "eager"},
    changes={},
    settings={},
    held={},
    gain=None,
    memory_bytes=None,
    error=None,
    deterministic=False,
    configurations=3,
    tried=(TriedConfiguration(changes={}, speedup=1.0, dropped=""),),
    alpha=0.01,
    noise=0.01,
    budget_s=20.0,
    spent_s=22.0,
    longest_s=15.0,
    longest={"compile": "default"},
    untried={"compile": ("default", "max-autotune")},
)


def test_levels_for_which_there_was_no_time_are_named():
    assert "No time for: compile default, max-autotune. A longer --budget tries them." in as_text(ADVICE)
    assert "No time for" not in as_text(replace(ADVICE, untried={}))


def test_a_budget_that_was_overrun_by_far_says_where_the_time_went():
    text = "It took longer than the 20 s of its budget: 15 s alone went into building, starting"
    assert text in as_text(replace(ADVICE, spent_s=30.0))
    assert "It took longer" not in as_text(ADVICE)


def test_an_interrupted_search_says_what_it_had_not_come_to():
    other = TriedConfiguration(changes={"compile": "default"}, speedup=0.9, dropped="")
    text = as_text(replace(ADVICE, interrupted=True, tried=(*ADVICE.tried, other)))
    assert "Interrupted before the 20 s of its budget were over, with 1 other in the search." in text
    assert "compile default: not yet compared with it" in text
    assert "Interrupted" not in as_text(ADVICE)


def test_what_never_met_the_baseline_has_an_estimate():
    best = TriedConfiguration(changes={"compile": "default"}, speedup=1.9, dropped="")
    text = as_text(replace(ADVICE, changes=best.changes, tried=(best, *ADVICE.tried)))
    assert text.startswith(
        "walk (torch): compile default, about 1.90× as fast as the baseline, per step; not timed side by side."
    )


def test_a_gain_that_is_not_shown_is_no_statement():
    gain = Judgement(speedup=1.5, low=0.9, high=2.0, verdict="undecided", pairs=9)
    first, second, *_ = as_text(replace(ADVICE, changes={"compile": "default"}, gain=gain)).splitlines()
    assert first == "walk (torch): compile default may be 1.50× (0.900–2.00) as fast as the baseline, per step."
    assert second == "The verdict is undecided; a longer --budget may decide it."


def test_an_interval_that_is_too_wide_to_say_anything_is_left_out():
    gain = Judgement(speedup=8.0, low=0.32, high=200.0, verdict="undecided", pairs=2)
    rival = TriedConfiguration(changes={"compile": "max-autotune"}, speedup=1.9, dropped="", beside_best=gain)
    advice = replace(ADVICE, changes={"compile": "default"}, gain=gain, tried=(*ADVICE.tried, rival))
    text = as_text(advice)
    assert text.startswith(
        "walk (torch): compile default may be faster than the baseline, per step.\n"
        "The verdict is undecided after 2 pairs; a longer --budget may decide it."
    )
    assert "1.90×  compile max-autotune: not decided after 2 pairs" in text


def test_a_program_that_is_left_as_it_is_has_what_was_tried_beside_it():
    rival = TriedConfiguration(
        changes={"amp": "bf16", "compile": "default"},
        speedup=1.2,
        dropped="",
        beside_best=judged(1.2, 0.9, 1.6, "undecided"),
    )
    alone = (Alone(technique="threads", level="1", judgement=judged(3.93, 0.79, 98.8, "undecided", 8)),)
    text = as_text(replace(OVER_PROGRAM, changes={}, gain=None, alone=alone, tried=(rival,)))
    assert text.startswith("train.py:build (torch): leave it as it is; nothing has been shown to be faster")
    assert "  threads 1  not decided after 8 pairs\n" in text
    assert "amp bf16, compile default: 1.20× (0.900–1.60) of your program" in text


def test_an_interval_without_an_upper_end_is_null_in_json_and_open_in_text():
    gain = Judgement(speedup=1.5, low=1.2, high=math.inf, verdict="faster", pairs=3)
    advice = replace(ADVICE, changes={"compile": "default"}, gain=gain)
    stored = json.loads(json.dumps(as_json(advice), allow_nan=False))
    assert stored["gain"] == {"speedup": 1.5, "low": 1.2, "high": None, "verdict": "faster", "pairs": 3}
    assert "compile default is 1.50× (1.20–∞) as fast as the baseline" in as_text(advice)


def judged(speedup: float, low: float, high: float, verdict: str, pairs: int = 12) -> Judgement:
    return Judgement(speedup=speedup, low=low, high=high, verdict=verdict, pairs=pairs)


OVER_PROGRAM = replace(
    ADVICE,
    workload="train.py:build",
    over="your program",
    levels={"amp": "bf16"},
    changes={"amp": "bf16"},
    gain=judged(1.31, 1.2, 1.4, "faster"),
    alone=(
        Alone(technique="amp", level="bf16", judgement=judged(1.3, 1.2, 1.4, "faster"), pays=True),
        Alone(technique="amp", level="fp16", reason="wrong-output: the loss is not finite"),
        Alone(technique="memory_format", level="channels-last", judgement=judged(1.0, 0.98, 1.02, "same"), pays=False),
        Alone(technique="workers", level="2", judgement=judged(1.4, 0.0, math.inf, "undecided", 4), needed_s=30.0),
        Alone(technique="threads", level="1", judgement=judged(1.01, 0.95, 1.04, "undecided"), pays=False),
        Alone(technique="workers", level="1", judgement=judged(0.9, 0.8, 0.995, "undecided"), pays=False),
        Alone(technique="attention", level="math", judgement=judged(0.7, 0.6, 0.8, "slower"), pays=False),
        Alone(technique="batch_size", level="32", judgement=judged(1.03, 0.99, 1.07, "undecided"), needed_s=20.0),
        Alone(technique="compile", level="default", reason="not timed within 31 s", needed_s=60.0),
        Alone(technique="workers", level="4", reason="no time to try it", needed_s=30.0),
        Alone(technique="batch_size", level="8", reason="no time to try it", needed_s=9.0, is_unlikely=True),
        Alone(technique="batch_size", level="4", reason="no time to try it", is_unlikely=True),
    ),
    present={"amp": ("fp32",), "batch_size": ("16",)},
    enough_s=240.0,
)


def test_each_technique_alone_has_its_verdict_over_the_program():
    text = as_text(OVER_PROGRAM)
    assert text.startswith("train.py:build (torch): amp bf16 is 1.31× (1.20–1.40) as fast as your program, per step.")
    assert (
        "Each technique alone, over your program (a gain below 5.0 % does not pay):\n"
        "  amp bf16                     1.30× (1.20–1.40)          faster\n"
        "  memory-format channels-last  1.00× (0.980–1.02)         does not pay: the same\n"
        "  workers 2                    not decided after 4 pairs\n"
        "  threads 1                    1.01× (0.950–1.04)         does not pay: at most 4.0 % faster\n"
        "  workers 1                    0.900× (0.800–0.995)       does not pay: not faster\n"
        "  attention math               0.700× (0.600–0.800)       slower\n"
        "  batch-size 32                1.03× (0.990–1.07)         undecided, at most 7.0 % faster\n"
        "  amp fp16: wrong-output: the loss is not finite\n"
    ) in text
    assert "baseline" not in text


def test_a_program_that_does_not_repeat_itself_is_said_not_to_be_compared():
    said = "Outputs were not compared: two runs of your program from the same start differ."
    assert said not in as_text(OVER_PROGRAM)
    assert said in as_text(replace(OVER_PROGRAM, compares_outputs=False))


def test_what_there_was_no_time_for_is_named_with_the_budget_that_would_decide_it():
    text = as_text(OVER_PROGRAM)
    assert (
        "No time for: compile default (not timed within 31 s), workers 4.\n"
        "--budget 4m would try these and decide the rest, by estimate.\n"
        "Not tried, since they seldom pay: batch-size 8, batch-size 4."
    ) in text
    assert text.count("batch-size 4") == 1
    assert "Your program already has amp fp32, batch-size 16." in text
    decided = replace(OVER_PROGRAM, alone=OVER_PROGRAM.alone[:3], enough_s=None)
    assert "--budget" not in as_text(decided)


def test_a_combination_that_was_not_timed_beside_the_program_is_not_said_to_have_raced():
    fast = TriedConfiguration(changes={"amp": "bf16", "compile": "default"}, speedup=3.76, dropped="")
    advice = replace(OVER_PROGRAM, tried=(fast,))
    said = "3.76×  amp bf16, compile default: not timed beside your program, for want of time; a longer --budget may"
    assert said in as_text(advice)
    assert "in the race to its end" not in as_text(advice)
    timed = replace(fast, gain=judged(3.76, 3.0, 4.0, "faster"))
    assert "amp bf16, compile default: not in the race, for want of time" in as_text(replace(advice, tried=(timed,)))
    raced = replace(timed, is_raced=True)
    assert "amp bf16, compile default: in the race to its end" in as_text(replace(advice, tried=(raced,)))


def test_a_baseline_that_never_met_the_advised_one_is_said_so():
    best = TriedConfiguration(changes={"compile": "default"}, speedup=1.9, dropped="")
    text = as_text(replace(ADVICE, changes=best.changes, tried=(best, *ADVICE.tried)))
    assert "nothing switched: not timed beside the advised one, for want of time; a longer --budget may" in text


def test_what_pays_and_was_not_tried_together_is_named_with_the_budget_that_would_try_it():
    said = (
        "Not tried together, though each pays: amp bf16, batch-size 64.\n"
        "--budget 3m would try them together, by estimate."
    )
    open_together = replace(OVER_PROGRAM, untried_together={"amp": "bf16", "batch_size": "64"}, together_s=121.0)
    assert said in as_text(open_together)
    assert "Not tried together" not in as_text(OVER_PROGRAM)


def test_larger_batches_that_were_not_offered_are_named_with_the_option_that_offers_them():
    said = "Larger batches than 64 were not offered: --max-batch 256 offers them."
    assert said in as_text(replace(OVER_PROGRAM, largest_batch=64))
    assert "--max-batch" not in as_text(OVER_PROGRAM)


@pytest.mark.parametrize(
    ("levels", "present", "refused", "largest"),
    [
        (("as-is", "16", "32"), ("64",), {}, 64),
        (("as-is", "16", "32"), ("8",), {}, None),
        (("as-is", "16", "32"), (), {}, 32),  # nothing tells the program's own
        (("as-is", "16", "32"), ("64",), {"128": "there are 100 items"}, None),
        ((), (), {"*": "the batches are the program's own"}, None),
    ],
)
def test_the_largest_batch_is_named_only_if_it_is_not_below_the_programs_own(levels, present, refused, largest):
    found = Applicable(technique="batch_size", levels=levels, present=present, refused=refused)
    other = Applicable(technique="amp", levels=("as-is", "bf16"))
    assert find_largest_batch([other, found]) == largest
    assert find_largest_batch([other]) is None


def test_what_was_not_asked_for_is_not_left_out():
    applicable = [
        Applicable(technique="amp", levels=("as-is", "bf16"), refused={"fp16": "no scaler"}),
        Applicable(technique="workers", levels=(), refused={"*": "nothing waits"}),
    ]
    assert list_left_out(applicable, ()) == {"amp fp16": "no scaler", "workers": "nothing waits"}
    assert list_left_out(applicable, ("amp",)) == {"amp fp16": "no scaler"}


def test_only_what_is_advised_has_a_price():
    advice = replace(OVER_PROGRAM, memory_bytes=2.0**20)
    assert "Its price: peak memory 1.00 MiB." in as_text(advice)
    assert "Its price" not in as_text(replace(advice, changes={}, gain=None))


def test_the_peak_of_memory_stands_beside_the_programs_own():
    own = TriedConfiguration(changes={}, speedup=1.0, dropped="", memory_bytes=2.0**19)
    text = as_text(replace(OVER_PROGRAM, memory_bytes=2.0**20, tried=(own,)))
    assert "Its price: peak memory 1.00 MiB in place of 512 KiB." in text


def test_what_is_held_is_part_of_what_is_compared_and_nothing_to_paste_by_itself():
    held = replace(OVER_PROGRAM, held={"batch_size": "24"}, settings={"batch_size": "DataLoader(data, batch_size=24)"})
    advised = (
        "train.py:build (torch): amp bf16 is 1.31× (1.20–1.40) as fast as your program with batch-size 24, per step."
    )
    assert as_text(held).startswith(advised)
    assert "DataLoader(data, batch_size=24)" in as_text(held)
    left = as_text(replace(held, changes={}, gain=None))
    assert left.startswith("train.py:build (torch): leave it as it is with batch-size 24; nothing")
    assert "To paste" not in left


def test_other_work_on_the_machine_is_told_with_the_answer():
    said = "Other work was in the way: other processes used 1.2 of 2 cores in 3 of 8 trials."
    assert f"{said}\n" in as_text(replace(OVER_PROGRAM, other_work=said))


def test_a_gain_that_does_not_pay_is_not_denied_where_the_program_is_left_as_it_is():
    little = Alone(technique="dtype", level="float32", judgement=judged(1.02, 1.01, 1.02, "same"), pays=False)
    left = replace(OVER_PROGRAM, changes={}, gain=None, alone=(little,))
    assert "leave it as it is; nothing that was tried pays and keeps the limits." in as_text(left)
    undecided = Alone(technique="threads", level="1", judgement=judged(1.1, 0.9, 1.3, "undecided"))
    text = as_text(replace(left, alone=(little, undecided)))
    assert "leave it as it is; nothing has been shown to pay and to keep the limits." in text
