"""A bundle taken apart: what is drawn, and what stands where else."""

import pytest
from golden import close, marks
from runs import bundle, run, save, trial

from harness.reading import effects, find_results
from harness.reading.attributions import attributions
from harness.report.figures import draw
from harness.report.figures.attribution import apart
from harness.report.outputs.summary import as_markdown

OFF_ON = {"amp": ("fp32", "bf16"), "memory_format": ("contiguous", "channels-last")}
ARMS = bundle(OFF_ON, (1.0, 0.6, 1.8, 3.0))


@pytest.fixture
def drawn(arms_of):
    (found,) = attributions(arms_of(trial(*ARMS)), 0.01)
    return apart(found)


def test_every_share_is_drawn_from_the_table(drawn):
    assert sorted(marks(drawn)["x"]) == close(drawn.data["ratio (×)"])
    assert drawn.data["told"].tolist() == [
        *("alone", "on average", "on top of the others") * 2,
        "interaction",
        "all together",
    ]


def test_the_title_says_of_what_the_bundle_consists(drawn):
    said = "amp bf16 alone 1.80×, memory-format channels-last alone 0.60"
    assert drawn.title.startswith("net: of the bundle's ")
    assert said in drawn.title
    assert "do not simply multiply" in drawn.title


def test_a_bundle_is_taken_apart_instead_of_drawn_as_a_pair(arms_of):
    arms = arms_of(trial(*ARMS))
    kinds = [figure.kind for figure in draw(arms, effects(arms), 0.01)]
    assert kinds.count("attribution") == 1
    assert "interaction" not in kinds


def test_the_summary_has_the_sentence(tmp_path):
    (result,) = find_results(save(run(trial(*ARMS)), tmp_path / "0001_a.json")).results
    text = as_markdown([result], {}, "Title")
    assert "## What bundles consist of\n\n- net: of the bundle's " in text
