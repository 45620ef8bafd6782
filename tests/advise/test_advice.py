"""What an advice reports about its own search."""

import json
import math
from dataclasses import replace

from accelbench.advise.advice import Advice, TriedConfiguration, as_json, as_text
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


def test_an_interval_without_an_upper_end_is_null_in_json_and_open_in_text():
    gain = Judgement(speedup=1.5, low=1.2, high=math.inf, verdict="faster", pairs=3)
    advice = replace(ADVICE, changes={"compile": "default"}, gain=gain)
    stored = json.loads(json.dumps(as_json(advice), allow_nan=False))
    assert stored["gain"] == {"speedup": 1.5, "low": 1.2, "high": None, "verdict": "faster", "pairs": 3}
    assert "compile default is 1.50× (1.20–∞) as fast as the baseline" in as_text(advice)
