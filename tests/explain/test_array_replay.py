"""The operations of an array program, done again without its Python, compute the same in less time."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench import ArrayProgram
from accelbench.core import Setting
from accelbench.errors import Unavailable
from accelbench.explain.array_replay import build_without, record_operations

START = np.random.default_rng(0).random((6, 6))


def replayed(step, *arrays):
    """Return what a step computes, and what its operations do again with other arrays of the same shapes."""
    replay = record_operations(step, np, arrays)
    others = [each + 1 if isinstance(each, np.ndarray) else each for each in arrays]
    return step(np, *(np.copy(each) for each in others)), replay(*(np.copy(each) for each in others))


OPERATIONS = {
    "operators": lambda _, x: -((x @ x) ** 2) / (1 + abs(x)) - x % 0.3,
    "functions": lambda xp, x: xp.where(x > 0.5, xp.concatenate([x[:3], x[3:] * 2]), xp.tensordot(x, x, axes=1)),
    "methods": lambda _, x: x.astype("float32").cumsum(axis=0).T.reshape(4, 9).copy().take([3, 1], axis=1),
    "parts": lambda _, x: x[1:-1, ::2] + x[[0, 1, 2, 3]][:, 2:5] + x[x.argmax(axis=0)[:4], :3],
    "new arrays": lambda xp, x: xp.zeros((6, 6)) + xp.eye(6) * x + xp.asarray(x.real, dtype="float32"),
    "several results": lambda xp, x: [part * 2 for part in xp.divmod(x, 0.3)] + list(xp.linalg.svd(x)),
    "reductions": lambda xp, x: (xp.sum(x, axis=0), x.mean(axis=1), x.max(axis=0, keepdims=True)),
    "rows": lambda xp, x: xp.stack([row * number for number, row in enumerate(x)]),
    "nan": lambda xp, x: xp.log(x - 1.5),
}


@pytest.mark.parametrize("step", OPERATIONS.values(), ids=OPERATIONS)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_is_done_again_follows_the_arrays_that_it_is_given(step):
    for expected, found in zip(*replayed(step, START), strict=True):
        np.testing.assert_array_equal(found, expected)


def write(xp, array, other):
    """Write into arrays, in every way."""
    array += other
    array[1:, 0] = other[1:, 0] * 2
    array[array > 1.5] = 0.25
    xp.multiply(array, 3.0, out=array)
    xp.add.at(array, (0, [1, 1]), 1.0)
    view = array.T[2:4]
    view -= 1
    other.fill(7.0)
    other.sort(axis=0)
    return array, other


def test_what_is_written_is_written_again():
    replay = record_operations(write, np, (START, START.T))
    given_, expected = (np.copy(START), np.copy(START.T)), (np.copy(START), np.copy(START.T))
    write(np, *expected)
    replay(*given_)
    for found, right in zip(given_, expected, strict=True):
        np.testing.assert_array_equal(found, right)


@given(st.lists(st.tuples(st.sampled_from(["add", "multiply", "matmul", "maximum"]), st.integers(), st.integers())))
@settings(max_examples=30)
def test_any_order_of_operations_on_any_earlier_results_is_done_again(chosen):
    def step(xp, first, second):
        made = [first, second]
        for name, left, right in chosen:
            made.append(getattr(xp, name)(made[left % len(made)], made[right % len(made)]) / 8)
        return made

    for expected, found in zip(*replayed(step, START, START.T), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_python_between_the_operations_is_not_done_again():
    calls = []

    def step(_, array):
        calls.append(None)
        total = sum(float(array[place, place]) for place in range(6))
        return array / total

    replay = record_operations(step, np, (START,))
    calls.clear()
    np.testing.assert_array_equal(replay(START), START / np.trace(START))
    assert not calls


def test_an_array_is_dropped_after_its_last_use():
    def step(_, array):
        for _round in range(50):
            array = array + 1
        return array

    large = np.zeros(100_000)
    replay = record_operations(step, np, (large,))
    tracemalloc.start()
    replay(large)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * large.nbytes


def test_a_program_that_takes_an_array_out_of_what_records_says_so():
    with pytest.raises(Unavailable, match="takes an array out"):
        record_operations(lambda _, x: np.asarray(x)[1:] + x[1:], np, (START,))


def test_a_program_whose_operations_give_another_result_says_so():
    def step(_, x):
        x.setflags(write=True)
        np.asarray(x)[0] = 5.0  # past everything that records
        return x * 2

    with pytest.raises(Unavailable, match="give another result"):
        record_operations(step, np, (START.copy(),))


def test_a_program_of_too_many_operations_says_so(monkeypatch):
    monkeypatch.setattr("accelbench.explain.array_replay.MOST_OPERATIONS", 3)
    with pytest.raises(Unavailable, match="more than 3 array operations"):
        record_operations(lambda _, x: x + 1 + 2 + 3 + 4, np, (START,))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_arm_without_python_computes_what_the_program_does(dtype):
    def build() -> ArrayProgram:
        return ArrayProgram(step=write, arrays=(START, START.T), items=36)

    arms = [
        build_without(build, Setting(), array_library="numpy", dtype=dtype, taken_off=taken_off)
        for taken_off in ("none", "interpreter")
    ]
    for _ in range(2):  # each step begins with the arrays of the first
        for one, other in zip(*(arm.step() for arm in arms), strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == dtype


WEIGHTS = np.arange(6.0)


@pytest.mark.parametrize(
    "step",
    [
        lambda _, x: x + np.linspace(0.0, 1.0, 6),
        lambda _, x: x * np.random.default_rng(0).random((6, 6)).cumsum(axis=0),
        lambda _, x: np.maximum(x, (WEIGHTS + 1)[None]),
        lambda xp, x: x.copy() + xp.random.default_rng(0).random(6),
        lambda _, x: (x * 2, np.ones(3)),
    ],
    ids=["grid", "random numbers", "of an own array", "random numbers of xp", "in the output"],
)
def test_a_step_that_makes_arrays_past_the_recording_says_so(step):
    with pytest.raises(Unavailable, match="makes arrays by other means than its xp"):
        record_operations(step, np, (START,))


def test_the_arrays_that_a_program_has_from_the_beginning_are_no_such_arrays():
    for expected, found in zip(*replayed(lambda _, x: x * WEIGHTS + WEIGHTS[None, ::-1], START), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_step_that_computes_a_number_past_the_recording_says_so():
    with pytest.raises(Unavailable, match="spends time in functions that no array records"):
        record_operations(lambda _, x: x * np.random.default_rng(0).random(1_000_000).mean(), np, (START,))


def test_lines_of_python_that_take_all_the_time_are_left_out():
    def step(_, x):
        total = 0.0
        for number in range(20_000):
            total += number * 1e-9
        return x + total

    replay = record_operations(step, np, (START,))
    np.testing.assert_array_equal(replay(START), step(np, START))


@pytest.mark.parametrize(
    ("step", "ignores"),
    [(lambda _, x: x + np.random.default_rng().random(6), True), (lambda _, x: x * 2, False)],
    ids=["random", "repeatable"],
)
def test_the_output_of_a_program_as_it_stands_is_compared_unless_it_is_random(step, ignores):
    arm = build_without(
        lambda: ArrayProgram(step=step, arrays=(START,)),
        Setting(),
        array_library="numpy",
        dtype="float64",
        taken_off="none",
    )
    assert arm.ignore_output == ignores
