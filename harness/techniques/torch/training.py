"""What can be switched in PyTorch about a training step: its optimiser, its attention, what it keeps in memory."""

from __future__ import annotations

from harness.experiment import Arm, Build, technique


@technique(
    "torch",
    levels=("for-loop", "foreach", "fused"),
    recipe={
        "foreach": "torch.optim.SGD(model.parameters(), lr=lr, foreach=True)",
        "fused": "torch.optim.SGD(model.parameters(), lr=lr, fused=True)",
    },
)
def optimizer(build: Build, level: str) -> Arm:
    """The optimiser's step tensor by tensor, with each operation over all tensors at once, or in one kernel."""
    return build(optimizer=level)


@technique(
    "torch",
    levels=("eager", "math", "sdpa"),
    recipe={
        "math": 'with torch.nn.attention.sdpa_kernel(SDPBackend.MATH):  # config.attn_implementation = "sdpa"',
        "sdpa": 'config.attn_implementation = "sdpa"  # of a transformers model, before it is made',
    },
)
def attention(build: Build, level: str) -> Arm:
    """Attention written out in the model, the same formula within PyTorch, or the fused kernel of PyTorch's choice."""
    return build(attention=level)


@technique(
    "torch",
    levels=("off", "on"),
    recipe={"on": 'model.activation_checkpointing_enable({"use_reentrant": False})  # a model of transformers'},
)
def activation_checkpointing(build: Build, level: str) -> Arm:
    """Activations kept from forward to backward pass, or computed a second time: less memory for more time."""
    return build(activation_checkpointing=level == "on")


@technique(
    "torch",
    levels=("1", "4"),
    recipe={"4": "(loss / 4).backward()  # on four quarters of the batch, then optimizer.step()"},
)
def accumulation(build: Build, level: str) -> Arm:
    """A batch learnt at once, or in parts whose gradients are added up: the same step in less memory."""
    return build(accumulation=int(level))
