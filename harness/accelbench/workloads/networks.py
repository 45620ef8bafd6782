"""The additions and multiplications of networks, counted layer by layer, and the work that follows from them.

A multiply-add counts as two. Activations, normalisation and pooling are left out, and biases too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from accelbench.core import Work

# Winograd's algorithm for tiles of 4×4 and kernels of 3×3 does with 36 multiplications instead of 144: F(4×4, 3×3) in
# Lavin and Gray 2015, arXiv 1509.09308.
WINOGRAD = 4.0

# Block 3a of GoogLeNet: the channels and the side of its images, and the ways to run its branches.
INCEPTION_CHANNELS = 192
INCEPTION_SIDE = 28
INCEPTION_BRANCHES = ("serial", "parallel", "fused")


@dataclass(frozen=True, kw_only=True)
class Network:
    """What a network computes from one item.

    ``forward`` counts the operations of a forward pass, ``first`` those of its layers that read the item itself.
    A known algorithm may do with ``saving`` times fewer.
    """

    forward: int
    first: int = 0
    saving: float = 1

    def answering(self, items: int, *, memory_bytes: int = 0) -> Work:
        """Return the work of a forward pass in float32."""
        return Work(operations=items * self.forward, saving=self.saving, precision="fp32", memory_bytes=memory_bytes)

    def learning(self, items: int, *, precision: str = "fp32", memory_bytes: int = 0, to_device_bytes: int = 0) -> Work:
        """Return the work of training on ``items`` items.

        Each layer computes its output, the gradient of its weights, and that of its inputs, as long as those are not
        the items themselves.
        """
        return Work(
            operations=items * (3 * self.forward - self.first),
            saving=self.saving,
            precision=precision,
            memory_bytes=memory_bytes,
            to_device_bytes=to_device_bytes,
        )


def dense(*widths: int) -> Network:
    """Return the network of fully connected layers between layers of these widths."""
    layers = [2 * inputs * outputs for inputs, outputs in pairwise(widths)]
    return Network(forward=sum(layers), first=layers[0])


def small_cnn(side: int, classes: int) -> Network:
    """Return two 3×3 convolutions, 3-16-32 channels, each before a pooling by 2, and two linear layers, 128 between."""
    first = _convolution(3, 16, 3, side)
    second = _convolution(16, 32, 3, side // 2)
    head = dense(32 * (side // 4) ** 2, 128, classes)
    return Network(forward=first + second + head.forward, first=first, saving=WINOGRAD)


def resnet(side: int, classes: int, depths: Sequence[int], *, bottleneck: bool, early_stride: bool = False) -> Network:
    """Return a ResNet (He et al. 2015, arXiv 1512.03385, table 1) on images of ``side`` × ``side`` pixels.

    ``early_stride`` selects version 1, which halves the sides in a bottleneck's first convolution, not version 1.5.
    """
    side = _halve(side)
    stem = operations = _convolution(3, 64, 7, side)
    side = _halve(side)  # by pooling
    channels = 64
    for stage, depth in enumerate(depths):
        inner = 64 << stage
        outer = 4 * inner if bottleneck else inner
        for block in range(depth):
            before, side = side, _halve(side) if stage and not block else side
            if bottleneck:
                operations += _convolution(channels, inner, 1, side if early_stride else before)
                operations += _convolution(inner, inner, 3, side) + _convolution(inner, outer, 1, side)
            else:
                operations += _convolution(channels, inner, 3, side) + _convolution(inner, inner, 3, side)
            if channels != outer:
                operations += _convolution(channels, outer, 1, side)  # beside the block
            channels = outer
    return Network(forward=operations + dense(channels, classes).forward, first=stem, saving=WINOGRAD)


def regnet(side: int, classes: int, depths: Sequence[int], widths: Sequence[int], group: int) -> Network:
    """Return a RegNetX (Radosavovic et al. 2020, arXiv 2003.13678, figure 4) on images of ``side`` × ``side`` pixels.

    Every stage halves the sides in its first block. A 3×3 convolution makes each channel from ``group`` others.
    """
    side, channels = _halve(side), 32
    stem = operations = _convolution(3, channels, 3, side)
    for depth, width in zip(depths, widths, strict=True):
        for block in range(depth):
            before, side = side, side if block else _halve(side)
            operations += _convolution(channels, width, 1, before)
            operations += _convolution(group, width, 3, side) + _convolution(width, width, 1, side)
            if not block:
                operations += _convolution(channels, width, 1, side)  # beside the block
            channels = width
    return Network(forward=operations + dense(channels, classes).forward, first=stem, saving=WINOGRAD)


def bert(*, layers: int, hidden: int, tokens: int, classes: int) -> Network:
    """Return a BERT classifier (Devlin et al. 2018, arXiv 1810.04805) on sequences of ``tokens`` tokens.

    A layer has four projections, two products of attention, and two linear layers with four times the units between.
    """
    projections = dense(hidden, hidden).forward * 4 + dense(hidden, 4 * hidden, hidden).forward
    attention = 2 * 2 * tokens * hidden
    head = dense(hidden, hidden, classes).forward  # reads the first token alone
    return Network(forward=layers * tokens * (projections + attention) + head)


def inception(*, classes: int = 0, fused: bool, learns_below: bool = True) -> Network:
    """Return block 3a of GoogLeNet on 28×28 images of 192 channels, or the convolution of about its cost.

    With ``classes``, it is under a classifier's head. ``learns_below`` says whether gradients reach its inputs.
    """
    pixels = INCEPTION_SIDE**2
    if fused:
        forward = first = 2 * 165_888 * pixels
    else:
        forward, first = 2 * 163_328 * pixels, 2 * INCEPTION_CHANNELS * (64 + 96 + 16 + 32) * pixels
    head = dense(96 if fused else 256, classes).forward
    return Network(forward=forward + head, first=0 if learns_below else first, saving=WINOGRAD)


def _convolution(channels: int, filters: int, kernel: int, side: int) -> int:
    """Return the operations of a convolution whose output has ``side`` × ``side`` pixels."""
    return 2 * channels * filters * kernel**2 * side**2


def _halve(side: int) -> int:
    return (side + 1) // 2
