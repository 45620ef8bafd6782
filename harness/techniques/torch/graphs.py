"""What can be switched in PyTorch about how a model's operations become kernels: compiled, recorded, one by one."""

from __future__ import annotations

from harness.experiment import Arm, Build, technique
from harness.techniques.torch.computing import need_accelerator


# Measured on a CPU after two steps of `bert-train` and `narrow-mlp-train`, four seeds each, and of `cnn-train`: at most
# 3e-7 in float32. In bfloat16, where what is fused rounds less often, at most 5.3e-3: a threefold margin covers others.
@technique(
    "torch",
    levels=("eager", "default", "reduce-overhead", "max-autotune"),
    tolerance={"*": 2e-2},
    recipe={"eager": "", "*": 'model = torch.compile(model, mode="{level}")'},
    slow_start=("default", "reduce-overhead", "max-autotune"),
)
def compile(build: Build, level: str) -> Arm:  # noqa: A001  what PyTorch calls it
    """Operations one by one, or compiled by torch.compile: as it does by default, with CUDA graphs, or searching."""
    return build(compile_mode=level)


@technique("torch", levels=("off", "on"), recipe={"on": "torch.cuda.make_graphed_callables(model, (batch,))"})
def cuda_graphs(build: Build, level: str) -> Arm:
    """Kernels that the host launches one by one, or a recorded graph of them that it launches at once."""
    need_accelerator()
    return build(cuda_graphs=level == "on")
