"""PyTorch's profiler on workloads of the suite: what their operators are, with and without a technique."""

from types import SimpleNamespace

import pytest
from torch.autograd import DeviceType

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Setting, find_workload
from accelbench.errors import Unavailable
from accelbench.explain.torch_profile import _read_events, profile_workload


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


def test_kernels_of_an_accelerator_are_counted_apart_from_operators_and_annotations():
    def event(name, device, taken_us, *, annotates=False):
        return SimpleNamespace(
            name=name,
            device_type=device,
            is_user_annotation=annotates,
            time_range=SimpleNamespace(elapsed_us=lambda: taken_us),
            cpu_time_total=taken_us,
            device_time_total=taken_us,
            cpu_parent=None,
        )

    events = [
        event("aten::mm", DeviceType.CPU, 50.0),
        event("gemm", DeviceType.CUDA, 40.0),
        event("Memcpy HtoD", DeviceType.CUDA, 10.0),
        event("Optimizer.step#SGD.step", DeviceType.CUDA, 100.0, annotates=True),
    ]
    found = _read_events(events, 1e-3, {"aten::mm"})
    assert (found.kernels, found.device_s) == (2, pytest.approx(50e-6))
    assert dict(found.calls) == {"aten::mm": 1}
    assert found.update_s == 0
