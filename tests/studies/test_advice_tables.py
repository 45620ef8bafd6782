"""The table of the advice study."""

from dataclasses import asdict

from studies.advice.tables import Contest, Outcome, read, sentence, table


def _contest(workload: str, *reached: tuple[str, float, float]) -> Contest:
    outcomes = [Outcome(search=search, chosen="amp bf16", regret=regret, cost=cost) for search, regret, cost in reached]
    return Contest(workload=workload, configurations=36, exhaustive_s=20.0, best=2.5, outcomes=outcomes)


NEAR = _contest("near", ("advise", 0.0, 0.17), ("advise", 0.05, 0.18), ("advise", 0.02, 0.19), ("chance", 0.3, 0.17))
FAR = _contest("far", ("advise", 0.04, 0.17))
DEAR = _contest("dear", ("advise", 0.0, 0.21))


def test_the_table_shows_median_worst_and_cost_of_every_search():
    _, _, advised, by_chance = table([NEAR])
    assert advised == "| near | 36 in 20.0 s | 2.50× | advise | 2.0 % | 5.0 % | 2 of 3 | 18 % | 19 % |"
    assert "| chance | 30 % | 30 % | 0 of 1 |" in by_chance


def test_the_sentence_counts_workloads_with_a_near_choice_at_a_low_cost():
    assert sentence([NEAR, FAR, DEAR], "advise").endswith("on 1 of 3 workloads.")


def test_a_stored_contest_is_read_again():
    assert read(asdict(NEAR)) == NEAR
