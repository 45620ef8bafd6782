"""A run's explanation says in words what profiles allow, what was measured, and why."""

import json
from dataclasses import replace

import pytest
from explanations import explained_run, explanation

from accelbench.explained_run import as_json, as_markdown, as_text


@pytest.fixture
def text() -> str:
    return as_text(explanation(), explained_run())


def test_an_effect_is_named_with_its_interval_its_reasons_and_its_operators(text):
    assert "amp fp16 on mlp-train (torch): 0.107× (0.101–0.112), slower" in text
    assert "By profile, it adds time in mm (502 µs → 8.13 ms). Casts take 391 µs more. Where it was profiled" in text
    assert "_to_copy  0 s      391 µs   +391 µs     0 → 15" in text


def test_predictions_stand_beside_measurements(text):
    (line,) = [line for line in text.splitlines() if line.startswith("cnn-train")]
    assert line.split("  ")[0] == "cnn-train"
    assert "1.72×" in line
    assert "4.00× (3.80–4.20)" in line
    assert line.endswith("surpassed")
    assert "Profiles cover 4 effects and bound 3 of them; 1 surpasses its bound." in text


def test_where_nothing_surpasses_its_bound_none_is_said():
    text = as_text(explanation(predictions=explanation().predictions[:2]), explained_run())
    assert "Profiles cover 2 effects and bound 2 of them; none surpasses its bound." in text


def test_what_is_lacking_is_said(text):
    assert "2 effects more would be worth explaining; the time did not suffice: raise --budget." in text
    assert "Not profiled: kernels unfused, vector-add, cupy: nothing profiles it." in text


def test_profiles_in_which_the_effect_did_not_show_do_not_explain_it():
    (reason,) = explanation().reasons
    known = explanation(reasons=[replace(reason, before_s=9e-3, after_s=1e-3)])
    assert "the effect did not show there, so the profiles do not tell what it is due to" in as_text(
        known, explained_run()
    )


def test_markdown_fences_its_tables():
    lines = as_markdown(explanation(), explained_run()).splitlines()
    assert "**amp fp16 on mlp-train (torch): 0.107× (0.101–0.112), slower**" in lines
    assert (lines.count("```text"), lines.count("```")) == (2, 2)


def test_json_holds_what_was_measured_beside_each_part():
    written = json.loads(json.dumps(as_json(explanation(), explained_run()), allow_nan=False))
    assert written["predictions"][0]["at_most"] is None
    assert written["predictions"][0]["measured"] == {"speedup": 0.668, "low": 0.509, "high": 0.876, "verdict": "slower"}
    assert written["reasons"][0]["workload"] == "mlp-train"
    assert written["left_out"] == 2


def test_trials_of_one_case_are_told_apart_by_their_tests():
    run = explained_run()
    again = replace(run.trials[0], id="benchmarks/test_amp.py::test_again[mlp-train]")
    text = as_text(explanation(), replace(run, trials=[*run.trials, again]))
    assert "amp fp16 on mlp-train, test_amp (torch): 0.107×" in text
    assert "mlp-train, test_amp  amp fp16" in text
