"""Does it pay to keep all channels of a pixel together in memory, alone and where precision is mixed too?

A network of linear layers has no images, so that there is nothing to lay out: the control.
"""

import pytest

from harness import toggles


@pytest.mark.parametrize("amp", ["fp32", "bf16"])
@pytest.mark.parametrize("workload", ["cnn-train", "resnet18-train"])
@toggles("torch", "memory_format")
def test_memory_format(measure, workload, amp, memory_format):
    measure(workload, amp=amp, memory_format=memory_format)


@toggles("torch", "memory_format")
def test_memory_format_without_images(measure, memory_format):
    measure("mlp-train", memory_format=memory_format)
