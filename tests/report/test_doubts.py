"""What is not believed, and what is doubtful, stands on the page with its sentence."""

import pytest
from runs import arm, effect, run, save, trial

from harness.reading import find_results
from harness.record import Placement, Rate
from harness.report import write_report

CACHED, ELSEWHERE, BEYOND = "its output is cached", "its output lies on cpu", "it implies 4,200 % of cpu memory"
HANDICAPPED = "the baseline reaches 2 % of cpu memory: it may be handicapped"


@pytest.fixture(scope="module")
def doubted(tmp_path_factory):
    """The page of a run with one arm of each kind."""
    place = Placement(inputs=["cpu"], parameters=["cuda:0"], outputs=["cuda:0"], kernels=1200)
    rates = [Rate(ceiling="cpu memory", per_s=1e9, share=0.02), Rate(ceiling="cpu matrix fp32", per_s=1e9, share=0.3)]
    measured = trial(
        arm({"pace": "slow"}, 2.0, flags=[HANDICAPPED], placement=place, rates=rates),
        arm({"pace": "quick"}, 1.0, effect=effect(2.0, 1.9, 2.1, "faster")),
        arm({"pace": "cached"}, outcome="wrong-work", reason=CACHED),
        arm({"pace": "away"}, outcome="misplaced", reason=ELSEWHERE),
        arm({"pace": "light"}, outcome="impossible", reason=BEYOND),
    )
    path = save(run(measured), tmp_path_factory.mktemp("doubted") / "0001_a.json")
    return write_report(find_results(path).results[0], path.parent)


def test_a_claim_says_what_is_doubtful_about_its_arms(doubted):
    html, summary = doubted.read_text(), (doubted.parent / "summary.md").read_text()
    claim = html[html.index("What pays") : html.index("What is not believed")]
    assert f"Doubtful: {HANDICAPPED}." in claim
    assert f"Doubtful: {HANDICAPPED}." in summary


def test_doubtful_arms_are_listed_by_reason(doubted):
    html = doubted.read_text()
    listed = html[html.index("What is doubtful") : html.index("Machine and configuration</h2>")]
    assert f"<strong>1 arm doubtful</strong>: {HANDICAPPED}." in listed
    assert "pace slow on net" in listed


@pytest.mark.parametrize(
    ("counted", "reason"),
    [("1 arm with wrong work", CACHED), ("1 arm misplaced", ELSEWHERE), ("1 arm impossible", BEYOND)],
)
def test_an_arm_that_is_not_believed_shows_its_sentence_instead_of_a_speed(doubted, counted, reason):
    html, summary = doubted.read_text(), (doubted.parent / "summary.md").read_text()
    listed = html[html.index("What is not believed") : html.index("What is doubtful")]
    assert f"<strong>{counted}</strong>: {reason}." in listed
    assert f"- **{counted}**: {reason}." in summary


def test_where_an_arm_ran_stands_in_its_trial(doubted):
    assert "cuda:0, cpu, 1,200 kernels" in doubted.read_text()
