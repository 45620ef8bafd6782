"""The models that training workloads learn with, and the random inputs they are fed. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss

from accelbench.core.workload import import_installed
from accelbench.workloads import networks
from accelbench.workloads.networks import Network

DISTINCT = 512  # images of a batch are drawn, and repeated in a larger one: a GPU learns them faster than a CPU draws


sgd = partial(torch.optim.SGD, lr=0.01, momentum=0.9)
adamw = partial(torch.optim.AdamW, lr=1e-3)


def _identity(inputs: Any) -> Any:
    return inputs


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A model with random weights, and the random inputs and labels from which it learns.

    ``inputs`` and ``labels`` take the batch size and a generator; without ``labels``, one of ``classes`` is drawn for
    each input. ``network`` counts the model's operations. ``optimizer`` takes the parameters and PyTorch's flags of an
    implementation. ``enter`` changes inputs on their way into the model. ``searchable`` says whether a compiler has
    kernels to choose among on a CPU: batched products, or convolutions that are products. The other facts say which
    options of a training step have a meaning.
    """

    model: Callable[[], Any]
    inputs: Callable[[int, Any], Any]
    classes: int
    network: Network
    labels: Callable[[int, Any], Any] | None = None
    loss: Callable[[Any, Any], Any] = cross_entropy
    optimizer: Callable[..., Any] = sgd
    enter: Callable[[Any], Any] = _identity
    searchable: bool = True
    has_convolutions: bool = False
    has_attention: bool = False
    has_batch_norm: bool = False
    is_mean_loss: bool = True

    def at_learning_rate(self, rate: float) -> Problem:
        """Return the problem with gradient descent at this learning rate."""
        return replace(self, optimizer=partial(sgd, lr=rate))

    @property
    def item_bytes(self) -> int:
        """The bytes of one input and its label."""
        return sum(part.nbytes for part in self.batch(1, torch.Generator()))

    def batch(self, size: int, generator: Any) -> tuple[Any, Any]:
        """Return one batch of inputs and labels, on the host."""
        inputs = self.inputs(size, generator)
        if self.labels is not None:
            return inputs, self.labels(size, generator)
        return inputs, torch.randint(self.classes, (size,), generator=generator)


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
    return Problem(
        model=model,
        inputs=_images(32),
        classes=classes,
        network=network,
        searchable=False,
        has_convolutions=True,
    )


def dense(features: int, hidden: int, classes: int) -> Problem:
    """Two fully connected layers on rows of features."""

    def model() -> Any:
        return nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    return Problem(
        model=model,
        inputs=lambda size, generator: torch.randn(size, features, generator=generator),
        classes=classes,
        network=networks.dense(features, hidden, classes),
        searchable=False,
    )


def mlp() -> Problem:
    """The sequential network 784-128-10 on rows of 784 features."""
    return dense(784, 128, 10)


def digits() -> Problem:
    """The network 64-64-10 on handwritten digits of 8×8 pixels."""
    return dense(64, 64, 10)


def narrow_mlp(*, layers: int = 32, units: int = 32) -> Problem:
    """A chain of residual layers of ``units`` units: four small tensors of weights a layer.

    Without the path around every layer, a chain this long amplifies rounding until no two precisions agree.
    """

    def model() -> Any:
        return nn.Sequential(
            *(_Residual(nn.LayerNorm(units), nn.Linear(units, units), nn.ReLU()) for _ in range(layers))
        )

    return Problem(
        model=model,
        inputs=lambda size, generator: torch.randn(size, units, generator=generator),
        classes=units,
        network=replace(
            networks.dense(*[units] * (layers + 1)), first=0
        ),  # the normalisation before the first layer learns, too
        optimizer=adamw,
        searchable=False,
    )


class _Residual(nn.Sequential):  # type: ignore[misc]  # mypy is not shown PyTorch
    """Layers with a path around them."""

    def forward(self, inputs: Any) -> Any:
        """Return the inputs plus the layers' output."""
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
    transformers = import_installed("transformers", "'accelbench[torch]'")

    def model() -> Any:
        made = transformers.ResNetForImageClassification(transformers.ResNetConfig(**config))
        return _begun_at_zero(made, made.resnet)

    return _image_classifier(model, side, config["num_labels"], network)


def regnet(*, side: int, classes: int, depths: list[int], widths: list[int], group: int) -> Problem:
    """RegNetX on images of ``side`` × ``side`` pixels: every 3×3 filter sees ``group`` channels, not all."""
    transformers = import_installed("transformers", "'accelbench[torch]'")
    config = transformers.RegNetConfig(
        depths=depths, hidden_sizes=widths, groups_width=group, layer_type="x", num_labels=classes
    )

    def model() -> Any:
        made = transformers.RegNetForImageClassification(config)
        return _begun_at_zero(made, made.regnet)

    network = networks.regnet(side, classes, depths, widths, group)
    return _image_classifier(model, side, classes, network)


def _image_classifier(model: Callable[[], Any], side: int, classes: int, network: Network) -> Problem:
    return Problem(
        model=model,
        inputs=_images(side),
        classes=classes,
        network=network,
        has_convolutions=True,
        has_batch_norm=True,
    )


def _begun_at_zero(made: Any, backbone: Any) -> Any:
    """Return a model whose residual branches begin at zero, as in Goyal et al. 2017, arXiv 1706.02677, section 5.1.

    Without this, batch normalisation over a few small images amplifies rounding until no two precisions agree.
    """
    for stage in backbone.encoder.stages:
        for block in stage.layers:
            nn.init.zeros_(block.layer[-1].normalization.weight)
    return made


def bert(*, layers: int, hidden: int, vocabulary: int, tokens: int) -> Problem:
    """A BERT sequence classifier; without dropout, so that every arm computes the same."""
    transformers = import_installed("transformers", "'accelbench[torch]'")
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
        has_attention=True,
    )


def house_prices(columns: int) -> Problem:
    """The network 331-128-64-1, which learns by the root mean square of errors of the logarithm."""

    def model() -> Any:
        layers = [nn.Linear(columns, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1)]
        return nn.Sequential(*layers, nn.Flatten(0))

    return Problem(
        model=model,
        inputs=lambda size, generator: torch.randn(size, columns, generator=generator),
        labels=lambda size, generator: torch.randn(size, generator=generator),
        classes=1,
        network=networks.dense(columns, 128, 64, 1),
        loss=lambda predicted, target: mse_loss(predicted, target).sqrt(),
        searchable=False,
        is_mean_loss=False,
    )


def _images(side: int) -> Callable[[int, Any], Any]:
    def inputs(size: int, generator: Any) -> Any:
        drawn = torch.randn(min(size, DISTINCT), 3, side, side, generator=generator)
        return drawn[torch.arange(size) % DISTINCT]

    return inputs


def as_trained(problem: Problem, *, seed: int) -> Any:
    """Return the problem's model, ready to answer, with batch normalisation of random scale and statistics.

    A new ResNet scales its residual branches by zero, so its answer would not show whether they were computed.
    """
    torch.manual_seed(seed)
    model = problem.model()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.0)
            nn.init.normal_(module.running_mean, std=0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return model.eval()


def logits_of(model: Any, inputs: Any) -> Any:
    """Return the model's answer, whether it comes bare or in a model output of `transformers`."""
    output = model(inputs)
    return output if isinstance(output, torch.Tensor) else output.logits
