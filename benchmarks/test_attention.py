"""Does fused attention pay over long sequences, in time and in memory, and what does it bring over short ones?

On 512 tokens, attention's matrices are about half of what a layer keeps; on 64 they are a small part of it. On a GPU,
PyTorch has flash attention in 16 bits alone, and another fused kernel for float32.
"""

import pytest

from accelbench import toggles


@pytest.mark.parametrize("workload", ["long-bert-train", "bert-train"])
@toggles("torch", "attention")
def test_attention(measure, workload):
    measure(workload)


@pytest.mark.slow
@toggles("torch", "attention")
def test_attention_in_bfloat16(measure):
    measure("long-bert-train", amp="bf16")
