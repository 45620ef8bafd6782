"""What an output holds in memory is read past its containers' own methods; what computes when it is read is refused."""

import datetime as dt
import enum
from collections import OrderedDict, UserDict
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from accelbench.core import DeferredOutput
from accelbench.errors import LazyOutput
from accelbench.frameworks import load
from accelbench.frameworks.tree import tree_leaves, tree_map

framework = load("torch")


def lists(output: Any) -> list[Any]:
    return [array.tolist() for array in framework.to_host(output)]


def test_a_table_comes_by_columns() -> None:
    table = pd.DataFrame({"price": [1.5, 2.5], "name": ["ant", "bee"], "day": pd.to_datetime(["2026-01-01", None])})
    price, name, day = framework.to_host(table)
    assert price.tolist() == [1.5, 2.5]
    assert name.tolist() == ["ant", "bee"]
    assert np.isnat(day).tolist() == [False, True]
    assert lists(table["price"]) == [[1.5, 2.5]]


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_a_sparse_matrix_is_the_same_in_every_form(form: str) -> None:
    matrix = scipy.sparse.coo_array(([1.0, 2.0, 3.0], ([1, 0, 1], [1, 0, 1])), shape=(2, 2)).asformat(form)
    assert lists(matrix) == [[0, 1, 2], [0, 1], [2, 4]]


class Named(torch.Tensor):
    """A tensor with memory of its own, whose methods would return something else."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001  as derived types do it
            return func(*args, **(kwargs or {})) * 0 + 7


class Computing(torch.Tensor):
    """A tensor without memory that computes with every operation."""

    @staticmethod
    def __new__(cls) -> "Computing":
        return torch.Tensor._make_wrapper_subclass(cls, (2,))  # noqa: SLF001  as derived types do it

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return torch.ones(2)


def test_a_derived_tensor_is_read_from_its_memory_and_one_that_computes_is_refused() -> None:
    assert lists(torch.ones(2).as_subclass(Named)) == [[1, 1]]
    assert lists(torch.nn.Parameter(torch.ones(2))) == [[1, 1]]
    with pytest.raises(LazyOutput, match="returned a Computing, a tensor that may compute"):
        framework.to_host(Computing())


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_sparse_and_nested_tensors_are_written_out() -> None:
    assert lists(torch.eye(2).to_sparse()) == [[[1, 0], [0, 1]]]
    assert lists(torch.eye(2).to_sparse_csr()) == [[[1, 0], [0, 1]]]
    jagged = torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], layout=torch.jagged)
    assert lists(jagged) == [[[1, 0], [1, 1]]]


def test_the_output_of_a_language_model_is_read_with_its_cache() -> None:
    transformers = pytest.importorskip("transformers")
    from transformers.modeling_outputs import CausalLMOutputWithPast

    cache = transformers.DynamicCache()
    cache.update(torch.ones(1, 1, 1, 2), 2 * torch.ones(1, 1, 1, 2), 0)
    output = CausalLMOutputWithPast(logits=torch.zeros(1, 2), past_key_values=cache)
    assert lists(output) == [[[0, 0]], [[[[1, 1]]]], [[[[2, 2]]]]]
    assert lists(transformers.BatchEncoding({"input_ids": torch.tensor([1])})) == [[1]]


def test_integers_that_float64_cannot_hold_keep_their_digits() -> None:
    (array,) = framework.to_host(torch.tensor([2**53 + 1, 0]))
    assert array.tolist() == [2**53 + 1, 0]
    assert lists([3, 2**70]) == [3, 2**70]


def test_a_named_tuple_keeps_its_names_when_its_parts_are_changed() -> None:
    extremes = torch.tensor([[1.0, 2.0]]).max(1)
    assert tree_map(extremes, lambda part: part + 1).values.tolist() == [3]


class Colour(enum.Enum):
    """Keys that cannot be sorted."""

    RED = 1
    BLUE = 2


@pytest.mark.parametrize(
    "keys",
    [
        ["b", "a"],
        [10, 9, 2.5, True],
        ["b", 1, None, ("b", 2), ("b", None), b"c", Colour.RED, Colour.BLUE],
        [frozenset("ab"), frozenset("a"), frozenset("b")],
        [dt.date(2026, 1, 10), dt.date(2026, 1, 9)],
    ],
)
@pytest.mark.parametrize(
    "container", [dict, OrderedDict, UserDict, lambda pairs: [dict(pairs)], lambda pairs: DeferredOutput(lambda: pairs)]
)
def test_equal_dictionaries_are_read_alike_in_any_order(keys: list[Any], container: Any) -> None:
    pairs = {key: [place] for place, key in enumerate(keys)}
    backwards = dict(reversed(pairs.items()))
    assert lists(container(pairs)) == lists(container(backwards))
    assert sorted(lists(container(pairs))) == [*range(len(keys))]


def test_the_leaves_of_batches_and_parameters_keep_their_order() -> None:
    assert [*tree_leaves({"b": 1, "a": 2})] == [1, 2]
