"""What the first calls of the arms of ``accelbench.compare`` show: promises, None, other answers, shared memory."""

import asyncio
import functools
import gc
import math
import random
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fake_device import FakeClock, FakeDevice

import accelbench
from accelbench.core import Trial
from accelbench.errors import BadInput, LazyOutput
from accelbench.frameworks import load
from accelbench.measuring import compare, first_calls
from accelbench.measuring.checks import process_state
from accelbench.measuring.interference import InterferenceMonitor, Snapshot

pytestmark = pytest.mark.usefixtures("nothing_is_frozen")

VALUES = np.random.default_rng(0).random(1000)
Step = Callable[[], Any]


def right(clock: FakeClock) -> Step:
    """Return a step that takes a millisecond and returns what it has computed."""

    def step() -> Any:
        clock.advance(1e-3)
        return VALUES * VALUES

    return step


def quick(answer: Step, clock: FakeClock) -> Step:
    """Return a step that is ten times as fast and returns this."""

    def step() -> Any:
        clock.advance(1e-4)
        return answer()

    return step


def generate() -> Iterator[float]:
    yield from VALUES


async def wait() -> float:
    return float(VALUES.sum())


@pytest.mark.parametrize("tolerance", [1e-4, None])
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (generate, "the arm returned a generator, which computes nothing until it is read"),
        (lambda: map(float, VALUES), "the arm returned an iterator (map)"),
        (wait, "the arm returned a coroutine, which computes nothing until it is awaited"),
        (lambda: right, "the arm returned a function instead of a result"),
    ],
)
def test_a_candidate_that_returns_the_promise_of_a_result_has_no_speed(
    clock: FakeClock, answer: Step, why: str, tolerance: float | None
) -> None:
    arms = {"right": right(clock), "lazy": quick(answer, clock)}
    found = accelbench.compare(arms, budget_s=0.1, tolerance=tolerance)["lazy"]
    assert found.verdict is None
    assert found.reason.startswith(why)


def test_a_baseline_that_returns_a_promise_is_refused(clock: FakeClock) -> None:
    with pytest.raises(LazyOutput, match="the baseline 'lazy' returned a generator"):
        accelbench.compare({"lazy": quick(generate, clock), "right": right(clock)}, tolerance=None)


@pytest.mark.slow
@pytest.mark.parametrize(("empty", "name"), [(None, "None"), ([], "an empty list"), ({"loss": None}, "an empty dict")])
def test_an_arm_that_returns_none_is_refused_with_the_way_out(clock: FakeClock, empty: Any, name: str) -> None:
    nothing = quick(lambda: empty, clock)
    way_out = "return what it computed, such as the array that it writes to, or pass tolerance=None"
    with pytest.raises(BadInput) as caught:
        accelbench.compare({"in place": nothing, "right": right(clock)}, budget_s=0.1)
    assert str(caught.value).startswith(f"the baseline 'in place' returned {name}, so nothing shows")
    assert way_out in str(caught.value)
    found = accelbench.compare({"right": right(clock), "in place": nothing}, budget_s=0.1)["in place"]
    assert found.verdict is None
    assert way_out in found.reason
    assert accelbench.compare({"one": nothing, "two": nothing}, budget_s=0.1, tolerance=None)["two"].verdict


def test_a_candidate_that_raises_at_its_first_call_costs_nobody_else_the_speed(clock: FakeClock) -> None:
    def fail() -> None:
        raise ValueError("no such file")

    arms = {"right": right(clock), "fails": fail, "too": right(clock)}
    found = accelbench.compare(arms, budget_s=0.1)
    assert found["fails"].verdict is None
    assert found["fails"].reason.startswith("ValueError: no such file (test_first_calls.py, line ")
    assert found["too"].verdict == "same"


def test_what_a_baseline_raised_is_the_cause_of_the_error(clock: FakeClock) -> None:
    def fail() -> None:
        raise ValueError("no such file")

    with pytest.raises(BadInput, match="the baseline 'fails' has no speed: ValueError: no such file") as caught:
        accelbench.compare({"fails": fail, "right": right(clock)}, budget_s=0.1)
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_arm_that_ends_the_program_ends_nothing(clock: FakeClock) -> None:
    found = accelbench.compare({"right": right(clock), "exits": sys.exit}, budget_s=0.1)["exits"]
    assert found.reason == "the arm ended the program (SystemExit); let it return instead"


def test_an_error_of_the_call_itself_names_the_way_out(clock: FakeClock) -> None:
    found = accelbench.compare({"right": right(clock), "largest": max}, budget_s=0.1)["largest"]
    assert found.reason.startswith("TypeError: max expected at least 1 argument, got 0; arms are called without")


@pytest.mark.slow
@pytest.mark.parametrize("call", [1, 2, 40])
def test_ctrl_c_ends_the_comparison_and_leaves_the_process_as_it_was(clock: FakeClock, call: int) -> None:
    calls = 0

    def step() -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise KeyboardInterrupt
        clock.advance(1e-3)
        return VALUES * VALUES

    with pytest.raises(KeyboardInterrupt):
        accelbench.compare({"right": right(clock), "stopped": step}, budget_s=0.1, by_value=False)
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_objects_that_the_caller_has_frozen_stay_frozen(clock: FakeClock) -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    accelbench.compare({"right": right(clock), "again": right(clock)}, budget_s=0.1)
    assert gc.get_freeze_count() >= frozen / 2  # some of them are gone


def test_an_iterator_that_has_come_to_its_end_is_found_in_a_candidate(clock: FakeClock) -> None:
    def add(values: Any) -> Step:
        return lambda: (clock.advance(1e-3), float(sum(values)))[1]

    found = accelbench.compare({"list": add([1, 2]), "iterator": add(iter([1, 2]))}, budget_s=0.1)["iterator"]
    assert found.verdict is None


def test_iterators_that_have_come_to_their_ends_in_all_arms_are_a_warning(clock: FakeClock) -> None:
    def add(values: Any) -> Step:
        return lambda: (clock.advance(1e-3), float(sum(values)))[1]

    found = accelbench.compare({"one": add(iter([1, 2])), "other": add(iter([1, 2]))}, budget_s=0.1)
    assert any(each.startswith("the second output of 'one' is empty or zero") for each in found.warnings)


class Training:
    """A step whose output goes on from its last state."""

    def __init__(self, clock: FakeClock, rate: float) -> None:
        self.clock, self.rate, self.weights = clock, rate, np.ones(3)

    def step(self) -> float:
        self.clock.advance(1e-3)
        self.weights = self.weights * (1 - self.rate)
        return float(self.weights.sum())


@pytest.mark.parametrize("rebuild", [False, True], ids=["copied", "rebuilt"])
def test_what_goes_on_from_its_last_state_is_compared_for_two_calls_from_the_same_start(
    clock: FakeClock, rebuild: bool
) -> None:
    def arm(rate: float) -> Step:
        return (lambda: Training(clock, rate).step) if rebuild else Training(clock, rate).step

    arms = {"one": arm(0.1), "same": arm(0.1), "other": arm(0.11)}
    found = accelbench.compare(arms, budget_s=0.3, rebuild=rebuild)
    assert found["same"].verdict == "same"
    assert found["other"].verdict is None
    assert found["other"].reason.startswith("the output differs from the baseline's by 0.02")
    assert "outputs were compared for the first two calls only, since the baseline goes on from its last state" in (
        found.warnings
    )


def test_arms_that_draw_random_numbers_are_not_accused_and_the_ways_out_are_named(clock: FakeClock) -> None:
    def draw(generator: np.random.Generator) -> Step:
        return lambda: (clock.advance(1e-3), generator.random(9))[1]

    found = accelbench.compare(
        {"one": draw(np.random.default_rng()), "two": draw(np.random.default_rng())}, budget_s=0.1
    )
    assert found["two"].verdict
    (warning,) = (each for each in found.warnings if "draws random numbers" in each)
    assert "start from the same seed and data" in warning
    assert "verify=" in warning


def test_a_candidate_that_draws_random_numbers_is_told_so(clock: FakeClock) -> None:
    arms = {"right": right(clock), "random": quick(lambda: np.random.default_rng().random(1000), clock)}
    assert "it differs from call to call, as where it draws random numbers" in (
        accelbench.compare(arms, budget_s=0.1)["random"].reason
    )


def test_random_outputs_pass_where_verify_accepts_them(clock: FakeClock) -> None:
    arms = {
        "one": quick(lambda: np.random.default_rng().random(10_000), clock),
        "two": quick(lambda: np.random.default_rng().random(10_000), clock),
        "biased": quick(lambda: np.random.default_rng().random(10_000) / 2, clock),
    }
    found = accelbench.compare(arms, budget_s=0.3, verify=lambda output: abs(output[0].mean() - 0.5) < 0.05)
    assert found["two"].verdict
    assert (found["biased"].verdict, found["biased"].reason) == (None, "verify did not accept the output")
    assert not any("compared" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("the energy grew", "the energy grew"),
        (np.False_, "verify did not accept the output"),
        (3, "verify returned an object of type int; expected None or True if the output is right"),
    ],
)
def test_what_verify_objects_to_has_no_speed(clock: FakeClock, answer: object, reason: str) -> None:
    with pytest.raises(BadInput, match=f"the baseline 'one' has no speed: {reason}"):
        accelbench.compare({"one": right(clock), "two": right(clock)}, budget_s=0.1, verify=lambda _: answer)


@pytest.mark.parametrize("by_value", [True, False])
def test_an_arm_that_only_returns_what_another_one_has_written_has_no_speed(clock: FakeClock, by_value: bool) -> None:
    room = np.zeros(1000)
    arms = {"writes": quick(lambda: np.multiply(VALUES, VALUES, out=room), clock), "reads": quick(lambda: room, clock)}
    found = accelbench.compare(arms, budget_s=0.1, by_value=by_value)["reads"]
    assert found.verdict is None
    assert found.reason.startswith("the arm returned memory that 'writes' writes, and does not write it itself")


@pytest.mark.parametrize("by_value", [True, False])
def test_arms_may_write_to_the_same_array(clock: FakeClock, by_value: bool) -> None:
    room = np.zeros(1000)
    arms = {
        "product": quick(lambda: np.multiply(VALUES, VALUES, out=room), clock),
        "power": quick(lambda: np.power(VALUES, 2, out=room), clock),
    }
    found = accelbench.compare(arms, budget_s=0.1, by_value=by_value)
    assert found["power"].verdict == "same"
    assert not any("memory" in warning for warning in found.warnings)


@pytest.mark.parametrize("by_value", [True, False])
def test_a_finished_answer_is_a_warning_and_the_users_data_stay_as_they_are(clock: FakeClock, by_value: bool) -> None:
    answer = VALUES * VALUES
    before = answer.copy()
    arms = {"right": right(clock), "remembers": quick(lambda: answer[:], clock)}
    found = accelbench.compare(arms, budget_s=0.1, by_value=by_value)
    assert any(each.startswith("'remembers': each call returns the same memory") for each in found.warnings)
    assert np.array_equal(answer, before)


def test_another_precision_is_a_warning(clock: FakeClock) -> None:
    single = VALUES.astype(np.float32)
    found = accelbench.compare({"right": right(clock), "single": quick(lambda: single * single, clock)}, budget_s=0.1)
    assert found["single"].verdict == "faster"
    assert "'single': the output is float32, the baseline's is float64" in found.warnings


@pytest.mark.parametrize("answer", [lambda: VALUES[:9] ** 2, lambda: VALUES[:, None] ** 2, lambda: VALUES**2 * np.nan])
def test_another_shape_and_nan_are_wrong(clock: FakeClock, answer: Step) -> None:
    assert (
        accelbench.compare({"right": right(clock), "other": quick(answer, clock)}, budget_s=0.1)["other"].verdict
        is None
    )


class PingPong:
    """A step that writes to two arrays in turn."""

    def __init__(self) -> None:
        self.rooms = [np.empty(1000), np.empty(1000)]

    def __call__(self) -> Any:
        self.rooms.reverse()
        return np.multiply(VALUES, 2, out=self.rooms[0])


class Reusing:
    """A step that always writes to the same array, of a type without a dictionary."""

    __slots__ = ("room",)

    def __init__(self) -> None:
        self.room = np.empty(1000)

    def __call__(self) -> Any:
        return np.sqrt(VALUES, out=self.room)


NUMBERS = VALUES[:50].tolist()
HONEST: dict[str, tuple[Step, Step]] = {
    "mapping": (
        lambda: {"sum": VALUES.sum(), "mean": VALUES.mean()},
        lambda: {"sum": np.sum(VALUES), "mean": np.mean(VALUES)},
    ),
    "tuple": (lambda: np.divmod(VALUES, 0.3), lambda: (VALUES // 0.3, np.mod(VALUES, 0.3))),
    "complex numbers": (lambda: np.fft.fft(VALUES), lambda: np.fft.fft(VALUES.astype(complex))),
    "mask": (lambda: VALUES > 0.5, lambda: np.greater(VALUES, 0.5)),
    "numbers": (lambda: sum(NUMBERS), lambda: math.fsum(NUMBERS)),
    "list of numbers": (lambda: [each * 2 for each in NUMBERS], lambda: [each + each for each in NUMBERS]),
    "one array for every call": (Reusing(), Reusing()),
    "two arrays in turn": (PingPong(), PingPong()),
    "generator of random numbers made inside": (
        lambda: np.random.default_rng(3).random(9),
        lambda: np.random.default_rng(3).random(9),
    ),
    "partial functions": (functools.partial(np.square, VALUES), functools.partial(np.multiply, VALUES, VALUES)),
    "methods of an array": (VALUES.cumsum, functools.partial(np.add.accumulate, VALUES)),
    "generator read inside": (
        lambda: sum(each * each for each in NUMBERS),
        lambda: sum([each * each for each in NUMBERS]),
    ),
    "iterator made inside": (lambda: sum(iter(NUMBERS)), lambda: sum(NUMBERS)),
    "copied slice": (lambda: VALUES[::2].copy(), lambda: np.ascontiguousarray(VALUES[::2])),
}


@pytest.mark.slow
@pytest.mark.parametrize("by_value", [True, False], ids=["copied", "as they are"])
@pytest.mark.parametrize("kind", HONEST)
def test_honest_arms_are_neither_refused_nor_doubted(clock: FakeClock, kind: str, by_value: bool) -> None:
    one, other = HONEST[kind]
    found = accelbench.compare(
        {"one": quick(one, clock), "other": quick(other, clock)}, budget_s=0.05, by_value=by_value
    )
    assert found["other"].verdict, found["other"].reason
    assert not [each for each in found.warnings if "'one'" in each or "'other'" in each or "compared" in each]


def test_the_same_function_twice_is_the_same(clock: FakeClock) -> None:
    step = right(clock)
    assert accelbench.compare({"one": step, "two": step}, budget_s=0.3)["two"].verdict == "same"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            {"arms": [random.random, random.random]},
            "needs a mapping from names to functions, got a list; as in compare({'loop': loop, 'product': product})",
        ),
        ({"arms": (right, generate)}, "got a tuple; as in compare({'right': right, 'generate': generate})"),
        ({"arms": random.random}, "needs a mapping from names to functions, got a builtin_function_or_method"),
        ({"arms": {1: random.random, 2: random.random}}, "an arm is named 1; expected a text that is not empty"),
        ({"arms": {" ": random.random, "b": random.random}}, "an arm is named ' '"),
        ({"arms": {"a": random.random, "b": wait}}, "arm 'b' is an async function"),
        ({"arms": {"a": random.random, "b": lambda x: x}}, "arm 'b' needs the argument x"),
        ({"arms": {"a": lambda: right, "b": generate}, "rebuild": True}, "arm 'b' is a generator function"),
        (
            {"arms": {"a": lambda: right, "b": lambda: 1}, "rebuild": True},
            "what arm 'a' returned needs the argument clock",
        ),
        ({"items": 3}, "items must be a mapping from names of arms to numbers, got 3"),
        ({"items": {"a": "3"}}, "items of 'a' must be above 0 and finite, got '3'"),
        ({"items": {"a": float("inf")}}, "items of 'a' must be above 0 and finite, got inf"),
        ({"budget_s": "2"}, "budget_s must be a number, got '2'"),
        ({"tolerance": True}, "tolerance must be a number, got True"),
        ({"verify": 3}, "verify is not callable, got 3; give a function of the arrays of an output"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(arguments: dict[str, Any], line: str) -> None:
    with pytest.raises(BadInput) as caught:
        accelbench.compare(**{"arms": {"a": random.random, "b": random.random}, **arguments})
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_coroutine_that_was_called_is_not_left_unawaited(clock: FakeClock) -> None:
    found = accelbench.compare({"right": right(clock), "waits": lambda: asyncio.sleep(1)}, budget_s=0.1)
    assert "must" not in found["waits"].reason
    assert found["waits"].verdict is None


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> FakeDevice:
    """An asynchronous device that takes the place of CuPy's adapter."""
    device = FakeDevice(clock)
    load("cupy").switches()  # it finds the package before another one takes its place
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    monkeypatch.setattr(first_calls, "load", lambda name: device if name == "cupy" else load(name))
    return device


class Array(np.ndarray):
    """An array of a type that CuPy defines."""

    __module__ = "cupy"


def launching(device: FakeDevice, seconds: float, returned: Any) -> Step:
    def step() -> Any:
        device.launch(seconds)
        return returned

    return step


@pytest.mark.parametrize("shows", ["the output", "what it holds"])
def test_the_device_of_the_arrays_is_synchronised_around_every_block(device: FakeDevice, shows: str) -> None:
    array = np.ones(3).view(Array)

    def arm(seconds: float) -> Step:
        if shows == "the output":
            return launching(device, seconds, array)

        def step() -> float:
            device.launch(seconds)
            return float(len(array))

        return step

    found = accelbench.compare({"long": arm(3e-3), "short": arm(1e-3)}, budget_s=0.5, by_value=False)
    assert found["short"].speedup == pytest.approx(3, rel=0.01)
    assert found.per_item_s["long"] == pytest.approx(3e-3, rel=0.01)


def test_arrays_of_two_frameworks_are_refused_with_the_way_out(
    device: FakeDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tensor(np.ndarray):
        """A tensor of a type that PyTorch defines."""

        __module__ = "torch"

    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    for module in (first_calls, process_state):
        monkeypatch.setattr(module, "load", lambda name: device if name in ("cupy", "torch") else load(name))
    arms = {
        "one": launching(device, 1e-3, np.ones(3).view(Array)),
        "other": launching(device, 1e-3, np.ones(3).view(Tensor)),
    }
    with pytest.raises(BadInput, match="the arms return arrays of cupy and torch; name one of them as framework="):
        accelbench.compare(arms, budget_s=0.1)


@pytest.mark.parametrize("kind", ["tensor", "tensor of the user's own type", "parameter"])
def test_a_tensor_selects_its_adapter_by_its_type_wherever_it_lies(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    torch = pytest.importorskip("torch")

    class Own(torch.Tensor):  # type: ignore[misc, name-defined]
        """A tensor of the user's own type, as libraries of images have."""

    numbers = [1.0, 2.0, 3.0]

    def step() -> Any:
        tensor = np.multiply(numbers, 2)
        made = torch.from_numpy(tensor)
        return {"tensor": made, "parameter": torch.nn.Parameter(made)}.get(kind, made.as_subclass(Own))

    chosen: list[str] = []
    monkeypatch.setattr(compare, "Trial", lambda **trial: (chosen.append(trial["framework"]), Trial(**trial))[1])
    accelbench.compare({"one": step, "two": step}, budget_s=0.05, by_value=False)
    assert chosen == ["torch"]


def test_a_model_that_an_arm_holds_selects_its_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    chosen: list[str] = []
    monkeypatch.setattr(compare, "Trial", lambda **trial: (chosen.append(trial["framework"]), Trial(**trial))[1])

    class Own(torch.nn.Module):  # type: ignore[misc, name-defined]
        """A model of the user's own type."""

        def forward(self, values: Any) -> Any:
            return values * 2

    model, values = Own(), torch.ones(3)
    accelbench.compare({"one": lambda: float(model(values).sum()), "two": lambda: 6.0}, budget_s=0.1)
    assert chosen == ["torch"]


def test_a_framework_that_is_unknown_is_named(clock: FakeClock) -> None:
    class Function:
        """A compiled function of a library without an adapter."""

        __module__ = "jaxlib.xla_extension"

        def __call__(self) -> float:
            clock.advance(1e-3)
            return 6.0

        def __reduce__(self) -> str:
            raise TypeError("stays where it is")

    jitted = Function()
    arms = {"one": lambda: {}.get(jitted()), "two": quick(lambda: None, clock)}
    found = accelbench.compare(arms, budget_s=0.1, tolerance=None)
    assert any(
        each.startswith("'one' uses jaxlib, for whose devices accelbench cannot wait") for each in found.warnings
    )


def test_a_disturbed_machine_is_a_warning_of_the_result(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_: Collection[str]) -> Snapshot:
        slow = 1.0 if clock() < 0.4 else 2.0
        return Snapshot(
            at_s=clock(), cores=2, own_cpu_s=clock(), busy_cpu_s=clock(), arithmetic_s=5e-6 * slow, memory_s=3e-5
        )

    monkeypatch.setattr(compare, "InterferenceMonitor", lambda clock, _: InterferenceMonitor(clock, read))
    weather = random.Random(1)

    def step() -> Any:
        clock.advance(1e-3 * weather.lognormvariate(0, 0.2))
        return VALUES * VALUES

    found = accelbench.compare({"one": step, "other": step}, budget_s=1.0, by_value=False)
    assert any("of the timing was disturbed (the processor was 2.0 times slower)" in each for each in found.warnings)


def test_an_arm_that_works_only_in_the_first_call_of_each_copy_is_flagged(clock: FakeClock) -> None:
    class Remembering:
        """A step that keeps its answer."""

        answer: Any = None

        def __call__(self) -> Any:
            clock.advance(1e-6)
            if self.answer is None:
                clock.advance(1e-3)
                self.answer = VALUES * VALUES
            return self.answer.copy()

    found = accelbench.compare({"right": right(clock), "remembers": Remembering()}, budget_s=0.3)
    assert any(
        each.startswith("remembers: the first call after each build takes 1001 times as long as later ones")
        for each in found.warnings
    )
    usual = accelbench.compare({"right": right(clock), "too": right(clock)}, budget_s=0.3)
    assert not any("first call" in each for each in usual.warnings)


def compared(clock: FakeClock, baseline: Step, candidate: Step, **arguments: Any) -> compare.Comparison:
    """Compare two callables, each of whose calls takes a millisecond."""

    def timed(step: Step) -> Step:
        return lambda: (clock.advance(1e-3), step())[1]

    arms = {"baseline": timed(baseline), "candidate": timed(candidate)}
    return accelbench.compare(arms, budget_s=0.1, **arguments)


TABLE = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
MIXED: dict[Any, Any] = {"a": 1.0, 2: 2.0, None: 3.0, ("b", 1): 4.0}


@pytest.mark.parametrize(
    ("baseline", "candidate"),
    [
        ({"x": 1.0, "y": [2.0]}, {"y": [2.0], "x": 1.0}),
        ([{"x": {"a": 1.0, "b": 2.0}}], [{"x": {"b": 2.0, "a": 1.0}}]),
        (MIXED, dict(reversed(MIXED.items()))),
        ({0.3: 1.0, 0.5: 2.0}, {0.5: 2.0, 0.1 + 0.2: 1.0}),
        (TABLE, TABLE.copy()),
        (TABLE["x"], TABLE["x"].to_numpy()),
        (TABLE["x"], TABLE["x"].rename("z")),
        (pd.Series([1.0], [0.3]), pd.Series([1.0], [0.1 + 0.2])),
        (pd.Series([1.0], pd.period_range("2026", periods=1)), pd.Series([1.0], pd.period_range("2026", periods=1))),
        ([1.0, 4.0, 9.0], np.array([1.0, 4.0, 9.0])),
        (np.array([[1j, 2.0]]), [[1j, 2 + 0j]]),
        ([["a", "b"], ["c", "d"]], np.array([["a", "b"], ["c", "d"]])),
        ([[1, 2], (3, None)], ([1, 2], [3, None])),
        ([np.ones(2), 1.0], [[1.0, 1.0], 1.0]),
        (pd.Series(["a", None]), pd.Series(["a", None])),
        (np.array(["a", math.nan, None], object), np.array(["a", math.nan, None], object)),
    ],
)
def test_equal_outputs_in_other_containers_have_a_speed(clock: FakeClock, baseline: Any, candidate: Any) -> None:
    found = compared(clock, lambda: baseline, lambda: candidate)
    assert found["candidate"].verdict == "same", found["candidate"].reason


@pytest.mark.parametrize(
    ("baseline", "candidate", "reason"),
    [
        (
            {"x": 1.0, "y": 2.0},
            {"p": 1.0, "q": 2.0},
            "the output lacks the keys 'x' and 'y' of the baseline's, and has the keys 'p' and 'q' instead",
        ),
        ([{"x": 1.0}], [{"x": 1.0, "y": None}], "the output has the key 'y', and the baseline's has not"),
        ({1: 1.0, "a": 2.0}, {2: 1.0, "a": 2.0}, "the output lacks the key 1 of the baseline's, and has the key 2"),
        ({1000: 1.0}, {1001: 1.0}, "the output lacks the key 1000 of the baseline's"),
        (
            TABLE,
            TABLE.rename(columns={"y": "z"}),
            "the output lacks the column 'y' of the baseline's, and has the column 'z' instead",
        ),
        (TABLE, TABLE.set_index(pd.Index([7, 8])), "the output has another index than the baseline's"),
        (TABLE["x"], TABLE["x"].set_axis(["a", "b"]), "the output has another index than the baseline's"),
        (
            {"x": 1.0, "y": 2.0},
            (1.0, 2.0),
            "the output has a tuple where the baseline's has a dict; return the same",
        ),
        (
            np.array([(1.0, 2.0)], [("x", float), ("y", float)]),
            np.array([(1.0, 2.0)], [("x", float), ("z", float)]),
            "the output lacks the field 'y' of the baseline's",
        ),
        ([[1, 2], [3]], [[1], [2, 3]], "the output is nested in another way than the baseline's"),
        ({"x": [], "y": [1, 2]}, {"x": [1, 2], "y": []}, "the output is nested in another way than the baseline's"),
        ([("a", 1), ("b", 2)], ["a", 1, "b", 2], "the output is nested in another way than the baseline's"),
    ],
)
def test_other_names_and_another_nesting_are_another_output(
    clock: FakeClock, baseline: Any, candidate: Any, reason: str
) -> None:
    found = compared(clock, lambda: baseline, lambda: candidate)["candidate"]
    assert found.verdict is None
    assert found.reason.startswith(reason)
    assert "tolerance" not in found.reason


@pytest.mark.parametrize(
    ("baseline", "candidate"),
    [
        ([1, None, 3], [None, 1, 3]),
        ([1, None], [1]),
        (np.array(["a", None], object), np.array(["a", math.nan], object)),
        (pd.DataFrame({"x": ["a", None]}), pd.DataFrame({"x": ["a", "b"]})),
    ],
)
def test_what_is_missing_must_be_missing_in_the_same_place(clock: FakeClock, baseline: Any, candidate: Any) -> None:
    found = compared(clock, lambda: baseline, lambda: candidate)["candidate"]
    assert found.verdict is None
    assert found.reason.startswith("the output")


def test_an_answer_from_a_cache_of_functools_is_said_to_be_one(clock: FakeClock) -> None:
    @functools.cache
    def remembered(number: int) -> float:
        clock.advance(1e-3)
        return float(number)

    found = compared(clock, lambda: 7.0, lambda: remembered(7))
    assert any(
        warning.startswith("'candidate': later calls find their answer in a cache") for warning in found.warnings
    )
    assert not any("cache" in warning for warning in compared(clock, lambda: 7.0, lambda: 7.0).warnings)


def test_a_list_of_numpys_numbers_that_is_sorted_in_place_is_named(clock: FakeClock) -> None:
    numbers = list(np.random.default_rng(0).random(9))

    def sort_in_place() -> list[Any]:
        numbers.sort()
        return numbers

    expected = sorted(numbers)
    found = compared(clock, lambda: expected, sort_in_place)
    assert any("'candidate' changes the list that it holds" in warning for warning in found.warnings)


def test_a_wrong_call_inside_a_callable_is_not_blamed_on_how_it_is_called(clock: FakeClock) -> None:
    def helper(number: int) -> int:
        return number

    reason = compared(clock, lambda: 7, lambda: helper())["candidate"].reason  # type: ignore[call-arg]
    assert "missing 1 required positional argument" in reason
    assert "arms are called without arguments" not in reason


def test_other_keys_are_seen_where_outputs_go_on_from_the_last_state(clock: FakeClock) -> None:
    def counting(name: str) -> Step:
        state = np.zeros(1)

        def step() -> dict[str, float]:
            state[0] += 1
            return {name: float(state[0])}

        return step

    assert compared(clock, counting("x"), counting("x"))["candidate"].verdict == "same"
    assert "lacks the key 'x'" in compared(clock, counting("x"), counting("y"))["candidate"].reason


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (np.ones((3, 1)), "the output has the shape (3, 1), and the baseline's has the shape (3,)"),
        ([1.0, 1.0], "the output has 2 values, and the baseline's has the shape (3,)"),
        (["a", "b", "c"], "the output differs from the baseline's by inf relative"),
    ],
)
def test_no_tolerance_is_offered_where_none_would_help(clock: FakeClock, candidate: Any, reason: str) -> None:
    found = compared(clock, lambda: np.ones(3), lambda: candidate)["candidate"]
    assert found.reason.startswith(reason)
    assert "tolerance=" not in found.reason
    assert "tolerance= allows more" in compared(clock, lambda: np.ones(3), lambda: np.ones(3) * 2)["candidate"].reason


SHUFFLED = random.Random(1).sample(range(1000), 100)


def sorted_in_place(data: list[int]) -> list[int]:
    data.sort()
    return data


def emptied(data: Any) -> int:
    total = 0
    while data:
        total += data.popitem()[1] if isinstance(data, dict) else data.pop()
    return total


def warnings_of_changes(found: compare.Comparison) -> list[str]:
    return [each for each in found.warnings if "that it holds" in each]


@pytest.mark.parametrize("by_value", [True, False])
def test_a_callable_that_changes_its_data_is_named_with_the_way_out(clock: FakeClock, by_value: bool) -> None:
    data = SHUFFLED.copy()
    (warning,) = warnings_of_changes(
        compared(clock, lambda: sorted(data), functools.partial(sorted_in_place, data), by_value=by_value)
    )
    assert warning == (
        "'candidate' changes the list that it holds, so its timed calls work on what earlier calls left: let every arm "
        "copy the data inside its function, or make fresh data there"
    )


@pytest.mark.parametrize(
    "data",
    [
        SHUFFLED,
        dict.fromkeys(range(9), 1),
        deque(SHUFFLED),
        {*SHUFFLED},
        bytearray(SHUFFLED[0] % 256 for _ in range(9)),
        [5],
    ],
)
def test_emptied_containers_are_seen_in_the_baseline_too(clock: FakeClock, data: Any) -> None:
    held = type(data)(data)
    found = compared(clock, lambda: emptied(held), lambda: 1, tolerance=None)
    assert warnings_of_changes(found)[0].startswith(f"'baseline' changes the {type(data).__name__} that it holds")


def test_data_that_a_rebuilt_arm_changes_are_seen(clock: FakeClock) -> None:
    def prepare(step: Callable[[list[int]], Any]) -> Step:
        data = SHUFFLED.copy()
        return lambda: (clock.advance(1e-3), step(data))[1]

    arms = {"copies": functools.partial(prepare, sorted), "in place": functools.partial(prepare, sorted_in_place)}
    (warning,) = warnings_of_changes(accelbench.compare(arms, budget_s=0.1, rebuild=True))
    assert warning.startswith("'in place' changes the list")


class Particle:
    """An object that cannot be pickled."""

    def __reduce__(self) -> str:
        raise TypeError


def test_honest_callables_are_not_said_to_change_their_data(clock: FakeClock) -> None:
    room, arrays, cache, log = [0] * 100, [np.zeros(3), np.ones(3)], dict[int, int](), list[int]()
    recent = {"a": 1, "b": 2}
    unknown, large = [Particle()], [1.5] * 4_000_000 + [0]

    def writes() -> list[int]:
        room[:] = sorted(SHUFFLED)
        arrays.reverse()
        arrays[0][:] = 7
        cache[1] = 2
        log.append(1)
        recent["a"] = recent.pop("a")  # moves it to the end
        unknown.append(unknown[0])
        large.reverse()
        return room

    assert not warnings_of_changes(compared(clock, lambda: sorted(SHUFFLED.copy()), writes, by_value=False))
