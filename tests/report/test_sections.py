"""A section for each technique and for each workload."""

import re
from html import unescape

import pytest
from pages import result_of, write_report
from runs import arm, by_size, effect, run, trial

from accelbench.report.labels import Anchors
from accelbench.report.sections import thresholds
from accelbench.results import Findings


@pytest.fixture(scope="module")
def sections(stored_report):
    """The page's sections by anchor, as text."""
    found = re.findall(r'<article id="([\w-]+)"[^>]*>(.*?)</article>', stored_report.read_text(), re.DOTALL)
    return {anchor: " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split()) for anchor, html in found}


def test_a_technique_says_its_finding_and_counts_its_comparisons(sections):
    said = sections["technique-torch-amp"]
    assert "amp bf16 instead of fp32 (torch) makes resnet18-train 1.83× as fast" in said
    assert "3 comparisons: ▲ 1 faster, ▼ 1 slower, ? 1 undecided" in said


def test_a_technique_says_of_each_undecided_effect_why_and_what_would_decide_it(sections):
    said = sections["technique-torch-amp"]
    assert "amp bf16 may be slower, the same or faster on bert-train: 0.868× to 1.29× after 6 pairs. Why: other" in said
    assert "Why: other processes used 0.85 of 2 cores;" in said
    assert "; the times had not settled when the warm-up ended. To decide" in said
    assert re.search(r"To decide: about \d+ times the pairs \(--accel-budget=\d+\), fewer on a quieter machine", said)


def test_a_technique_has_what_to_write_for_each_level_and_what_else_it_is_called(tmp_path):
    levels = {"bf16": effect(1.5, 1.4, 1.6, "faster"), "fp16": effect(0.5, 0.4, 0.6, "slower")}
    arms = [arm({"amp": level}, 0.5, effect=found, recipe=[f"use({level!r})"]) for level, found in levels.items()]
    switched = trial(arm({"amp": "fp32"}, 1.0), *arms, technique_aliases={"amp": ["mixed precision", "<autocast>"]})
    page = write_report(result_of(run(switched)), tmp_path).read_text()
    (article,) = re.findall(r'<article id="technique-torch-amp".*?</article>', page, re.DOTALL)
    assert 'data-names="mixed precision, &lt;autocast&gt;, amp, amp bf16, amp fp16"' in article
    code = [unescape(each) for each in re.findall(r"<code[^>]*>(.*?)</code>", article)]
    assert code == ["use('bf16')", "use('fp16')"]
    assert article.index("amp bf16</strong>") < article.index(">use(") < article.index("for the other levels")


def test_knees_limits_and_crossovers_stand_with_their_technique(sections):
    batch, threads = sections["technique-torch-batch-size"], sections["technique-numpy-threads"]
    assert "knee at batch size 32, the smallest within 5 % of the best throughput" in batch
    assert "The largest that ran is 64 (out of memory at 128)." in batch
    assert "16 was the largest asked for." in batch
    assert "threads 2 pays above elements 87,000 (crossover between 36,000 and 130,000)" in threads
    assert "no crossover in the range; faster at 4 and slower at 0 of 5 sizes from elements 1,000" in threads


def test_a_workload_says_what_it_is_and_what_pays_on_it(sections):
    said = sections["workload-resnet18-train"]
    assert "amp bf16 1.83× (1.79–1.87)" in said
    assert "batch-size" in said
    assert "comparisons: ▲" in said


def sentences(*trials):
    return " ".join(each.sentence for each in thresholds(Findings(result_of(run(*trials)))))


SLOWER, UNSURE, FASTER = (0.5, 0.4, 0.6, "slower"), (1.1, 0.9, 1.3, "undecided"), (2.0, 1.8, 2.2, "faster")


@pytest.mark.parametrize(
    ("speedups", "words"),
    [
        ({100: SLOWER, 1000: SLOWER}, "slower at 2 of 2 sizes from elements 100 to 1,000, against threads 1"),
        ({100: UNSURE, 1000: UNSURE}, "threads 2 is known to be faster or slower at none of 2 sizes from elements 100"),
        ({100: SLOWER, 1000: UNSURE}, "no crossover in the range; faster at 0 and slower at 1 of 2 sizes"),
        ({100: SLOWER, 1000: FASTER, 10_000: UNSURE}, "and more than 10,000)"),
    ],
)
def test_a_crossover_that_cannot_be_told_is_not_made_up(speedups, words):
    assert words in sentences(*by_size(speedups))


def test_a_knee_without_a_comparison_is_said_all_the_same(text_of):
    batches = (arm({"batch_size": str(size)}, 1.0, items=float(size)) for size in (1, 2, 4))
    assert "net (torch): knee at batch size 4" in text_of(trial(*batches))


def test_a_technique_that_explains_only_has_a_section_without_a_claim(text_of):
    relieved = arm({"ablation": "decoded"}, 0.4, effect=effect(2.5, 2.4, 2.6, "faster"))
    said = text_of(trial(arm({"ablation": "none"}, 1.0), relieved))
    assert "1 comparison: ▲ 1 faster" in said
    assert "makes net" not in said


def test_names_that_read_alike_have_places_of_their_own():
    anchors = Anchors()
    assert anchors.workload("bert-train") == "workload-bert-train"
    assert len({anchors.workload(name) for name in ("a-b", "a b", "A-b", "数", "字")}) == 5
