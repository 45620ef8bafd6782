"""Callables copied by value: a copy computes the same on memory of its own, or is refused in a sentence."""

import io
import mmap
import multiprocessing.pool
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from accelbench.measuring import by_value
from accelbench.measuring.by_value import Prototype, UncopyableError

DTYPES = st.sampled_from(["f8", "f4", "c16", "i2", "?", "M8[s]", "S3", [("x", "f8"), ("n", "i4")]])
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
TABLE = np.arange(12.0).reshape(3, 4)  # a global of this module


def filled(shape: tuple[int, ...], dtype: Any, order: str) -> np.ndarray:
    size = np.dtype(dtype).itemsize * int(np.prod(shape))
    memory = np.random.default_rng(0).integers(0, 2, size, np.uint8)
    return np.ndarray(shape, dtype, memory, order=order).copy(order=order)  # type: ignore[call-overload,no-any-return]


@given(SHAPES, DTYPES, st.sampled_from("CF"), st.booleans(), st.data())
def test_arrays_and_their_views_keep_values_layout_and_the_memory_that_they_share(
    shape: tuple[int, ...], dtype: Any, order: str, writeable: bool, data: st.DataObject
) -> None:
    array = filled(shape, dtype, order)
    view = array[data.draw(hnp.basic_indices(shape, allow_newaxis=True))].T if shape else array.reshape(1)
    if isinstance(view, np.ndarray):
        view.flags.writeable = writeable
    copied, copied_view = Prototype(lambda: (array, view)).copy()()
    for before, after in ((array, copied), (view, copied_view)):
        np.testing.assert_array_equal(before, after)
        assert before.dtype == after.dtype
        if isinstance(before, np.ndarray) and before.size:
            assert (before.strides, before.flags.writeable) == (after.strides, after.flags.writeable)
        assert not np.shares_memory(before, after)
    if isinstance(view, np.ndarray):  # a single record is copied as a value
        assert np.shares_memory(array, view) == np.shares_memory(copied, copied_view)


@given(hnp.arrays("f8", hnp.array_shapes(max_dims=2), elements=st.integers(-9, 9).map(float)))
def test_a_copy_starts_as_the_callable_was_whatever_callable_and_copies_did_since(values: np.ndarray) -> None:
    start = values.copy()

    def step() -> np.ndarray:
        nonlocal values
        values += 1
        return values

    prototype = Prototype(step)
    step()
    for _ in range(2):
        copied = prototype.copy()
        np.testing.assert_array_equal(copied(), start + 1)
        np.testing.assert_array_equal(copied(), start + 2)


class Counter:
    """A callable with a state."""

    def __init__(self) -> None:
        self.counts = np.zeros(3)

    def step(self) -> np.ndarray:
        self.counts += 1
        return self.counts.copy()

    __call__ = step


def closure() -> Callable[[], np.ndarray]:
    left, right = TABLE.copy(), TABLE[::2, ::-1]
    return lambda: left[::2] + right


def sum_of_table() -> float:
    return float(TABLE.sum())


def numbers() -> Callable[[], int]:
    counted = count(3)
    return lambda: next(counted)


def own_generator() -> Callable[[], float]:
    return np.random.default_rng(5).random


CALLABLES: dict[str, Callable[[], Callable[[], Any]]] = {
    "closure": closure,
    "global": lambda: sum_of_table,
    "partial": lambda: partial(np.matmul, TABLE, TABLE.T),
    "bound method": lambda: Counter().step,
    "object": Counter,
    "method of an array": lambda: TABLE.T.sum,
    "iterator": numbers,
    "random generator": own_generator,
    "list of lists": lambda: partial(sorted, [[3, 1], [2, 5]]),
    "stream in memory": lambda: io.BytesIO(b"abc").read,
}


@pytest.mark.parametrize("kind", CALLABLES)
def test_every_usual_kind_of_callable_is_copied(kind: str) -> None:
    original = CALLABLES[kind]()
    prototype = Prototype(original)
    np.testing.assert_array_equal(prototype.copy()(), original())
    np.testing.assert_array_equal(prototype.copy()(), prototype.copy()())


def test_the_globals_of_the_users_own_module_are_copied_with_the_function() -> None:
    table = Prototype(lambda: TABLE).copy()()
    assert not np.shares_memory(table, TABLE)


def test_the_class_of_a_copied_object_is_the_same_class() -> None:
    counter = Counter()
    assert type(Prototype(lambda: counter).copy()()) is Counter


def refused(kind: str, folder: Path) -> Any:
    path = folder / "data"
    path.write_bytes(bytes(8000))
    if kind == "mapped":
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    made: dict[str, Callable[[], Any]] = {
        "generator": lambda: (each for each in range(3)),
        "lock": threading.Lock,
        "condition": threading.Condition,
        "event": threading.Event,
        "executor": lambda: ThreadPoolExecutor(1),
        "pool": lambda: multiprocessing.pool.ThreadPool(1),
        "memmap": lambda: np.memmap(path, mode="r"),
        "view of a memmap": lambda: np.memmap(path, mode="r")[3:].view(np.ndarray),
        "array on a map": lambda: np.frombuffer(refused("mapped", folder), np.uint8),
        "file": lambda: path.open("rb"),
        "text file": path.open,
    }
    return made[kind]()


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("generator", "holds a generator"),
        ("lock", "holds a lock"),
        ("condition", "holds a lock"),
        ("event", "holds a lock"),
        ("executor", "holds a pool of workers"),
        ("pool", "holds a pool of workers"),
        ("mapped", "holds a memory map"),
        ("memmap", "holds a memory map"),
        ("view of a memmap", "holds a memory map"),
        ("array on a map", "holds a memory map"),
        ("file", "holds an open file"),
        ("text file", "holds an open file"),
    ],
)
def test_what_cannot_be_copied_is_refused_by_name(kind: str, sentence: str, tmp_path: Path) -> None:
    held = refused(kind, tmp_path)
    try:
        with pytest.raises(UncopyableError, match=f"^{sentence}$"):
            Prototype(lambda: held)
    finally:
        getattr(held, "shutdown", getattr(held, "terminate", getattr(held, "close", list)))()


def test_what_no_pickle_holds_is_refused_with_the_reason() -> None:
    held = threading.local()
    with pytest.raises(UncopyableError, match=r"^cannot be copied: cannot pickle '_thread\._local' object$"):
        Prototype(lambda: held)


@pytest.mark.parametrize("arrays", [1, 2], ids=["one array", "two arrays"])
def test_more_than_a_quarter_of_a_gibibyte_is_refused_and_so_much_is_not(
    monkeypatch: pytest.MonkeyPatch, arrays: int
) -> None:
    monkeypatch.setattr(by_value, "MOST_BYTES", 2**20)
    held = [np.zeros(2**19 // arrays, np.uint8) for _ in range(arrays)]
    Prototype(lambda: held)
    held = [np.zeros(2**21 // arrays, np.uint8) for _ in range(arrays)]
    with pytest.raises(UncopyableError, match=r"^holds \d.\d+ MiB, over 1.00 MiB$"):
        Prototype(lambda: [each[:9] for each in held])
    views = [each[:9] for each in held]  # a view brings its whole array
    with pytest.raises(UncopyableError, match="over"):
        Prototype(lambda: views)


def test_a_module_is_pickled_by_value_only_meanwhile() -> None:
    import cloudpickle

    before = cloudpickle.list_registry_pickle_by_value()
    Prototype(sum_of_table)
    assert cloudpickle.list_registry_pickle_by_value() == before


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def test_tensors_keep_their_strides_and_share_their_storage(torch: Any) -> None:
    table = torch.arange(12.0).reshape(3, 4)
    part, other = table[1:, ::2].t(), torch.arange(3)
    array = np.ones(4)
    shared = torch.from_numpy(array)
    kept = (table, part, other, shared, array)
    copied = Prototype(lambda: kept).copy()()
    for before, after in zip(kept[:4], copied[:4], strict=True):
        assert torch.equal(before, after)
        assert (before.stride(), before.storage_offset()) == (after.stride(), after.storage_offset())
        assert before.untyped_storage().data_ptr() != after.untyped_storage().data_ptr()
    assert copied[0].untyped_storage().data_ptr() == copied[1].untyped_storage().data_ptr()
    assert copied[0].data_ptr() % 64 == 0
    copied[3][0] = 7
    assert copied[4][0] == 7


def test_training_steps_are_copied_with_model_and_optimizer(torch: Any) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    model[2].weight.requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    inputs, targets = torch.randn(16, 4), torch.randn(16, 1)

    def step() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss.item()

    step()
    prototype = Prototype(step)
    losses = [step() for _ in range(5)]
    for _ in range(2):
        copied = prototype.copy()
        assert [copied() for _ in range(5)] == losses


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")  # PyTorch uses it itself
def test_compiled_models_are_refused(torch: Any) -> None:
    model = torch.compile(torch.nn.Linear(2, 2))
    with pytest.raises(UncopyableError, match="holds a compiled model"):
        Prototype(lambda: model)


def test_tensors_on_an_accelerator_are_refused(torch: Any) -> None:
    elsewhere = torch.empty(3, device="meta")  # the one device besides the processor that every machine has
    with pytest.raises(UncopyableError, match="holds an array on meta"):
        Prototype(lambda: elsewhere)


@pytest.mark.isolated_framework("tensorflow")
def test_objects_of_tensorflow_are_copied() -> None:
    tensorflow = pytest.importorskip("tensorflow")
    constant, variable = tensorflow.constant([1.0, 2.0]), tensorflow.Variable([3.0, 4.0])

    def step() -> Any:
        variable.assign_add(constant)
        return variable.numpy()

    prototype = Prototype(step)
    step()
    np.testing.assert_array_equal(prototype.copy()(), [4.0, 6.0])
    np.testing.assert_array_equal(prototype.copy()(), [4.0, 6.0])
