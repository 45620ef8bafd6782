"""The figures of a run: drawn where there is something to show, and as files that can be read."""

import re
from xml.etree import ElementTree as ET

import pytest
from pages import write_report
from runs import arm, by_size, effect, memory, run, save, trial

from accelbench.results import find_results


@pytest.fixture
def figures(tmp_path):
    def of(*trials):
        path = save(run(*trials), tmp_path / "0001_a.json")
        folder = write_report(find_results(path).results[0], tmp_path / "reports").parent / "figures"
        return {file.stem: file.read_text() for file in sorted(folder.glob("*.svg"))}

    return of


def words(svg):
    return ["".join(element.itertext()) for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def batches(**prices):
    return [
        arm({"batch_size": str(size)}, size / speed, items=float(size), price=prices.get("price"))
        for size, speed in ((1, 100.0), (2, 180.0), (4, 185.0))
    ]


def test_every_kind_of_figure_is_drawn(stored_report):
    drawn = {path.name.partition("-")[0] for path in (stored_report.parent / "figures").glob("*.svg")}
    assert drawn == {"effects", "pareto", "batch", "workers", "size"}


def test_nothing_is_drawn_without_data(figures):
    assert figures(trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}))) == {}


def test_a_verdict_can_be_read_without_colour(figures):
    verdicts = {"a": (2.0, 1.9, 2.1, "faster"), "b": (0.5, 0.4, 0.6, "slower"), "c": (1.0, 0.995, 1.005, "same")}
    arms = [arm({"amp": level}, 1.0, effect=effect(*found)) for level, found in verdicts.items()]
    few = arm({"amp": "d"}, 1.0, effect=effect(1.2, 0.0, None, "undecided", pairs=2))
    (svg,) = figures(trial(arm({"amp": "fp32"}, 1.0), *arms, few)).values()
    assert {"▲", "2.00×", "▼", "0.500×", "=", "1.00×", "?", "1.20×"} <= set(words(svg))


def test_the_batch_figure_shows_knee_and_memory(figures):
    drawn = figures(trial(*batches(price=memory(2**20))))
    (svg,) = drawn.values()
    assert {"knee: 2", "resident memory", "images per second", "batch size"} <= set(words(svg))


def test_memory_that_was_not_measured_is_not_drawn(figures):
    (svg,) = figures(trial(*batches())).values()
    assert not any("memory" in word for word in words(svg))


@pytest.mark.parametrize("observed", [{"wait_share": 0.0}, {}])
def test_the_share_of_time_waited_is_drawn_where_it_was_observed(figures, observed):
    arms = [arm({"workers": str(count)}, 1.0, observed=observed) for count in (0, 1, 2)]
    (svg,) = figures(trial(*arms)).values()
    assert ("time waited for data" in words(svg)) == bool(observed)


def test_time_by_size_names_both_arms(figures):
    drawn = figures(*by_size({100: (0.5, 0.4, 0.6, "slower"), 1000: (2.0, 1.9, 2.1, "faster")}))
    assert {"threads 1", "threads 2", "elements (log)"} <= set(words(drawn["size-threads-add"]))


def test_figures_of_tests_that_measure_the_same_are_named_after_them(figures):
    arms = batches()
    drawn = figures(trial(*arms), trial(*arms, id="benchmarks/test_other.py::test_other"))
    assert set(drawn) == {"batch-size-net-test-amp", "batch-size-net-test-other"}


def test_figures_of_one_name_do_not_overwrite_each_other(figures):
    arms = batches()
    drawn = figures(trial(*arms), trial(*arms, workload="Net", id="benchmarks/test_other.py::test_other"))
    assert set(drawn) == {"batch-size-net", "batch-size-net-2"}


def test_a_figure_carries_no_date(figures):
    (svg,) = figures(trial(*batches())).values()
    assert re.findall(r"dc:date|20\d\d-\d\d", svg) == []


def test_the_figures_of_a_run_are_drawn_once_and_those_of_another_run_anew(figures, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELBENCH_CACHE", str(tmp_path / "cache"))
    known = figures(trial(*batches()))
    drawn = []
    monkeypatch.setattr("accelbench.report.figures.draw", lambda run: drawn.append(run) or [])
    assert figures(trial(*batches())) == known != {}
    assert drawn == []
    figures(trial(*batches()[:2]))
    assert len(drawn) == 1
