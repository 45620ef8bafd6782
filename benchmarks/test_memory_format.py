"""Does it pay to keep all channels of a pixel together in memory, alone and where precision is mixed too?

Regular convolutions are what the format is made for. RegNet's see a few channels each: other kernels compute them, so
that the gain of one network says nothing of the other's. A network of linear layers has no images, so that there is
nothing to lay out: the control. What format and precision bring only together is taken apart in test_attribution.py.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize(
    ("workload", "amp"),
    [
        ("cnn-train", "fp32"),
        ("cnn-train", "bf16"),
        ("regnet-train", "fp32"),
        pytest.param("regnet-train", "bf16", marks=pytest.mark.slow),
        pytest.param("resnet50-train", "bf16", marks=pytest.mark.slow),
    ],
)
@toggles("torch", "memory_format")
def test_memory_format(measure, workload, amp):
    measure(workload, amp=amp)


@toggles("torch", "memory_format")
def test_memory_format_without_images(measure):
    measure("mlp-train")
