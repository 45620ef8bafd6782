"""Where two tests measure the same, everything that a person reads names the test, and it does so nowhere else."""

from dataclasses import replace

import pytest
from explanations import AMP, explained_run, explanation
from golden import texts
from pages import between, result_of, text, write_report
from runs import arm, effect, run, trial

from accelbench.report.figures import draw
from accelbench.report.side_by_side import side_by_side
from accelbench.results import Findings

FASTER, SLOWER = effect(2.0, 1.9, 2.1, "faster"), effect(0.5, 0.4, 0.6, "slower")
ARMS = arm({"amp": "off"}, 1.0), arm({"amp": "half"}, 0.5, effect=FASTER), arm({"amp": "odd"}, 2.0, effect=SLOWER)
ONE, TWO, THIRD = (
    trial(*ARMS, id=f"test_net.py::{name}", problem=problem)
    for name, problem in (("One::test_net", {}), ("Two::test_net", {}), ("test_wide[8]", {"width": 8}))
)
RUN = run(ONE, TWO, THIRD)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a run in which two of three trials measure the same."""
    return write_report(result_of(RUN), tmp_path_factory.mktemp("reports"))


def test_every_label_on_the_page_names_them(page):
    html = page.read_text()
    said = text(html)
    for label in (
        "slower on net (One::test_net; 0.500×",  # a finding
        "net torch, One::test_net amp half",  # every arm
        "net torch, Two::test_net",  # every effect
        "amp on net torch, Two::test_net",  # a trial
        "amp (One::test_net)",  # a workload's link to a trial
    ):
        assert label in said, label
    assert "amp half on net (Two::test_net): 2.00×" in html  # a point of the overview
    assert "test_wide," not in said


def test_the_summary_names_them(page):
    assert "net (torch, One::test\\_net)" in (page.parent / "summary.md").read_text()


def test_every_row_of_the_figure_has_a_label_of_its_own():
    (figure,) = draw(Findings(result_of(RUN)))
    labels = {"odd · One::test_net", "half · One::test_net", "half · Two::test_net", "half · width\N{NO-BREAK SPACE}8"}
    assert labels <= {each.replace("\n", " ") for each in texts(figure)}
    assert figure.data["test"].tolist().count("One::test_net") == 2


def test_a_row_without_an_option_that_others_have_is_labelled_too():
    first, second = (trial(*ARMS[:2], id=f"t[{width}]", problem={"width": width} if width else {}) for width in (0, 8))
    (figure,) = draw(Findings(result_of(run(first, second))))
    assert {"half · net", "width\N{NO-BREAK SPACE}8"} <= set(texts(figure))


def test_runs_side_by_side_name_them():
    shown = side_by_side([Findings(result_of(RUN)), Findings(replace(result_of(RUN), number=2))])
    assert {each.held for each in shown.effects} == {"torch, One::test_net", "torch, Two::test_net", "width 8, torch"}


def test_reasons_name_them(tmp_path):
    known = explained_run()
    again = replace(known.trials[0], id=AMP.replace("test_amp[", "test_again["))
    explained = replace(result_of(replace(known, trials=[*known.trials, again])), explanation=explanation())
    path = write_report(explained, tmp_path)
    said = between(text(path.read_text()), "Why #", "Is the measuring right here?")
    assert "amp fp16 on mlp-train, test_amp (torch) 0.107×" in said
    assert "mlp-train, torch, test_amp amp fp16 products" in said
    assert "amp fp16 on mlp-train, test\\_amp (torch)" in (path.parent / "summary.md").read_text()


def by_level(technique, levels, name):
    arms = [arm({technique: level}, 1.0, effect=FASTER if place else None) for place, level in enumerate(levels)]
    return trial(*arms, id=f"test_net.py::{name}")


@pytest.mark.parametrize(
    ("technique", "levels", "kind"),
    [
        ("batch_size", ("1", "2", "4"), "level_sweeps"),
        ("pipeline", ("naive", "+prefetch", "+cache"), "ladders"),
    ],
)
def test_what_several_arms_show_together_names_them(technique, levels, kind):
    found = getattr(Findings(result_of(run(*(by_level(technique, levels, name) for name in ("one", "two"))))), kind)
    assert [each.held for each in found] == ["one", "two"]


def test_what_holds_training_back_names_them():
    arms = [arm({"ablation": "none"}, 1.0), arm({"ablation": "decoded"}, 0.5, effect=FASTER)]
    pair = (trial(*arms, id=f"test_net.py::{name}", kinds={"ablation": "ablation"}) for name in ("one", "two"))
    assert [each.sentence.partition(" is ")[0] for each in Findings(result_of(run(*pair))).bottlenecks] == [
        "net (torch, one)",
        "net (torch, two)",
    ]
