"""A run's findings for other programs: what the page shows together stands there together, too."""

import json
from collections import Counter
from dataclasses import replace

import pytest
from runs import arm, effect, run, save, trial

from accelbench.report.page import publish_report, report_as_text
from accelbench.results import Findings, find_results
from accelbench.results import findings as findings_module


@pytest.fixture
def facts_of(tmp_path):
    """Return what a program reads of a run of these trials."""

    def of(*trials):
        (result,) = find_results(save(run(*trials), tmp_path / "0001_a.json")).results
        return json.loads(json.dumps(Findings(result).as_json(), allow_nan=False))

    return of


def faster(speedup: float):
    return effect(speedup, speedup * 0.9, speedup * 1.1, "faster")


def test_a_ladder_names_its_rungs_in_order_and_why_one_is_missing(facts_of):
    rungs = [
        arm({"stack": "naive"}, 1.0),
        arm({"stack": "+cache"}, 0.5, effect=faster(2.0)),
        arm({"stack": "+prefetch"}, 0.25, effect=faster(4.0)),
        arm({"stack": "+gpu"}, reason="no accelerator"),
    ]
    (ladder,) = facts_of(trial(*rungs))["ladders"]
    assert (ladder["technique"], ladder["start"]) == ("stack", "naive")
    assert [(each["rung"], each["speedup"], each["step"]) for each in ladder["rungs"]] == [
        ("naive", 1.0, None),
        ("+cache", 2.0, 2.0),
        ("+prefetch", 4.0, 2.0),
    ]
    assert ladder["missing"] == [["+gpu", "no accelerator"]]


def test_an_interaction_says_what_both_do_and_what_they_promise(facts_of):
    ways = [
        arm({"amp": "fp32", "compile": "eager"}, 1.0),
        arm({"amp": "bf16", "compile": "eager"}, 0.5, effect=faster(2.0)),
        arm({"amp": "fp32", "compile": "compiled"}, 0.5, effect=faster(2.0)),
        arm({"amp": "bf16", "compile": "compiled"}, 0.2, effect=faster(5.0)),
    ]
    (both,) = facts_of(trial(*ways))["interactions"]
    assert both["techniques"] == ["amp", "compile"]
    assert (both["promised"], both["ratio"]) == (4.0, 1.25)
    assert both["low"] < both["ratio"] < both["high"]
    assert [way["speedup"] for way in both["ways"]] == [1.0, 2.0, 2.0, 5.0]


def test_an_effect_says_over_how_many_workers_and_builds_its_interval_spans(facts_of):
    several = replace(faster(2.0), workers=5, builds=8)
    (told,) = facts_of(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, effect=several)))["effects"]
    assert (told["pairs"], told["workers"], told["builds"]) == (50, 5, 8)


def test_one_report_tabulates_a_run_once_and_fits_its_bundles_once(tmp_path, monkeypatch):
    calls = Counter()

    def counting(name):
        original = getattr(findings_module, name)

        def counted(*arguments):
            calls[name] += 1
            return original(*arguments)

        return counted

    for name in ("tabulate_arms", "find_attributions", "find_ladders", "bottlenecks", "level_sweeps", "size_sweeps"):
        monkeypatch.setattr(findings_module, name, counting(name))
    candidate = arm({"amp": "bf16"}, 0.5, effect=faster(2.0))
    (result,) = find_results(save(run(trial(arm({"amp": "fp32"}, 1.0), candidate)), tmp_path / "0001_a.json")).results
    once = Findings(result)
    publish_report([once], tmp_path, {}, "", None)
    report_as_text("markdown", [once], {})
    once.as_json()
    assert set(calls.values()) == {1}
    assert len(calls) == 6
