"""PyTorch's profiler on workloads of the suite: what their operators are, with and without a technique."""

import pytest

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Setting, find_workload
from accelbench.errors import Unavailable
from accelbench.explain.torch_profile import profile_workload


def test_a_workload_is_profiled_with_a_technique_at_a_level():
    work, setting = find_workload("mlp-train"), Setting(cores=2)
    without = profile_workload(work, setting, {"batch_size": "16"}, {})
    found = profile_workload(work, setting, {"batch_size": "16", "amp": "bf16"}, {})
    assert (without.items, found.items) == (16, 16)
    names, others = ({each.name for each in profile.operators} for profile in (found, without))
    assert {"addmm", "_to_copy"} <= names
    assert "_to_copy" not in others
    (product,) = [each for each in without.operators if each.name == "addmm"]
    assert product.calls == 2  # of two layers
    assert product.operations == 2 * 16 * (784 * 128 + 128 * 10)


def test_a_technique_that_does_not_apply_is_refused():
    with pytest.raises(Unavailable):
        profile_workload(find_workload("mlp-train"), Setting(cores=2), {"memory_format": "channels-last"}, {})


def test_operators_of_other_threads_are_seen():
    work, setting = find_workload("independent-products"), Setting(cores=2)
    found = profile_workload(work, setting, {"overlap": "threads"}, {"side": 64})
    assert [each.calls for each in found.operators if each.name == "matmul"] == [6]
