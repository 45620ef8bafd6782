"""PyTorch's profiler on workloads of the suite: what their operators are, with and without a technique."""

from types import SimpleNamespace

import pytest
from torch.autograd import DeviceType

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Setting, find_workload
from accelbench.errors import Unavailable
from accelbench.explain import torch_program
from accelbench.explain.torch_profile import (
    _describe_break,
    _describe_recompilations,
    _read_events,
    profile_workload,
)
from accelbench.workloads.torch import compile  # noqa: A004  the module


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


def recompiled(file: str, name: str, why: str) -> SimpleNamespace:
    return SimpleNamespace(co_name=name, co_filename=file, co_firstlineno=7, recompile_reason=why)


SIZE = "0/0: tensor '{}' size mismatch at index 1. expected 38, actual 37"


@pytest.mark.parametrize(
    ("metrics", "lines"),
    [
        (
            [recompiled(compile.__file__, "call_1", SIZE.format("arguments[0]"))],
            ["the model's forward pass, since tensor 'arguments[0]' size mismatch at index 1. expected 38, actual 37"],
        ),
        (
            [
                recompiled(compile.__file__, "call_1", SIZE.format("arguments[0]")),
                recompiled("/home/me/rnn.py", "forward", SIZE.format("x")),
            ],
            ["forward (rnn.py:7), since tensor 'x' size mismatch at index 1. expected 38, actual 37"],
        ),
        (
            [recompiled("/home/me/a.py", "f", "1/0: len(named) == 1" + " " * 42 + "# return call(**named)  # home/me")],
            ["f (a.py:7), since len(named) == 1"],
        ),
        ([recompiled("/home/me/a.py", "f", "")], []),
    ],
)
def test_what_was_compiled_again_is_named_by_the_programs_own_functions(metrics, lines):
    assert [*_describe_recompilations(metrics)] == lines


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            """Graph break
            Explanation: It should  not be traced.
            File "/p/rnn.py", line 15, in forward
            File "/v/site-packages/torch/rnn.py", line 3, in pack""",
            "rnn.py:15: It should not be traced",
        ),
        (f'Explanation: No.\n  File "{torch_program.__file__}", line 134, in find_caller\n', ""),
    ],
)
def test_a_graph_break_is_named_by_the_programs_own_line_without_a_stop(message, line):
    assert _describe_break(message) == line
