"""What a page says of many runs, and of which runs it says it."""

import json
from dataclasses import replace

import pandas as pd
import pytest
from made_up import history, results
from pages import text, write_report

from accelbench.history.changes import find_changes
from accelbench.report.history_section import draw_history, summarize_history


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of the last of 24 runs, with their history."""
    runs = results(24)
    return write_report(runs[-1], tmp_path_factory.mktemp("reports"), history=history(runs))


def test_the_page_says_what_changed_last(page):
    said = text(page.read_text())
    assert "24 runs of gpu-box can be compared: the same machine, the same size." in said
    assert "0013 technique amp bf16 on resnet50-train (torch) 1.8" in said
    assert "NVIDIA driver 570.124 → 580.65 at that run" in said
    assert (page.parent / "figures" / "history-amp-torch.svg").is_file()


def test_the_summary_beside_the_page_says_the_same(page):
    summary = (page.parent / "summary.md").read_text()
    assert "| 0013 | technique | amp bf16 on resnet50-train (torch) | 1.8" in summary


def test_a_long_cause_is_told_once_below_the_table_and_named_in_its_rows(tmp_path):
    past = history(results(24))
    seen, names = past.observations, {"driver.nvidia": ("570.124", "580.65"), "torch.version": ("2.9.0", "2.10.0")}
    configurations = [json.dumps({key: ends[at >= 12] for key, ends in names.items()}) for at in range(24)]
    moved = (seen["workload"] == "vit-train") & ~seen["baseline"] & seen["run"].isin(past.runs["run"][12:])
    past = replace(
        past,
        runs=past.runs.assign(configuration=configurations),
        observations=seen.assign(log_effect=seen["log_effect"] - 0.2 * moved),
    )
    found = summarize_history(past, draw=False)
    assert [row[-1] for row in found.rows] == ["confounded (1)", "confounded (1)"]
    (cause,) = found.causes
    assert cause == (
        "confounded: driver and torch changed together at that run (NVIDIA driver 570.124 → 580.65; "
        "torch 2.9.0 → 2.10.0); to tell them apart: a run with driver 580.65 and torch 2.9.0"
    )
    page = write_report(results(24)[-1], tmp_path, history=past)
    summary = (page.parent / "summary.md").read_text()
    assert text(page.read_text()).count(cause) == summary.count(f"\n\n1. {cause.replace('.', r'.')}.\n\n") == 1


def test_every_link_of_the_navigation_leads_to_the_section(page):
    html = page.read_text()
    assert '<a href="#history">Over time</a>' in html
    assert html.count('id="history"') == 1


def test_two_runs_make_no_history_and_another_size_does_not_count():
    assert summarize_history(history(results(2))) is None
    runs = results(4)
    other = replace(runs[0].run, settings={"size": "small"})
    assert summarize_history(history([replace(runs[0], run=other), *runs[1:]])).counted.startswith("3 runs of gpu-box")


def test_without_a_certain_change_it_says_what_one_takes():
    over = summarize_history(history(results(6)))
    assert (over.rows, over.counted_changes) == (
        [],
        "No level shift and no drift is certain; a shift takes 5 runs on either side, a drift more.",
    )


def test_what_is_like_an_episode_before_is_reported_as_perhaps_another():
    past = history(results(40, step=1.0))
    slow = past.runs["run"][[*range(10, 20), *range(34, 40)]]
    seen = past.observations
    moved = seen["run"].isin(slow) & (seen["workload"] == "vit-train") & ~seen["baseline"]
    found = summarize_history(replace(past, observations=seen.assign(log_effect=seen["log_effect"] - 0.2 * moved)))
    assert [row[3].endswith(", perhaps for a while") for row in found.rows] == [True, False]


def test_an_episode_is_reported_with_its_runs_and_counted_apart():
    past = history(results(40, step=1.0))
    seen = past.observations
    while_it_lasted = seen["run"].isin(past.runs["run"][18:26]) & (seen["workload"] == "vit-train") & ~seen["baseline"]
    over = summarize_history(
        replace(past, observations=seen.assign(log_effect=seen["log_effect"] - 0.2 * while_it_lasted))
    )
    assert over.counted_changes.startswith("What changed last: 1 transient, in which a level was left and came back.")
    ((since, of, what, became, along),) = over.rows
    assert (since, of, what) == ("0019, until 0026", "technique", "amp bf16 on vit-train (torch)")
    assert became.startswith("1.60× → 1.3")
    assert became.endswith("→ 1.60×")
    assert along == "nothing known changed at that run"
    assert over.counted_changes.endswith(" On average, at most 5.0 % of the changes found are false alarms.")


def test_the_technique_that_moved_comes_first():
    runs = results(6, step=0.5)
    moved = history(runs)
    steady = moved.observations.assign(technique="pin-memory", level="pin-memory on", case="other")
    steady = steady[(steady["workload"] == "bert-train") & ~steady["baseline"]]
    both = type(moved)(runs=moved.runs, observations=_together(steady, moved.observations))
    assert [figure.name for figure in summarize_history(both).figures] == [
        "history-amp-torch",
        "history-pin-memory-torch",
    ]


def _together(*frames):
    texts = [name for name, kind in frames[0].dtypes.items() if kind == "category"]
    return pd.concat([frame.astype(dict.fromkeys(texts, object)) for frame in frames], ignore_index=True)


def test_what_a_file_calls_things_is_text(tmp_path):
    runs = results(3, machine="<script>x</script>$x^2$")
    html = write_report(runs[-1], tmp_path, history=history(runs)).read_text()
    assert "<script>x" not in html
    assert "&lt;script&gt;x" in html


def test_a_workload_of_any_name_stands_in_the_legend():
    past = history(results(3))
    named = past.observations.assign(workload="_" + past.observations["workload"].astype(str), fixed="$x^2$")
    changed = replace(past, observations=named)
    (drawn,) = draw_history(changed, find_changes(changed))
    assert "_bert-train, bf16, $x^2$" in [key.label for key in drawn.figure.legend]


def test_a_history_is_searched_once_and_again_when_a_value_changed(tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path))
    past = history(results(24))
    first = summarize_history(past)
    searched = []
    monkeypatch.setattr("accelbench.report.history_section.find_changes", lambda each: searched.append(each) or [])
    assert summarize_history(past) == first
    assert searched == []
    moved = past.observations.assign(log_effect=past.observations["log_effect"] - 1e-9)
    summarize_history(replace(past, observations=moved))
    assert len(searched) == 1
