"""What is not believed, and what is doubtful, stands on the page with its sentence."""

import pytest
from pages import result_of, write_report
from runs import arm, effect, run, save, trial

from accelbench.report.statements import group_doubts
from accelbench.results import Findings, find_results
from accelbench.schema.reasons import reason
from accelbench.schema.result import Placement, Rate

CACHED, ELSEWHERE, BEYOND = "its output is cached", "its output lies on cpu", "it implies 4,200 % of cpu memory"
HANDICAPPED = reason("handicapped-baseline", share=0.02, ceiling="cpu memory")


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
    html = doubted.read_text()
    claim = html[html.index("What pays") : html.index("What is not believed")]
    assert "Doubtful: the baseline reaches 2.0 % of cpu memory." in claim


def test_doubtful_arms_are_listed_by_reason(doubted):
    html = doubted.read_text()
    listed = html[html.index("What is doubtful") : html.index("Machine and configuration<")]
    assert f"<strong>1 arm doubtful</strong>: {HANDICAPPED}." in listed
    assert "pace slow on net" in listed


@pytest.mark.parametrize(
    ("counted", "reason"),
    [("1 arm with wrong work", CACHED), ("1 arm misplaced", ELSEWHERE), ("1 arm impossible", BEYOND)],
)
def test_an_arm_that_is_not_believed_shows_its_sentence_instead_of_a_speed(doubted, counted, reason):
    html = doubted.read_text()
    listed = html[html.index("What is not believed") : html.index("What is doubtful")]
    assert f"<strong>{counted}</strong>: {reason}." in listed


def test_where_an_arm_ran_stands_in_its_trial(doubted):
    assert "cuda:0, cpu, 1,200 kernels" in doubted.read_text()


def test_arms_whose_reasons_differ_in_numbers_only_are_listed_together():
    def slow(share, size):
        flag = reason("handicapped-baseline", share=share, ceiling="cpu matrix fp32")
        return trial(arm({"pace": "slow"}, 2.0, flags=[flag]), id=str(size), problem={"elements": size})

    (group,) = group_doubts(Findings(result_of(run(slow(0.036, 1), slow(0.002, 10), slow(0.04, 100)))).rows)
    assert group.counted == "3 arms doubtful"
    assert group.reason.startswith("the baseline reaches 0.20–4.0 % of cpu matrix fp32: ")
    assert group.named == "pace slow on net (torch)"


def test_arms_of_different_trials_are_not_mixed():
    flag = reason("handicapped-baseline", share=0.02, ceiling="cpu memory")

    def doubted(name, width, **flags):
        arms = [arm({"pace": level}, 1.0, flags=flags.get(level, [])) for level in ("off", "on")]
        return trial(*arms, id=name, problem={"width": width})

    (group,) = group_doubts(Findings(result_of(run(doubted("a", 1, off=[flag]), doubted("b", 2, on=[flag])))).rows)
    assert group.named == "pace off (net, width 1, torch) and pace on (net, width 2, torch)"
    (group,) = group_doubts(Findings(result_of(run(doubted("a", 1, off=[flag], on=[flag])))).rows)
    assert group.named == "pace off and pace on, on net (torch)"
