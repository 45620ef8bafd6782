"""What can be switched in PyTorch about a model's workflow: its branches, its evaluation, its checkpoints."""

from __future__ import annotations

from harness.experiment import Arm, Build, technique


@technique(
    "torch",
    levels=("serial", "parallel", "fused"),
    same_output=("parallel",),
    unadvised={"*": "it is a choice of the model, not of how it is computed"},
)
def branches(build: Build, level: str) -> Arm:
    """A block's branches one after another, at once, or one convolution of about their cost in their place."""
    return build(branches=level)


@technique(
    "torch",
    levels=("grad", "no-grad", "inference-mode"),
    recipe={"no-grad": "with torch.no_grad():", "inference-mode": "with torch.inference_mode():"},
)
def inference(build: Build, level: str) -> Arm:
    """Evaluation that records what gradients would need, that does not, or that gives up on them for good."""
    return build(gradients=level)


@technique(
    "torch",
    levels=("state-dict", "safetensors"),
    recipe={"safetensors": "safetensors.torch.load_file(path)  # of what save_file(model.state_dict(), path) wrote"},
)
def checkpoint_format(build: Build, level: str) -> Arm:
    """A model's parameters in a file of PyTorch's own pickle format, or of the safetensors library."""
    return build(checkpoint_format=level)


@technique("torch", levels=("off", "on"), recipe={"on": "torch.load(path, mmap=True)"})
def mmap(build: Build, level: str) -> Arm:
    """A checkpoint that is read into memory before the model takes it over, or mapped from its file."""
    return build(mapped=level == "on")
