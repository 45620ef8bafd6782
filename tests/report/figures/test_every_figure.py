"""Every figure of a run of all benchmarks says what it shows, in numbers, and carries its data."""

import re

import pytest
from runs import REAL

from harness.reading import effects, find_results, load
from harness.report.figures import draw

VERDICT = re.compile(r"\d|pays|slower|slows|faster|difference|undecided|same")
SAMPLE = re.compile(r"\d+ ?(?:to [\d,]+ )?(?:pairs?|blocks?|series|arms?|comparisons?|workloads?)\b")


@pytest.fixture(scope="module")
def figures():
    arms = load(find_results(REAL).results)
    return draw(arms, effects(arms), 0.01)


def test_every_title_is_a_sentence_with_a_number_or_a_verdict(figures):
    assert [each.title for each in figures if not VERDICT.search(each.title) or len(each.title.split()) < 3] == []


def test_every_note_tells_the_sample_size(figures):
    assert [each.note for each in figures if not SAMPLE.search(each.note)] == []


def test_every_description_carries_the_finding_and_not_the_name(figures):
    assert [each.alt for each in figures if not VERDICT.search(each.alt) or each.alt == each.name] == []


def test_every_figure_carries_data_whose_columns_a_reader_understands(figures):
    assert [each.name for each in figures if each.data.empty] == []
    assert {name for each in figures for name in each.data.columns if "_" in name} == set()


def test_the_figures_of_a_page_take_less_than_a_megabyte(figures):
    assert len(figures) > 40
    assert sum(len(each.inline().encode()) for each in figures) < 1_000_000
