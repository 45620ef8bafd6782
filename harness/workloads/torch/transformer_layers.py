"""How the layers of a model from `transformers` attend, and what they keep for the backward pass. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from torch.nn.attention import SDPBackend, sdpa_kernel

from harness.errors import BadInput
from harness.experiment import Arm

ATTENTION = ("eager", "math", "sdpa")


def with_layers(
    model: Callable[[], Any], *, attention: str | None = None, activation_checkpointing: bool = False
) -> Callable[[], Any]:
    """Return what makes the model with such layers; without a wish, `transformers` chooses how they attend.

    Raises:
        BadInput: there is no such attention.
    """
    if attention not in (None, *ATTENTION):
        raise BadInput(f"unknown attention {attention!r}; expected one of: {', '.join(ATTENTION)}")

    def make() -> Any:
        made = model()
        if attention:
            made.set_attn_implementation("eager" if attention == "eager" else "sdpa")
        if activation_checkpointing:
            # Older releases of transformers know the second name only.
            enable = getattr(made, "activation_checkpointing_enable", None) or made.gradient_checkpointing_enable
            enable({"use_reentrant": False})  # the way that PyTorch recommends
        return made

    return make


@contextmanager
def held_to(attention: str | None) -> Iterator[None]:
    """Hold PyTorch's attention to its formula, where that is what was asked for."""
    with sdpa_kernel(SDPBackend.MATH) if attention == "math" else nullcontext():
        yield


def attending(arm: Arm, attention: str | None) -> Arm:
    """Return the arm with PyTorch's attention so held in every block."""
    return arm.inside(held_to, attention) if attention == "math" else arm
