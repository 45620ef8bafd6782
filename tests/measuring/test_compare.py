"""`accelbench.compare` as a notebook or a script uses it."""

import hashlib
import math
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from fake_device import FakeClock

import accelbench
from accelbench.errors import BadInput
from accelbench.frameworks import load

pytestmark = pytest.mark.usefixtures("nothing_is_frozen")

AS_THEY_ARE = "the arms were timed as they are instead of as copies, and the interval leaves out where their data lie: "


def walk(clock: FakeClock, seconds: float, returned: Any = 1) -> Callable[[], Any]:
    """Return a step that takes so many seconds, and returns this or the result of calling it."""

    def step() -> Any:
        clock.advance(seconds)
        return returned() if callable(returned) else returned

    return step


def test_the_first_arm_is_the_baseline_and_others_are_judged_against_it(clock: FakeClock) -> None:
    result = accelbench.compare({"long": walk(clock, 3e-3), "short": walk(clock, 1e-3)}, budget_s=0.5)
    assert list(result) == ["short"]
    assert (result["short"].verdict, result["short"].speedup) == ("faster", pytest.approx(3))
    assert 1 < result["short"].low <= result["short"].speedup <= result["short"].high


def test_another_arm_may_be_named_as_the_baseline(clock: FakeClock) -> None:
    arms = {"long": walk(clock, 3e-3), "short": walk(clock, 1e-3)}
    assert accelbench.compare(arms, baseline="short", budget_s=0.5)["long"].verdict == "slower"


@pytest.mark.slow
def test_arms_that_process_more_items_per_call_are_compared_per_item(clock: FakeClock) -> None:
    arms = {"one": walk(clock, 1e-3), "three": walk(clock, 1e-3)}
    assert accelbench.compare(arms, items={"three": 3}, budget_s=0.5)["three"].speedup == pytest.approx(3)


@pytest.mark.slow
def test_what_differs_from_build_to_build_is_in_the_interval_of_what_is_rebuilt(clock: FakeClock) -> None:
    chance = random.Random(1)
    arms = {name: lambda: walk(clock, chance.choice([1e-3, 2e-3])) for name in ("one", "other")}
    finished = accelbench.compare({"one": walk(clock, 1e-3), "other": walk(clock, 2e-3)}, budget_s=0.4)["other"]
    rebuilt = accelbench.compare(arms, rebuild=True, budget_s=0.4)["other"]
    assert finished.verdict == "slower"
    assert rebuilt.verdict == "undecided"
    assert rebuilt.low < 1 < rebuilt.high


def test_every_second_build_has_the_arms_where_the_other_ones_lay(clock: FakeClock) -> None:
    places: dict[str, list[int]] = {"one": [], "other": []}

    def prepare(name: str) -> Callable[[], Any]:
        array = np.zeros(10_000)
        places[name].append(array.ctypes.data)
        return walk(clock, 1e-3, array.sum)

    accelbench.compare({name: partial(prepare, name) for name in places}, rebuild=True, budget_s=0.4)
    builds = [*zip(*places.values(), strict=True)]
    assert sum(earlier == later[::-1] for earlier, later in pairwise(builds)) > len(builds) / 4


def test_finished_callables_are_copied_all_the_time_and_stay_as_they_are(clock: FakeClock) -> None:
    counts = {"one": np.zeros(1), "other": np.zeros(1)}

    def counting(name: str) -> Callable[[], int]:
        def step() -> int:
            counts[name] += 1
            clock.advance(1e-3)
            return 1

        return step

    found = accelbench.compare({name: counting(name) for name in counts}, noise=0.1, budget_s=0.4)
    assert found["other"].builds > 10
    assert not any(AS_THEY_ARE in warning for warning in found.warnings)
    assert max(counts.values()) <= 3
    as_they_are = accelbench.compare({name: counting(name) for name in counts}, budget_s=0.4, by_value=False)
    assert as_they_are["other"].builds == 1
    assert not any(AS_THEY_ARE in warning for warning in as_they_are.warnings)
    assert min(counts.values()) > 10


def test_arms_that_cannot_be_copied_are_timed_as_they_are_and_a_warning_says_why(clock: FakeClock) -> None:
    lock = threading.Lock()

    def locked() -> int:
        with lock:
            clock.advance(1e-3)
        return 1

    found = accelbench.compare({"free": walk(clock, 2e-3), "locked": locked}, budget_s=0.4)
    assert found.warnings[0] == f"{AS_THEY_ARE}'locked' holds a lock"
    assert (found["locked"].verdict, found["locked"].builds) == ("faster", 1)


class Elsewhere:
    """A step of which a copy returns something else."""

    def __init__(self, clock: FakeClock, later: float) -> None:
        self.clock, self.later = clock, later

    def __reduce__(self) -> tuple[type, tuple[FakeClock, float]]:
        return Elsewhere, (self.clock, self.later * 2)

    def __call__(self) -> float:
        self.clock.advance(1e-3)
        return self.later


class Stopping(Elsewhere):
    """A step of which a copy stops."""

    def __reduce__(self) -> tuple[Any, ...]:
        return walk, (self.clock, "soon")


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (
            Elsewhere,
            (
                "returned other values in a copy, as it does if it draws random numbers, counts calls elsewhere or "
                "shares data with another arm"
            ),
        ),
        (Stopping, "stopped in a copy with TypeError: unsupported operand type(s) for +=: 'float' and 'str'"),
    ],
    ids=["other values", "stops"],
)
def test_copies_that_do_something_else_than_the_arms_are_not_timed(
    clock: FakeClock, kind: type[Elsewhere], why: str
) -> None:
    found = accelbench.compare({"one": kind(clock, 1.0), "other": walk(clock, 1e-3, 1.0)}, budget_s=0.2)
    assert found.warnings[0] == f"{AS_THEY_ARE}'one' {why}"
    assert found["other"].verdict == "same"


def test_slow_steps_are_decided_within_a_dozen_calls(clock: FakeClock) -> None:
    weather = random.Random(1)

    def slow(seconds: float) -> Callable[[], int]:
        def step() -> int:
            clock.advance(seconds * weather.lognormvariate(0, 0.01))
            return 1

        return step

    found = accelbench.compare({"one": slow(0.1), "other": slow(0.11)}, budget_s=2.5)["other"]
    assert found.verdict == "slower"
    assert found.pairs < 12
    assert found.high - found.low < 0.1


def test_a_baseline_that_is_too_slow_for_the_budget_is_refused_with_the_budget_that_would_do(clock: FakeClock) -> None:
    arms = {"one": walk(clock, 0.5), "other": walk(clock, 0.1)}
    with pytest.raises(BadInput, match=r"far over the budget of 100 ms per arm; a budget_s 50 times as long would do$"):
        accelbench.compare(arms, budget_s=0.2)
    assert accelbench.compare(arms, budget_s=50 * 0.2)["other"].verdict == "faster"


def test_a_baseline_is_called_twice_before_it_is_refused_as_too_slow(clock: FakeClock) -> None:
    calls: list[None] = []

    def slow() -> float:
        calls.append(None)
        clock.advance(3.0)
        return 1.0

    with pytest.raises(BadInput, match=r"^the baseline 'slow' has no speed: one step takes 3\.00 s"):
        accelbench.compare({"slow": slow, "other": walk(clock, 0.1)}, budget_s=0.5)
    assert len(calls) == 2


def test_arms_whose_preparation_takes_long_are_built_once_and_a_warning_names_the_budget_for_more(
    clock: FakeClock,
) -> None:
    def prepare() -> Callable[[], int]:
        clock.advance(0.5)
        return walk(clock, 1e-3)

    found = accelbench.compare({"one": prepare, "other": prepare}, rebuild=True)
    assert found["other"].builds == 1
    assert found.warnings[0].startswith("building the arms and calling each once takes so long")
    assert "with budget_s=8.2 or more they would be built 6 times" in found.warnings[0]
    assert accelbench.compare({"one": prepare, "other": prepare}, rebuild=True, budget_s=8.2)["other"].builds == 6


def test_an_arm_that_is_rebuilt_must_return_a_callable() -> None:
    with pytest.raises(BadInput, match="arm 'two' returned an int; with rebuild, expected a function"):
        accelbench.compare({"one": lambda: lambda: 1, "two": lambda: 2}, rebuild=True)


def test_a_wrong_answer_has_no_speed_and_says_why(clock: FakeClock) -> None:
    result = accelbench.compare({"right": walk(clock, 3e-3), "wrong": walk(clock, 1e-3, 2)}, budget_s=0.2)
    wrong = result["wrong"]
    assert wrong.verdict is None
    assert math.isnan(wrong.speedup)
    assert not wrong.speedup > 1
    assert str(wrong.reason).startswith("the output differs from the baseline's by 1.00 relative")
    assert "wrong" not in result.per_item_s
    assert wrong.reason in str(result)


def test_outputs_may_differ_within_the_tolerance_or_by_design(clock: FakeClock) -> None:
    arms = {"exact": walk(clock, 1e-3, 1.0), "rough": walk(clock, 1e-3, 1.01)}
    assert accelbench.compare(arms, budget_s=0.1)["rough"].verdict is None
    assert accelbench.compare(arms, budget_s=0.1, tolerance=0.05)["rough"].verdict
    different = {"one": walk(clock, 1e-3, 1), "other": walk(clock, 1e-3, 5)}
    assert accelbench.compare(different, budget_s=0.1, tolerance=None)["other"].verdict


class Unknown:
    """An object of the user's own, whose values nobody knows."""


UNKNOWN = Unknown()


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        (random.random, "the baseline's output differs from call to call, as where it draws random numbers"),
        (UNKNOWN, "the step returned an Unknown, which cannot be checked"),
    ],
    ids=["random", "unknown"],
)
def test_outputs_that_cannot_be_compared_are_a_warning(clock: FakeClock, returned: Any, why: str) -> None:
    step = walk(clock, 1e-3, returned)
    result = accelbench.compare({"one": step, "other": step}, budget_s=0.1)
    assert result["other"].verdict
    assert any(warning.startswith(f"outputs were not compared: {why}") for warning in result.warnings)
    assert why in str(result)


def test_an_arm_that_returns_the_promise_of_a_result_is_refused() -> None:
    with pytest.raises(BadInput, match="returned a generator, which computes nothing until it is read"):
        accelbench.compare({"lazy": lambda: (place for place in range(9)), "same": lambda: 9})


def test_a_baseline_that_stops_while_it_is_timed_is_an_error_and_a_candidate_says_why_it_stopped(
    clock: FakeClock,
) -> None:
    def stopping(calls: int) -> Callable[[], int]:
        left = iter(range(calls))
        return walk(clock, 1e-3, lambda: (next(left), 1)[1])

    goes_on = walk(clock, 1e-3)
    with pytest.raises(BadInput, match="the baseline 'stops' has no speed: StopIteration"):
        accelbench.compare({"stops": stopping(20), "goes on": goes_on}, budget_s=0.1, by_value=False)
    arms = {"goes on": goes_on, "stops": stopping(20)}
    stopped = accelbench.compare(arms, budget_s=0.1, by_value=False)["stops"]
    assert stopped.verdict is None
    assert re.match(r"StopIteration \(\S+, line \d+\); an iterator that it holds has come to its end", stopped.reason)


@pytest.mark.slow
def test_work_that_goes_on_after_a_step_takes_its_speed_away(clock: FakeClock) -> None:
    stop, threads = threading.Event(), list[threading.Thread]()

    def work() -> None:
        while not stop.is_set():
            hashlib.sha256(bytes(100_000))  # leaves the interpreter to others meanwhile

    def leaving_work_behind() -> int:
        threads.append(threading.Thread(target=work))
        threads[-1].start()
        return 1

    arms = {"waits": walk(clock, 0.03), "leaves work behind": walk(clock, 0.03, leaving_work_behind)}
    try:
        found = accelbench.compare(arms, budget_s=0.1)["leaves work behind"]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert found.verdict is None
    assert "went on working after the block had ended" in found.reason


@pytest.mark.parametrize(("returned", "adapter"), [("torch", "torch"), ("numpy", "numpy"), ("nested", "torch")])
def test_the_framework_is_that_of_the_arrays_which_the_arms_return(
    monkeypatch: pytest.MonkeyPatch, returned: str, adapter: str
) -> None:
    torch = pytest.importorskip("torch")
    loaded: list[str] = []
    monkeypatch.setattr("accelbench.measuring.first_calls.load", lambda name: (loaded.append(name), load(name))[1])
    arrays = {"torch": torch.ones(3), "numpy": np.ones(3), "nested": {"loss": 1.0, "logits": [torch.ones(3)]}}
    output = arrays[returned]
    result = accelbench.compare({"one": lambda: output, "other": lambda: output}, budget_s=0.1)
    assert {*loaded} - {"numpy"} == {adapter} - {"numpy"}
    assert result["other"].verdict


def test_where_the_arms_return_nothing_the_imported_framework_is_synchronised(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    loaded: list[str] = []
    monkeypatch.setattr("accelbench.measuring.first_calls.load", lambda name: (loaded.append(name), load(name))[1])
    accelbench.compare({"one": lambda: None, "other": lambda: None}, budget_s=0.1, tolerance=None)
    assert loaded[-1] == "torch"


def test_where_the_arms_return_nothing_and_two_imported_frameworks_have_devices_one_is_to_be_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("torch", "cupy"):
        pytest.importorskip(name)
        monkeypatch.setattr(type(load(name)), "accelerators", lambda _: ("cuda:0",))
    arms = {"one": lambda: None, "other": lambda: None}
    with pytest.raises(BadInput, match="returns no arrays, and torch and cupy are imported; name the one"):
        accelbench.compare(arms, budget_s=0.1)


@pytest.mark.skipif(bool(load("cupy").accelerators()), reason="there is a device")
def test_cupy_without_a_device_says_so_instead_of_blaming_the_driver() -> None:
    cupy = pytest.importorskip("cupy")
    values = np.linspace(0, 1, 100)
    result = accelbench.compare(
        {"numpy": lambda: np.sin(values), "cupy": lambda: cupy.sin(cupy.asarray(values))}, budget_s=0.1
    )
    assert result["cupy"].reason == f"cupy {cupy.__version__} sees no CUDA device"


def test_a_result_shows_itself_as_a_table(clock: FakeClock) -> None:
    result = accelbench.compare({"long": walk(clock, 3e-3), "short": walk(clock, 1e-3)}, budget_s=0.2)
    assert "speedup" in str(result)
    assert "faster" in str(result)
    assert result._repr_html_().startswith("<table>")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({"arms": {}}, "got 0 arms;"),
        ({"arms": {"one": walk}}, "got 1 arm; give at least two"),
        ({"baseline": "three"}, "baseline 'three' is not among the arms; expected one of: 'one', 'two'"),
        ({"items": {"three": 2}}, "items names 'three'"),
        ({"items": {"one": 0}}, "items of 'one' must be above 0 and finite, got 0"),
        ({"arms": {"one": {}.copy, "two": 2}}, "arm 'two' is not callable: its type is int"),
        ({"budget_s": 0}, "budget_s must be above 0 and finite, got 0"),
        ({"budget_s": float("inf")}, "budget_s must be above 0 and finite, got inf"),
        ({"alpha": 1.0}, "alpha must lie between 0 and 1"),
        ({"noise": -0.1}, "noise must lie between 0 and 1"),
        ({"tolerance": -1}, "tolerance must be at least 0 and finite, or None, got -1"),
        ({"framework": "jax"}, "unknown framework 'jax'"),
    ],
)
def test_a_wrong_argument_is_named_in_one_line(arguments: dict[str, object], line: str) -> None:
    with pytest.raises(BadInput) as caught:
        accelbench.compare(**{"arms": {"one": lambda: 1, "two": lambda: 1}, **arguments})  # type: ignore[arg-type]
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_importing_the_package_imports_neither_numpy_nor_a_framework() -> None:
    script = (
        "import accelbench, sys; print([m for m in ('numpy', 'torch', 'cupy', 'pandas', 'pytest') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
