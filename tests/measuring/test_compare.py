"""`harness.compare` as a notebook or a script uses it."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle

import pytest

import harness
from harness.errors import BadInput


def loop(rounds: int) -> int:
    total = 0
    for number in range(rounds):
        total += number
    return total


def test_the_first_arm_is_the_baseline_and_others_are_judged_against_it() -> None:
    result = harness.compare({"long": lambda: loop(3000), "short": lambda: loop(1000)}, budget_s=0.5)
    assert list(result) == ["short"]
    assert result["short"].verdict == "faster"
    assert 1 < result["short"].low < result["short"].speedup < result["short"].high


def test_another_arm_may_be_named_as_the_baseline() -> None:
    result = harness.compare({"long": lambda: loop(3000), "short": lambda: loop(1000)}, baseline="short", budget_s=0.5)
    assert result["long"].verdict == "slower"


def test_arms_that_process_more_items_per_call_are_compared_per_item() -> None:
    arms = {"one": lambda: loop(1000), "three": lambda: loop(1000)}
    assert harness.compare(arms, items={"three": 3}, budget_s=0.5)["three"].speedup == pytest.approx(3, rel=0.2)


def test_what_differs_from_build_to_build_is_in_the_interval_of_what_is_rebuilt() -> None:
    lengths = {"one": cycle([1000, 1300]), "other": cycle([1300, 1000])}
    arms = {name: partial(accidental, lengths[name]) for name in lengths}
    finished = harness.compare({name: build() for name, build in arms.items()}, budget_s=0.4)["other"]
    rebuilt = harness.compare(arms, rebuild=True, budget_s=0.4)["other"]
    assert finished.verdict == "slower"
    assert rebuilt.verdict == "undecided"
    assert rebuilt.low < 1 < rebuilt.high


def accidental(lengths: Iterator[int]) -> Callable[[], int]:
    return partial(loop, next(lengths))


def test_an_arm_that_is_rebuilt_must_return_a_callable() -> None:
    with pytest.raises(BadInput, match="arm 'two' returned a int; with rebuild, expected a function without arguments"):
        harness.compare({"one": lambda: partial(loop, 9), "two": lambda: 2}, rebuild=True)


def test_a_result_shows_itself_as_a_table() -> None:
    result = harness.compare({"long": lambda: loop(3000), "short": lambda: loop(1000)}, budget_s=0.2)
    assert "speedup" in str(result)
    assert "faster" in str(result)
    assert result._repr_html_().startswith("<table>")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"arms": {}}, "got 0 arm"),
        ({"arms": {"one": loop}}, "give at least two"),
        ({"baseline": "three"}, "baseline 'three' is not among the arms; expected one of: 'one', 'two'"),
        ({"items": {"three": 2}}, "items names 'three'"),
        ({"items": {"one": 0}}, "items of 'one' must be above 0, got 0"),
        ({"arms": {"one": loop, "two": 2}}, "arm 'two' is not callable"),
        ({"budget_s": 0}, "budget_s must be above 0 and finite, got 0"),
        ({"budget_s": float("inf")}, "budget_s must be above 0 and finite, got inf"),
        ({"alpha": 1.0}, "alpha must lie between 0 and 1"),
        ({"noise": -0.1}, "noise must lie between 0 and 1"),
        ({"framework": "jax"}, "unknown framework 'jax'"),
    ],
)
def test_a_wrong_argument_is_named_in_one_line(arguments: dict[str, object], line: str) -> None:
    with pytest.raises(BadInput) as caught:
        harness.compare(**{"arms": {"one": lambda: 1, "two": lambda: 1}, **arguments})  # type: ignore[arg-type]
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_importing_the_package_imports_neither_numpy_nor_a_framework() -> None:
    script = (
        "import harness, sys; print([m for m in ('numpy', 'torch', 'cupy', 'pandas', 'pytest') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
