"""The models that training workloads learn with, and the random inputs they are fed. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from harness.errors import Unavailable
from harness.workloads import networks
from harness.workloads.networks import Network
from harness.workloads.torch import optimizers

DISTINCT = 512  # images of a batch are drawn, and repeated in a larger one: a GPU learns them faster than a CPU draws


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A classification problem: a model with random weights, and normally distributed or uniformly drawn inputs.

    ``inputs`` takes the batch size and a generator. ``network`` counts the model's operations. ``optimizer`` takes the
    name of an implementation. ``searchable`` says whether a compiler has kernels to choose among on a CPU: batched
    products, or convolutions that are products.
    """

    model: Callable[[], Any]
    inputs: Callable[[int, Any], Any]
    classes: int
    network: Network
    optimizer: Callable[[str | None], Callable[[Any], Any]] = optimizers.sgd
    searchable: bool = True

    @property
    def item_bytes(self) -> int:
        """The bytes of one input and its label."""
        return sum(part.nbytes for part in self.batch(1, torch.Generator()))

    def batch(self, size: int, generator: Any) -> tuple[Any, Any]:
        """Return one batch of inputs and labels, on the host."""
        return self.inputs(size, generator), torch.randint(self.classes, (size,), generator=generator)


def cnn(*, classes: int = 10) -> Problem:
    """Two convolutions, 3-16-32 channels, and two linear layers on 32×32 images."""

    def model() -> Any:
        return nn.Sequential(
            nn.Conv2d(3, 16, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(32 * 8 * 8, 128),
            nn.ReLU(),
            nn.Linear(128, classes),
        )

    network = networks.small_cnn(32, classes)
    return Problem(model=model, inputs=_images(32), classes=classes, network=network, searchable=False)


def mlp() -> Problem:
    """The sequential network 784-128-10 on rows of 784 features."""

    def model() -> Any:
        return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))

    return Problem(
        model=model,
        inputs=lambda size, generator: torch.randn(size, 784, generator=generator),
        classes=10,
        network=networks.dense(784, 128, 10),
        searchable=False,
    )


def narrow_mlp(*, layers: int = 32, units: int = 32) -> Problem:
    """A chain of residual layers of so many units each: four small tensors of weights a layer.

    Without the path around every layer, a chain this long blows rounding up until no two precisions agree.
    """

    def model() -> Any:
        return nn.Sequential(
            *(_Residual(nn.LayerNorm(units), nn.Linear(units, units), nn.ReLU()) for _ in range(layers))
        )

    return Problem(
        model=model,
        inputs=lambda size, generator: torch.randn(size, units, generator=generator),
        classes=units,
        network=replace(networks.dense(*[units] * (layers + 1)), first=0),  # what is normalised before is learnt too
        optimizer=optimizers.adamw,
        searchable=False,
    )


class _Residual(nn.Sequential):  # type: ignore[misc]  # mypy is not shown PyTorch
    """Layers that change what goes past them."""

    def forward(self, inputs: Any) -> Any:
        """Return the inputs plus what the layers make of them."""
        return inputs + super().forward(inputs)


def resnet18(*, side: int, classes: int) -> Problem:
    """ResNet-18 on images of ``side`` × ``side`` pixels."""
    depths = [2, 2, 2, 2]
    network = networks.resnet(side, classes, depths, bottleneck=False)
    return _resnet(
        side, network, num_labels=classes, depths=depths, layer_type="basic", hidden_sizes=[64, 128, 256, 512]
    )


def resnet50(*, side: int, classes: int) -> Problem:
    """ResNet-50 v1.5 on images of ``side`` × ``side`` pixels."""
    return _resnet(side, networks.resnet(side, classes, [3, 4, 6, 3], bottleneck=True), num_labels=classes)


def _resnet(side: int, network: Network, **config: Any) -> Problem:
    transformers = _transformers()

    def model() -> Any:
        made = transformers.ResNetForImageClassification(transformers.ResNetConfig(**config))
        return _begun_at_zero(made, made.resnet)

    return Problem(model=model, inputs=_images(side), classes=config["num_labels"], network=network)


def regnet(*, side: int, classes: int, depths: list[int], widths: list[int], group: int) -> Problem:
    """RegNetX on images of ``side`` × ``side`` pixels: every 3×3 filter sees ``group`` channels, not all."""
    transformers = _transformers()
    config = transformers.RegNetConfig(
        depths=depths, hidden_sizes=widths, groups_width=group, layer_type="x", num_labels=classes
    )

    def model() -> Any:
        made = transformers.RegNetForImageClassification(config)
        return _begun_at_zero(made, made.regnet)

    network = networks.regnet(side, classes, depths, widths, group)
    return Problem(model=model, inputs=_images(side), classes=classes, network=network)


def _begun_at_zero(made: Any, backbone: Any) -> Any:
    """Return a model whose residual branches begin at zero, as in Goyal et al. 2017, arXiv 1706.02677, section 5.1.

    Without this, batch normalisation over a few small images blows rounding up until no two precisions agree.
    """
    for stage in backbone.encoder.stages:
        for block in stage.layers:
            nn.init.zeros_(block.layer[-1].normalization.weight)
    return made


def bert(*, layers: int, hidden: int, vocabulary: int, tokens: int) -> Problem:
    """A BERT sequence classifier; without dropout, so that every arm computes the same."""
    transformers = _transformers()
    classes = 2
    config = transformers.BertConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 64,
        intermediate_size=4 * hidden,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=classes,
        use_cache=False,  # of a decoder; activation checkpointing would say that it turns it off
    )
    return Problem(
        model=lambda: transformers.BertForSequenceClassification(config),
        inputs=lambda size, generator: torch.randint(vocabulary, (size, tokens), generator=generator),
        classes=classes,
        network=networks.bert(layers=layers, hidden=hidden, tokens=tokens, classes=classes),
    )


def _transformers() -> Any:
    """Return the ``transformers`` package.

    Raises:
        Unavailable: it is not installed.
    """
    try:
        import transformers
    except ModuleNotFoundError as error:
        raise Unavailable(f"{error.name} is not installed: pip install 'accelbench[torch]'") from None
    return transformers


def _images(side: int) -> Callable[[int, Any], Any]:
    def inputs(size: int, generator: Any) -> Any:
        drawn = torch.randn(min(size, DISTINCT), 3, side, side, generator=generator)
        return drawn[torch.arange(size) % DISTINCT]

    return inputs
