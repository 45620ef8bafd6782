"""A technique over many runs: what is drawn is what was measured, and the title says what changed."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from golden import boxes_of_texts, close, lines, marks
from made_up import history, results

from accelbench.history.changes import find_changes
from accelbench.report.history_section import draw_history


def figure_over(past):
    """Draw the only technique of a history."""
    (drawn,) = draw_history(past, find_changes(past))
    return drawn


def figure_of(runs: int, workload: str, off):
    """Draw AMP over so many runs in which nothing changes but one workload's speedup, by a logarithm for each run."""
    past = history(results(runs, step=1.0))
    seen = past.observations
    moved = (seen["workload"] == workload) & ~seen["baseline"]
    by = np.where(moved, off(seen["run"].cat.codes.to_numpy()), 0.0)
    changed = {name: seen[name] + by for name in ("log_effect", "log_low", "log_high")}
    return figure_over(replace(past, observations=seen.assign(**changed)))


def level_lines(drawn, *, longer_than: float) -> list[np.ndarray]:
    """Return the horizontal lines of two points that are neither as wide as the axes nor a tick."""
    two = [line for line in lines(drawn) if len(line) == 2 and np.isclose(*line[:, 1])]
    return [line for line in two if longer_than < np.ptp(line[:, 0]) < 30]


@pytest.fixture(scope="module")
def figure():
    """AMP over 40 runs, with a step at run 21."""
    return figure_over(history(results(40)))


def test_the_title_says_what_changed_since_when_and_along_with_what(figure):
    begin, _, rest = figure.title.partition(" since run 0021")
    assert begin.startswith("amp (torch) over 40 runs: resnet50-train (bf16) 1.8")
    assert rest.startswith("; NVIDIA driver 570.124 → 580.65 at that run")


def test_every_run_has_its_point_on_every_line(figure):
    speedups = [name for name in figure.data if name.endswith(" (×)") and ", from" not in name and ", to" not in name]
    assert len(speedups) == 4
    drawn = sorted(marks(figure)["y"])
    ring = figure.data["resnet50-train, bf16 (×)"][20]
    assert drawn == close([*figure.data[speedups].to_numpy().ravel(), ring])


def test_a_change_of_the_driver_is_a_line_before_its_run_and_a_sentence(figure):
    upright = [line for line in lines(figure) if len(line) == 2 and np.isclose(*line[:, 0])]
    assert any(np.isclose(line[0, 0], 19.5, atol=0.01) for line in upright)
    assert "1: run 0021: NVIDIA driver 570.124 → 580.65." in figure.note


def test_the_numbers_of_dotted_lines_and_the_ratio_of_a_change_cover_no_other_text():
    both = [each for pair in zip(results(40), results(40, machine="other", seed=1), strict=True) for each in pair]
    drawn = figure_over(history(both))
    boxes = boxes_of_texts(drawn)
    assert [text for text, _ in boxes].count("1") == 2
    assert any(text.startswith("×0.9") for text, _ in boxes)
    assert [(one, other) for (one, a), (other, b) in combinations(boxes, 2) if a.overlaps(b)] == []


def test_only_the_latest_runs_are_drawn_and_the_note_says_of_how_many():
    drawn = figure_over(history(results(50)))
    assert drawn.data["run"].iloc[[0, -1]].tolist() == ["0011_nightly", "0050_nightly"]
    assert drawn.note.startswith("40 of 50 runs of gpu-box, in the order in which they were made.")


def test_a_run_that_lacks_the_technique_is_a_gap():
    runs = results(8)
    past = history(runs)
    there = past.observations["run"] != past.runs["run"][3]
    drawn = figure_over(type(past)(runs=past.runs, observations=past.observations[there]))
    assert drawn.data["bert-train, bf16 (×)"].isna().tolist() == [place == 3 for place in range(8)]
    assert len(marks(drawn)) == 7 * 4


def test_two_machines_have_a_panel_each_and_their_own_runs():
    both = [each for pair in zip(results(6), results(6, machine="other", seed=1), strict=True) for each in pair]
    drawn = figure_over(history(both))
    assert [panel.x.label for panel in drawn.figure.panels] == ["runs of other", "runs of gpu-box"]
    assert drawn.data["machine"].tolist() == ["other"] * 6 + ["gpu-box"] * 6
    assert len(marks(drawn, 0)) == len(marks(drawn, 1)) == 6 * 4
    assert len(drawn.figure.legend) == 4


def test_an_episode_is_a_bar_along_its_runs_and_says_that_it_is_over():
    drawn = figure_of(40, "vit-train", lambda at: -0.2 * ((at >= 18) & (at < 26)))
    assert drawn.title.startswith("amp (torch) over 40 runs: vit-train (bf16) 1.6")
    assert re.search(r" → 1\.3\d× \(.*\) → 1\.6\d× in runs 0019 to 0026;", drawn.title)
    assert "A bar: a transient" in drawn.note
    (bar,) = level_lines(drawn, longer_than=1)
    assert bar[:, 0].tolist() == close([17.7, 25.3])
    assert bar[0, 1] == pytest.approx(1.6 * np.exp(-0.2), rel=0.02)


def test_a_drift_is_a_dashed_line_and_a_sentence_in_the_title():
    drawn = figure_of(40, "vit-train", lambda at: -0.01 * at)
    assert drawn.title.startswith("amp (torch) over 40 runs: vit-train (bf16) drifts: 0.3")
    assert "Dashed: a drift" in drawn.note
    (slope,) = [line for line in lines(drawn) if len(line) == 2 and np.ptp(line[:, 0]) > 1 and np.ptp(line[:, 1]) > 0.1]
    assert slope[:, 0].tolist() == close([0, 39])
    assert slope[1, 1] / slope[0, 1] == pytest.approx(np.exp(-0.39), rel=0.03)
