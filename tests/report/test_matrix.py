"""Technique by workload, in one cell each."""

from pages import result_of, text
from runs import arm, effect, run, trial

from accelbench.report.labels import Anchors
from accelbench.report.tables import matrices
from accelbench.results import Findings

ANCHORS = Anchors()


def matrix(*trials):
    """Return the matrices of a run with these trials."""
    findings = Findings(result_of(run(*trials)))
    return matrices(findings.rows, findings.effect_rows, ANCHORS)


def compared(technique, *found, name="t", **fields):
    """Return a trial in which a technique has these effects; None is an arm without a speed."""
    arms = [
        arm({technique: str(place)}, 1.0 if each else None, effect=effect(*each) if each else None)
        for place, each in enumerate(found, 1)
    ]
    return trial(arm({technique: "0"}, 1.0), *arms, id=name, **fields)


FASTER, FASTEST = (1.5, 1.4, 1.6, "faster"), (1.83, 1.8, 1.9, "faster")
SLOWER, UNSURE = (0.61, 0.6, 0.62, "slower"), (1.02, 0.9, 1.1, "undecided")


def test_a_cell_says_verdict_and_speedup_and_leads_to_the_trial():
    (found,) = matrix(compared("amp", FASTEST))
    cell = found.cells["net", "amp"]
    assert (cell.text, cell.name, cell.tint) == ("▲ 1.83×", "amp on net: faster, 1.83×", "faster")
    assert cell.anchor == ANCHORS.trial("t")


def test_several_effects_share_a_cell_that_leads_to_the_strongest():
    (found,) = matrix(
        compared("amp", FASTEST, name="mild"), compared("amp", (0.1, 0.09, 0.11, "slower"), name="strong")
    )
    cell = found.cells["net", "amp"]
    assert (cell.text, cell.tint) == ("▲▼ 0.100–1.83×", "mixed")
    assert cell.name == "amp on net: faster and slower, 0.100× to 1.83×"
    assert cell.anchor == ANCHORS.trial("strong")


def test_an_undecided_effect_does_not_widen_what_was_decided():
    (found,) = matrix(compared("amp", FASTEST, UNSURE))
    assert found.cells["net", "amp"].text == "▲? 1.83×"
    (found,) = matrix(compared("amp", UNSURE))
    assert found.cells["net", "amp"].text == "? 1.02×"


def test_what_could_not_be_measured_says_why_and_what_was_not_asked_for_says_nothing():
    (found,) = matrix(
        compared("amp", FASTER),
        compared("amp", None, workload="other", name="o"),
        compared("tf32", SLOWER, workload="other"),
    )
    missing = found.cells["other", "amp"]
    assert (missing.text, missing.name, missing.anchor) == ("–", "amp on other: not on this machine", "")
    assert ("net", "tf32") not in found.cells


def test_a_workload_of_which_nothing_could_be_measured_stands_last_with_its_technique():
    (found,) = matrix(
        compared("own", None, workload="wrong", name="w"),
        compared("amp", None, workload="wrong", name="v"),
        compared("amp", FASTER),
        compared("tf32", None, name="t2"),
    )
    assert (found.techniques, found.workloads) == (["amp", "own"], ["net", "wrong"])
    cells = {place: cell.text for place, cell in found.cells.items()}
    assert cells == {("net", "amp"): "▲ 1.50×", ("wrong", "amp"): "–", ("wrong", "own"): "–"}


def test_techniques_on_many_workloads_come_first_and_workloads_stand_with_them():
    (found,) = matrix(
        compared("tf32", FASTER, workload="a"),
        compared("amp", FASTER, workload="b", name="b"),
        compared("amp", FASTER, workload="c", name="c"),
    )
    assert found.techniques == ["amp", "tf32"]
    assert found.workloads == ["b", "c", "a"]


def test_every_framework_has_its_own_matrix():
    found = matrix(compared("amp", FASTER), compared("loop", FASTER, framework="tensorflow", name="tf"))
    assert [each.framework for each in found] == ["torch", "tensorflow"]


def test_the_page_shows_it_readable_without_colour(stored_report):
    html = stored_report.read_text()
    shown = html[html.index('<section id="matrix">') :].partition("</section>")[0]
    assert '<a href="#technique-torch-amp">amp</a>' in shown
    assert '<a href="#workload-mlp-train">mlp-train</a>' in shown
    assert 'aria-label="amp on resnet18-train: faster, 1.83×">▲ 1.83×</a>' in shown
    assert "▲ faster" in text(shown)
