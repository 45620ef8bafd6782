"""Every kind of figure says what it shows, in numbers, and carries its data."""

import re
from dataclasses import replace

import pytest
from runs import EVERY_FIELD, arm, bundle, effect, read_run, trial

from accelbench.report.figures import draw, figure_kinds
from accelbench.results import Findings
from accelbench.results.load import as_result

VERDICT = re.compile(r"\d|pays|slower|slows|faster|difference|undecided|same")
SAMPLE = re.compile(r"\d+ ?(?:to [\d,]+ )?(?:pairs?|blocks?|series|arms?|comparisons?|workloads?)\b")
OFF_ON = {"amp": ("fp32", "bf16"), "memory_format": ("contiguous", "channels-last")}


def pair_of_techniques():
    ways = [arm({"pin_memory": pin, "non_blocking": copy}, 1.0) for pin in ("off", "on") for copy in ("off", "on")]
    known = effect(1.5, 1.4, 1.6, "faster")
    return trial(ways[0], *(replace(way, effects=[known]) for way in ways[1:]), id="t[pair]")


@pytest.fixture(scope="module")
def figures():
    run = read_run(EVERY_FIELD)
    more = [trial(*bundle(OFF_ON, (1.0, 0.6, 1.8, 3.0)), id="t[bundle]"), pair_of_techniques()]
    return draw(Findings(as_result("0001_a.json", None, replace(run, trials=[*run.trials, *more]))))


def test_every_kind_is_among_them(figures):
    kinds = {"effects", "pareto", "batch-size", "size", "ladder", "ceilings", "attribution", "interaction"}
    assert {kind for kind in kinds if any(each.name.startswith(f"{kind}-") for each in figures)} == kinds


def test_every_title_is_a_sentence_with_a_number_or_a_verdict(figures):
    assert [each.title for each in figures if not VERDICT.search(each.title) or len(each.title.split()) < 3] == []


def test_every_note_tells_the_sample_size(figures):
    assert [each.note for each in figures if not SAMPLE.search(each.note)] == []


def test_every_description_carries_the_finding_and_not_the_name(figures):
    assert [each.alt for each in figures if not VERDICT.search(each.alt) or each.alt == each.name] == []


def test_every_figure_carries_data_whose_columns_a_reader_understands(figures):
    assert [each.name for each in figures if each.data.empty] == []
    assert {name for each in figures for name in each.data.columns if "_" in name} == set()


def test_a_figure_on_a_page_takes_a_few_kilobytes(figures):
    sizes = [len(each.render().inline.encode()) for each in figures]
    assert max(sizes) < 20_000
    assert sum(sizes) / len(sizes) < 10_000


def test_every_kind_of_figure_has_a_place_of_its_own_on_the_page():
    positions = [kind.position for kind in figure_kinds()]
    assert positions == sorted(set(positions))
    assert {type(kind).__module__.rpartition(".")[2] for kind in figure_kinds()} >= {"effects", "pareto", "sweeps"}
