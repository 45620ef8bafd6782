"""`harness.attribute` as a notebook or a script uses it, and rounds in which every arm stays to the end."""

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

import harness
from harness.errors import BadInput
from harness.experiment import Arm, Plan
from harness.frameworks.fake import FakeClock, FakeDevice
from harness.measuring.referee import Referee
from harness.measuring.stopwatch import Stopwatch


def loop(rounds: int) -> int:
    total = 0
    for number in range(rounds):
        total += number
    return total


def build(form: str, rounds: int):
    """A sum by a formula does not grow with its rounds, one by a loop does."""
    return (lambda: loop(200)) if form == "formula" else (lambda: loop(rounds))


TECHNIQUES = {"form": ("loop", "formula"), "rounds": (4000, 1000)}


def test_a_bundle_is_taken_apart_into_shares_and_what_they_do_to_each_other() -> None:
    found = harness.attribute(build, TECHNIQUES, budget_s=1.0)
    assert found.bundle.verdict == "faster"
    assert found.alone["rounds"].verdict == "faster"
    assert found.interactions["form", "rounds"].verdict == "slower"  # fewer rounds bring nothing to a formula
    assert found.additive.verdict == "interact"
    assert found.sentence.startswith("of the bundle's ")


def test_an_attribution_shows_itself_as_a_table() -> None:
    found = harness.attribute(build, TECHNIQUES, budget_s=0.4)
    for part in ("form formula", "on top of the others", "all together", found.sentence):
        assert part in str(found)
    assert found._repr_html_().startswith("<table>")


def test_arms_are_compared_per_item() -> None:
    def same(**_: object):
        return lambda: loop(1000)

    techniques = {"form": ("loop", "formula"), "batch": (1, 4)}
    found = harness.attribute(same, techniques, items=lambda batch, **_: batch, budget_s=0.5)
    assert found.alone["batch"].ratio == pytest.approx(4, rel=0.3)


def test_the_example_of_the_guide_runs() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "attribution.md").read_text()
    (example,) = (
        block for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "harness.attribute" in block
    )
    named: dict[str, Any] = {}
    exec(example.replace("budget_s=4", "budget_s=0.4"), named)
    assert named["found"].bundle.ratio > 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"techniques": {"form": ("loop", "formula")}}, "bundle of 1 technique(s) cannot be taken apart; give 2 to 8"),
        ({"techniques": {"form": ("loop", "loop"), "b": (1, 2)}}, "technique 'form' needs two different levels"),
        ({"techniques": {"form": ("a", "b", "c"), "b": (1, 2)}}, "got ('a', 'b', 'c')"),
        ({"techniques": {"form": 5, "b": (1, 2)}}, "technique 'form' needs two different levels, off and on; got 5"),
        ({"build": 3}, "build is not callable, got 3"),
        ({"build": lambda **_: 3}, "build returned a int for {'form': 'loop', 'rounds': 4000}"),
        ({"items": lambda **_: 0}, "items must be above 0, got 0"),
        ({"budget_s": 0}, "budget_s must be above 0 and finite, got 0"),
        ({"framework": "jax"}, "unknown framework 'jax'"),
    ],
)
def test_a_wrong_argument_is_named(arguments: dict[str, object], line: str) -> None:
    with pytest.raises(BadInput) as caught:
        harness.attribute(**{"build": build, "techniques": TECHNIQUES, **arguments})  # type: ignore[arg-type]
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("builds", [1, 2])
def test_in_whole_rounds_no_arm_leaves_before_the_budget_ends(builds: int) -> None:
    clock, weather = FakeClock(), Random(1)
    device = FakeDevice(clock)
    referee = Referee(
        stopwatch=Stopwatch(clock, device.synchronize),
        coin=Random(7),
        plan=Plan(budget_s=1.0, builds=builds, whole_rounds=True),
        arms=3,
    )

    def arm(seconds: float, noise: float) -> Arm:
        return Arm(step=lambda: device.launch(seconds * weather.lognormvariate(0, noise)))

    while not referee.settled:  # the second arm could be judged at once, the third one not
        referee.play([arm(1e-3, 0.02), arm(0.2e-3, 0.02), arm(1e-3, 0.5)])
    assert len(referee.log_ratios[1]) == len(referee.log_ratios[2])
    assert sum(referee.played_s) == pytest.approx(3.0, rel=0.1)
