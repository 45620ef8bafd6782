"""Workloads state where they run, what they read and how much work it is; and what they show is what they read."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from small_problems import BUILT_ALIKE, ELSEWHERE, IN_TENSORFLOW, IN_TORCH, ON_ARRAYS, SHOWING_NO_INPUTS, UNCERTAIN

import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Arm, Setting, Work, Workload, find_workload
from accelbench.core.verification import relative_error
from accelbench.errors import BadInput
from accelbench.frameworks import Framework, load
from accelbench.measuring.checks import output as check

pytestmark = pytest.mark.usefixtures("one_thread")
LARGE = ("bert-train", "resnet18-evaluation", "resnet18-train", "ladder-training-resnet50")


def arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for part in value:
            yield from arrays(part)
    else:
        yield value


def changed(framework: Framework, value: Any) -> Any:
    """Return the arrays, in place where that is possible, with another last item in each."""
    if isinstance(value, list | tuple):
        return type(value)(changed(framework, part) for part in value)
    last = value.shape[0] - 1
    item = framework.item(value, last)
    described = framework.array_info(value)
    assert described is not None
    if "float" in described.dtype:
        return framework.put(value, last, item * 0.97)
    return framework.put(value, last, item * 0 + int(not framework.to_host(item)[0].any()))  # a label or tokens


def stated(name: str, framework: Framework, **options: Any) -> Arm:
    """Build an arm, and check that what it states and shows is so."""
    arm = find_workload(name).build(Setting(), **options)
    assert arm.device == "cpu"
    assert (arm.work is None) == (name in UNCERTAIN)
    assert all(framework.array_info(array) is not None for array in arrays([arm.inputs(), arm.parameters()]))
    shown = arm.inputs()
    assert (not list(arrays(shown))) == (name in SHOWING_NO_INPUTS)
    if name in SHOWING_NO_INPUTS:
        return arm
    before, again = (check.output_of(arm, framework) for _ in "ab")
    assert relative_error(again, before) == 0
    other = changed(framework, shown)
    if arm.feed:
        arm.feed(other)
    assert relative_error(check.output_of(arm, framework), before) > 0, "the change does not show"
    return arm


@pytest.mark.parametrize("name", ON_ARRAYS)
@pytest.mark.parametrize("array_library", ["numpy", "torch-cpu"])
def test_array_workloads_state_what_they_do_and_show_what_they_read(name: str, array_library: str) -> None:
    stated(name, load("torch"), array_library=array_library, **ON_ARRAYS[name]).close()


def test_a_chain_in_numpy_states_what_it_does_and_shows_what_it_reads() -> None:
    stated("ladder-chain", load("numpy")).close()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in IN_TORCH]
)
def test_torch_workloads_state_what_they_do_and_show_what_they_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from accelbench.workloads.torch import models

    monkeypatch.setattr(models, "resnet50", models.resnet18)  # reads and learns alike
    stated(name, load("torch"), **IN_TORCH[name]).close()


@pytest.mark.usefixtures("cuda")
def test_chunked_products_state_what_they_do_and_show_what_they_read() -> None:
    stated("chunked-products", load("torch"), device="cpu", side=8)


@pytest.mark.slow
@pytest.mark.isolated_framework("tensorflow")
@pytest.mark.parametrize("name", IN_TENSORFLOW)
def test_tensorflow_workloads_state_what_they_do_and_show_what_they_read(name: str) -> None:
    options = IN_TENSORFLOW[name] if name == "tf-image-loading" else {"device": "cpu", **IN_TENSORFLOW[name]}
    stated(name, load("tensorflow"), **options).close()


def module_of(workload: Workload) -> str:
    """Return where a workload is declared, whose builder may be shared by others."""
    return str(getattr(workload.builder, "func", workload.builder).__module__)


def test_no_workload_of_the_catalogue_is_left_out() -> None:
    with pytest.raises(BadInput) as refused:
        find_workload("no such workload")
    names = str(refused.value).rpartition(": ")[2].split(", ")
    ours = {name for name in names if module_of(find_workload(name)).startswith("accelbench.workloads.")}
    assert ours == {*ON_ARRAYS, *IN_TORCH, *IN_TENSORFLOW, *ELSEWHERE} | BUILT_ALIKE


@pytest.mark.parametrize("name", ["cnn-train", "cnn-evaluation", "bottleneck-training"])
def test_a_label_alone_shows_in_the_output(name: str) -> None:
    framework = load("torch")
    arm = find_workload(name).build(Setting(), **IN_TORCH[name])
    before = check.output_of(arm, framework)
    changed(framework, [labels for _, labels in arm.inputs()])
    assert relative_error(check.output_of(arm, framework), before) > 0


@pytest.mark.parametrize(
    ("name", "options", "work"),
    [
        ("matmul-torch", {"side": 100}, {"operations": 2e6, "memory_bytes": 3 * 4e4, "precision": "fp32"}),
        ("vector-add", {"elements": 1000}, {"operations": 1e3, "memory_bytes": 12e3, "precision": "fp32"}),
        ("svd", {"elements": 900}, {"operations": 8 * 30**3 / 3, "memory_bytes": 4 * (900 + 30)}),
        ("fft", {"elements": 1024}, {"operations": 25_600, "saving": 1.25, "memory_bytes": 4096 + 513 * 8}),
        ("reduction", {"elements": 1000}, {"operations": 2000, "memory_bytes": 4004}),
        ("n-body", {"elements": 100}, {"operations": 17 * 6e4, "saving": 2, "memory_bytes": 4 * 12e2}),
        ("heat", {"elements": 100}, {"operations": 6 * 800, "memory_bytes": 800}),
        ("gaussian-blur", {"frames": 2}, {"memory_bytes": 2 * 2 * 3 * 256 * 384 * 4}),
        ("host-to-device-copy", {"mebibytes": 1, "device": "cpu"}, {"memory_bytes": 2**21, "to_device_bytes": 0}),
        # Forward, weights' gradients, and gradients of what the second layer reads.
        ("mlp-train", {"batch_size": 10, "device": "cpu"}, {"operations": 20 * (2 * 784 * 128 + 3 * 128 * 10)}),
        ("mlp-train", {"amp": "bf16", "device": "cpu"}, {"precision": "bf16"}),
    ],
)
def test_the_work_is_what_a_hand_count_gives(name: str, options: dict[str, Any], work: dict[str, Any]) -> None:
    arm = find_workload(name).build(Setting(), **options)
    assert {fact: getattr(arm.work, fact) for fact in work} == pytest.approx(work)


@pytest.mark.parametrize(
    "name", ["mlp", "narrow_mlp", "cnn", "resnet18", pytest.param("resnet50", marks=pytest.mark.slow), "bert"]
)
def test_the_operations_of_a_network_are_those_that_pytorch_counts(name: str) -> None:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from accelbench.workloads.torch import models
    from accelbench.workloads.torch.models import logits_of

    options: dict[str, dict[str, int]] = {
        "resnet18": {"side": 48, "classes": 10},
        "resnet50": {"side": 40, "classes": 10},
        "bert": {"layers": 2, "hidden": 256, "vocabulary": 100, "tokens": 64},
    }
    problem = getattr(models, name)(**options.get(name, {}))
    inputs, labels = problem.batch(2, torch.Generator())
    with FlopCounterMode(display=False) as counted:
        logits = logits_of(problem.model().train(), inputs)
        forward = counted.get_total_flops()
        torch.nn.functional.cross_entropy(logits, labels).backward()
    # Of attention on a CPU, PyTorch counts nothing; the rest agrees exactly.
    margin = 0.05 if name == "bert" else 0
    assert problem.network.answering(2).operations == pytest.approx(forward, rel=margin)
    assert problem.network.learning(2).operations == pytest.approx(counted.get_total_flops(), rel=margin)


@pytest.mark.parametrize("branches", ["serial", "fused"])
def test_the_operations_of_the_inception_block_are_those_that_pytorch_counts(branches: str) -> None:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    arm = find_workload("inception-inference").build(Setting(), device="cpu", branches=branches)
    with FlopCounterMode(display=False) as counted, torch.inference_mode():
        arm.step()
    assert isinstance(arm.work, Work)
    assert arm.work.operations == counted.get_total_flops()


@pytest.mark.slow
@pytest.mark.isolated_framework("tensorflow")
def test_the_operations_of_keras_resnet_are_those_of_its_layers() -> None:
    from keras import layers

    from accelbench.workloads.tensorflow import models

    problem = models.resnet50(side=64, classes=10)
    *_, trunk, head = problem.model().layers
    forward = 2 * int(np.prod(head.kernel.shape))
    for layer in trunk.layers:
        if isinstance(layer, layers.Conv2D):
            forward += 2 * int(np.prod(layer.kernel.shape)) * int(np.prod(layer.output.shape[1:3]))
    assert problem.network.forward == forward
