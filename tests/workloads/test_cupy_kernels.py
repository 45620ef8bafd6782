"""What CuPy alone offers, on a stand-in that computes with NumPy: one kernel for a formula, streams, no pool."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, apply_all, find_technique, find_workload
from accelbench.errors import Unavailable
from accelbench.frameworks import cupy as adapter


class Stream:
    """A stream of the stand-in; the log says what is launched on it, and for what it waits."""

    def __init__(self, log: list[str], name: str) -> None:
        self.log = log
        self.name = name

    def record(self) -> str:
        return f"what {self.name} was given"

    def wait_event(self, event: str) -> None:
        self.log.append(f"{self.name} waits for {event}")

    def __enter__(self) -> None:
        self.log.append(f"on {self.name}")

    def __exit__(self, *_: object) -> None:
        pass


class Cuda:
    """Stands in for ``cupy.cuda``."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self._streams = 0

    def Device(self) -> SimpleNamespace:  # noqa: N802  CuPy's word
        return SimpleNamespace(id=0)

    def Stream(self, *, non_blocking: bool) -> Stream:  # noqa: N802  CuPy's word
        assert non_blocking  # or it would wait for the default stream
        self._streams += 1
        return Stream(self.log, f"s{self._streams}")

    def get_current_stream(self) -> Stream:
        return Stream(self.log, "s0")

    @contextmanager
    def using_allocator(self, allocator: None) -> Iterator[None]:
        self.log.append(f"allocator {allocator}")
        yield
        self.log.append("allocator put back")


class Cupy:
    """Stands in for ``cupy``: kernels are counted, and computed by NumPy."""

    def __init__(self) -> None:
        self.cuda = Cuda()
        self.made: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def asnumpy(self, array: np.ndarray) -> np.ndarray:
        return array

    def fuse(self, *, kernel_name: str) -> Any:
        self.made.append(f"fused {kernel_name}")
        return lambda function: function

    def ElementwiseKernel(self, inputs: str, output: str, operation: str, name: str) -> Any:  # noqa: N802  CuPy's word
        self.made.append(f"written {name}({inputs})")
        target, _, expression = operation.partition(" = ")
        assert output == f"float32 {target}"
        names = [operand.split()[1] for operand in inputs.split(", ")]

        def run(*operands: np.ndarray) -> np.ndarray:
            scalars = zip(*(operand.tolist() for operand in operands), strict=True)
            # What stands there is C++ and Python alike.
            return np.array([eval(expression, vars(math), dict(zip(names, each, strict=True))) for each in scalars])

        return run


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Cupy:
    stand_in = Cupy()
    monkeypatch.setattr(adapter, "namespace", lambda: stand_in)
    return stand_in


def arm_with(workload: str, problem: dict[str, Any], **levels: str) -> Arm:
    declared = find_workload(workload)
    switches = [(find_technique("cupy", name), level) for name, level in levels.items()]
    return apply_all(switches, lambda **options: declared.build(Setting(), **options, **problem))


@pytest.mark.parametrize(
    ("name", "operands"),
    [("vector-add", "float32 a, float32 b"), ("elementwise-chain", "float32 a, float32 b, float32 c")],
)
def test_a_written_kernel_computes_what_the_formula_computes(name: str, operands: str, cupy: Cupy) -> None:
    unfused, fused, written = (
        arm_with(name, {"elements": 50}, kernels=level).step() for level in ("unfused", "fused", "elementwise-kernel")
    )
    kernel = name.replace("-", "_")
    assert cupy.made == [f"fused {kernel}", f"written {kernel}({operands})"]
    np.testing.assert_allclose(fused, unfused)
    np.testing.assert_allclose(written, unfused, rtol=1e-5)


def test_only_elementwise_operations_become_one_kernel() -> None:
    with pytest.raises(Unavailable, match="only elementwise operations can be fused"):
        arm_with("matrix-product", {"elements": 100}, kernels="elementwise-kernel")


def test_the_pool_is_set_aside_inside_a_block_only(cupy: Cupy) -> None:
    problem = {"elements": 50, "array_library": "resident"}
    with arm_with("vector-add", problem, memory_pool="on").enter():
        assert cupy.cuda.log == []
    with arm_with("vector-add", problem, memory_pool="off").enter():
        assert cupy.cuda.log == ["allocator None"]
    assert cupy.cuda.log == ["allocator None", "allocator put back"]


def test_chains_go_to_the_streams_in_turn_between_what_was_launched_before_and_after(cupy: Cupy) -> None:
    arm = arm_with("independent-chains-cupy", {"elements": 20}, streams="2")
    results = arm.step()
    begin = ["s1 waits for what s0 was given", "s2 waits for what s0 was given"]
    end = ["s0 waits for what s1 was given", "s0 waits for what s2 was given"]
    assert cupy.cuda.log == [*begin, *["on s1", "on s2"] * 4, *end]
    a, b = arm.inputs()[0][3]
    np.testing.assert_allclose(results[3], np.tanh(a * b + a) ** 2)


@pytest.mark.skipif(adapter.unavailable() is None, reason="there is a CUDA device")
def test_without_a_device_every_level_says_so() -> None:
    for levels in ({"kernels": "unfused"}, {"memory_pool": "on", "array_library": "resident"}):
        with pytest.raises(Unavailable, match=r"^cupy "):
            arm_with("vector-add", {"elements": 50}, **levels)
    with pytest.raises(Unavailable, match=r"^cupy "):
        arm_with("independent-chains-cupy", {"elements": 50}, streams="1")
