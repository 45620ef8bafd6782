"""Two techniques alone and together: what is drawn, and what the title says of it."""

import pytest
from golden import close, marks
from runs import arm, effect, trial

from accelbench.report.figures.interaction import interaction_figure
from accelbench.results.combinations import find_interactions


@pytest.fixture
def drawn(arms_of):
    def of(both, factor=1.01):
        def way(pin, copy, speedup):
            known = effect(speedup, speedup / factor, speedup * factor, "faster")
            return arm({"pin_memory": pin, "non_blocking": copy}, 1 / speedup, effect=known)

        neither = arm({"pin_memory": "off", "non_blocking": "off"}, 1.0)
        ways = [way("on", "off", 2.0), way("off", "on", 1.1), way("on", "on", both)]
        (pair,) = find_interactions(arms_of(trial(neither, *ways)))
        return interaction_figure(pair, 0.05)

    return of


def test_all_four_arms_and_the_promise_are_drawn_from_the_table(drawn):
    figure = drawn(3.0)
    assert sorted(marks(figure)["y"]) == close(figure.data["speedup (×)"])
    assert figure.data["arm"].iloc[-1] == "both, as the two alone promise"


@pytest.mark.parametrize(
    ("both", "factor", "said"),
    [
        (3.0, 1.01, "together bring 3.00×, more than the 2.00× × 1.10× = 2.20× that"),
        (2.0, 1.01, "together bring 2.00×, less than the 2.00× × 1.10× = 2.20× that"),
        (2.2, 1.01, "together bring 2.20×, just the 2.00× × 1.10× = 2.20× that"),
        (3.0, 1.2, "together bring 3.00×; it is undecided whether that differs from the 2.00× × 1.10× = 2.20× that"),
    ],
)
def test_the_title_says_whether_both_bring_what_the_two_alone_promise(drawn, both, factor, said):
    assert f"net: pin-memory and non-blocking {said}" in drawn(both, factor).title
