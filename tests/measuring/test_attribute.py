"""`accelbench.attribute` as a notebook or a script uses it, and rounds in which every arm stays to the end."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fake_device import FakeClock, FakeDevice

import accelbench
from accelbench.core import Arm, Plan
from accelbench.errors import BadInput
from accelbench.measuring.referee import Referee, Stopwatch

Build = Callable[..., Callable[[], int]]
TECHNIQUES = {"form": ("loop", "formula"), "rounds": (4000, 1000)}


@pytest.fixture
def build(clock: FakeClock) -> Build:
    """A sum by a formula does not take longer with its rounds, one by a loop does."""
    weather = Random(1)

    def build(form: str, rounds: int) -> Callable[[], int]:
        seconds = 2e-4 if form == "formula" else rounds * 1e-6

        def step() -> int:
            clock.advance(seconds * weather.lognormvariate(0, 0.02))
            return 1

        return step

    return build


@pytest.mark.slow
def test_a_bundle_is_taken_apart_into_shares_and_what_they_do_to_each_other(build: Build) -> None:
    found = accelbench.attribute(build, TECHNIQUES, budget_s=1.0)
    assert found.bundle.verdict == "faster"
    assert found.alone["rounds"].verdict == "faster"
    assert found.interactions["form", "rounds"].verdict == "slower"  # fewer rounds bring nothing to a formula
    assert found.additive.verdict == "interact"
    assert found.sentence.startswith("Of the bundle's ")


def test_an_attribution_shows_itself_as_a_table(build: Build) -> None:
    found = accelbench.attribute(build, TECHNIQUES, budget_s=0.4)
    for part in ("form formula", "on top of the others", "all together", found.sentence):
        assert part in str(found)
    assert found._repr_html_().startswith("<table>")


def test_arms_are_compared_per_item(build: Build) -> None:
    techniques = {"form": ("loop", "formula"), "batch": (1, 4)}
    found = accelbench.attribute(
        lambda **_: build("loop", 1000), techniques, items=lambda batch, **_: batch, budget_s=0.5
    )
    assert found.alone["batch"].ratio == pytest.approx(4, rel=0.05)


def test_a_combination_with_a_wrong_answer_is_named(build: Build) -> None:
    def careless(form: str, rounds: int) -> Callable[[], int]:
        step = build(form, rounds)
        return lambda: step() + (form == "formula" and rounds == 1000)

    with pytest.raises(BadInput, match="the combination form formula, rounds 1000 has no speed: the output differs"):
        accelbench.attribute(careless, TECHNIQUES, budget_s=0.4)
    assert accelbench.attribute(careless, TECHNIQUES, budget_s=0.4, tolerance=None).bundle.verdict


def test_outputs_that_could_not_be_compared_are_a_warning_of_the_attribution(build: Build) -> None:
    def drawing(**levels: Any) -> Callable[[], float]:
        step, generator = build(**levels), Random()
        return lambda: (step(), generator.random())[1]

    found = accelbench.attribute(drawing, TECHNIQUES, budget_s=0.4)
    (warning,) = (
        each for each in found.warnings if each.startswith("outputs were not compared: the baseline's output differs")
    )
    assert f"Warning: {warning}." in str(found)
    assert "outputs were not compared" in found._repr_html_()


def test_a_combination_whose_call_does_no_work_is_refused() -> None:
    async def wait() -> int:
        return 1

    with pytest.raises(BadInput, match=r"what build returned for .* is an async function, whose call computes"):
        accelbench.attribute(lambda **_: wait, TECHNIQUES, budget_s=0.4)


@pytest.mark.slow
def test_the_example_of_the_guide_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "bundles.md").read_text()
    (example,) = (
        block for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "accelbench.attribute" in block
    )
    monkeypatch.setattr(accelbench, "attribute", partial(accelbench.attribute, budget_s=0.4))
    named: dict[str, Any] = {}
    exec(example, named)
    assert named["result"].bundle.ratio > 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"techniques": {"form": ("loop", "formula")}}, "bundle of 1 technique cannot be taken apart; give 2 to 4"),
        ({"techniques": {"form": ("loop", "loop"), "b": (1, 2)}}, "technique 'form' needs two different levels"),
        ({"techniques": {"form": ("a", "b", "c"), "b": (1, 2)}}, "got ('a', 'b', 'c')"),
        ({"techniques": {"form": 5, "b": (1, 2)}}, "technique 'form' needs two different levels, off and on; got 5"),
        ({"build": 3}, "build is not callable, got 3"),
        ({"build": lambda **_: 3}, "build returned an int for {'form': 'loop', 'rounds': 4000}"),
        ({"items": lambda **_: 0}, "items must be above 0, got 0"),
        ({"budget_s": 0}, "budget_s must be above 0 and finite, got 0"),
        ({"framework": "jax"}, "unknown framework 'jax'"),
    ],
)
def test_a_wrong_argument_is_named(build: Build, arguments: dict[str, object], line: str) -> None:
    with pytest.raises(BadInput) as caught:
        accelbench.attribute(**{"build": build, "techniques": TECHNIQUES, **arguments})  # type: ignore[arg-type]
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

    while not referee.is_settled:  # the second arm could be judged at once, the third one not
        referee.play([arm(1e-3, 0.02), arm(0.2e-3, 0.02), arm(1e-3, 0.5)])
    assert len(referee.log_ratios[1, 0]) == len(referee.log_ratios[2, 0])
    assert sum(referee.played_s) == pytest.approx(3.0, rel=0.1)
