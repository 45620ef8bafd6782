"""Importing the catalogue declares everything and loads no framework."""

import subprocess
import sys

import pytest

import accelbench.techniques
import accelbench.workloads  # noqa: F401  fills the catalogue
from accelbench.core import Setting, find_workload
from accelbench.errors import Unavailable

TORCH = (
    "bert-large-train",
    "bert-train",
    "bottleneck-training",
    "chain-torch",
    "checkpoint-load",
    "checkpoint-save",
    "chunked-products",
    "cnn-evaluation",
    "cnn-train",
    "device-to-host-copy",
    "digits-training",
    "host-and-device-products",
    "host-to-device-copy",
    "house-prices-train",
    "image-loading",
    "image-training",
    "inception-inference",
    "inception-train",
    "independent-products",
    "loader-train",
    "logged-training",
    "long-bert-train",
    "matmul-torch",
    "mlp-evaluation",
    "mlp-train",
    "narrow-mlp-train",
    "operation-chain",
    "regnet-train",
    "resnet18-evaluation",
    "resnet18-train",
    "resnet50-evaluation",
    "resnet50-train",
)


@pytest.mark.slow
def test_the_pytest_process_loads_no_framework_with_the_catalogue() -> None:
    program = (
        "import accelbench.workloads, accelbench.techniques, sys;"
        "print(*{'torch', 'tensorflow', 'keras', 'cupy', 'transformers', 'PIL', 'sklearn'} & set(sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert loaded.split() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("framework", "workload"),
    [("torch", "mlp-train"), ("tensorflow", "dense-train-keras"), ("cupy", "n-body"), ("numpy", "distance-matrix")],
)
def test_a_worker_loads_the_framework_that_it_is_for_and_no_other(framework: str, workload: str) -> None:
    program = (
        "import sys\n"
        "import accelbench.techniques, accelbench.workloads\n"
        "from accelbench.core import Setting, find_workload\n"
        "from accelbench.frameworks import load\n"
        f"load({framework!r})\n"
        f"arm = find_workload({workload!r}).build(Setting())\n"
        "arm.step()\n"
        "print(*{'torch', 'tensorflow', 'cupy'} & set(sys.modules))\n"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert loaded.split() == [framework] * (framework != "numpy")


@pytest.mark.parametrize("name", TORCH)
def test_every_torch_workload_says_what_it_is(name: str) -> None:
    declared = find_workload(name)
    assert "torch" in declared.frameworks
    assert declared.summary.endswith(".") or ":" in declared.summary


@pytest.mark.parametrize("name", TORCH)
def test_a_workload_has_the_options_its_builder_names(name: str) -> None:
    declared = find_workload(name)
    assert declared.options
    with pytest.raises(Unavailable, match="no option 'colour'"):
        declared.build(Setting(), colour="red")
