"""A bundle taken apart: what is drawn, and what stands where else."""

import pytest
from golden import close, marks
from runs import bundle, run, save, trial

from accelbench.report.figures import draw
from accelbench.report.figures.attribution import attribution_figure
from accelbench.report.summary import as_markdown
from accelbench.results import Findings, find_results
from accelbench.results.combinations import find_attributions

OFF_ON = {"amp": ("fp32", "bf16"), "memory_format": ("contiguous", "channels-last")}
ARMS = bundle(OFF_ON, (1.0, 0.6, 1.8, 3.0))


@pytest.fixture
def drawn(arms_of):
    (found,) = find_attributions(arms_of(trial(*ARMS)), 0.01)
    return attribution_figure(found)


def test_every_share_is_drawn_from_the_table(drawn):
    assert sorted(marks(drawn)["x"]) == close(drawn.data["ratio (×)"])
    assert drawn.data["kind"].tolist() == [
        *("alone", "on average", "on top of the others") * 2,
        "interaction",
        "all together",
    ]


def test_the_title_says_of_what_the_bundle_consists(drawn):
    said = "amp bf16 alone 1.80×, memory-format channels-last alone 0.60"
    assert drawn.title.startswith("net: of the bundle's ")
    assert said in drawn.title
    assert "do not simply multiply" in drawn.title


def test_a_bundle_is_taken_apart_instead_of_drawn_as_a_pair(tmp_path):
    (result,) = find_results(save(run(trial(*ARMS)), tmp_path / "0001_a.json")).results
    kinds = [figure.name.partition("-")[0] for figure in draw(Findings(result))]
    assert kinds.count("attribution") == 1
    assert "interaction" not in kinds


def test_the_summary_has_the_sentence(tmp_path):
    (result,) = find_results(save(run(trial(*ARMS)), tmp_path / "0001_a.json")).results
    text = as_markdown([Findings(result)], {}, "Title")
    assert "## What bundles consist of\n\n- net: of the bundle's " in text
