"""Iterators over a data set of TensorFlow live until a timed block is over."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

pytestmark = pytest.mark.isolated_framework("tensorflow")


@pytest.fixture
def datasets() -> Any:
    import tensorflow as tf

    return tf.data.Dataset


def test_an_iterator_lives_until_the_block_is_over_and_no_longer(datasets: Any) -> None:
    from accelbench.workloads.tensorflow.iterators import HeldIterators

    iterators = HeldIterators()
    dataset = iterators.over(datasets.range(3).batch(2))
    with iterators.until_the_end():
        made = weakref.ref(iter(dataset))
        gc.collect()
        assert made() is not None
    gc.collect()
    assert made() is None
    assert (lambda: weakref.ref(iter(dataset)))()() is None  # nothing is held in between


def test_a_data_set_stays_what_it_was(datasets: Any) -> None:
    from accelbench.workloads.tensorflow.iterators import HeldIterators

    plain, other = datasets.range(3).batch(2), datasets.range(3).batch(2)
    held = HeldIterators().over(plain)
    assert isinstance(held, datasets)
    assert held.element_spec == other.element_spec
    assert [each.numpy().tolist() for each in held] == [[0, 1], [2]]
    assert type(other) in type(held).__bases__  # data sets of the same kind are left alone
