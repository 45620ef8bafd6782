"""What is worth knowing, and what can pay, in words."""

from dataclasses import replace

import pytest
from machines import CUPY, H200, TENSORFLOW, TORCH, WELL, having, saying, set_up, with_gpu, without_gpu

from harness.doctor import Facts, as_text, remarks, to_know

NOTHING = having(*(replace(found, devices=()) for found in (TORCH, TENSORFLOW, CUPY)))
CASES = [
    (
        "partly-hidden-gpus",
        set_up(replace(WELL, gpus=(H200, H200)), env_CUDA_VISIBLE_DEVICES="1"),
        "CUDA_VISIBLE_DEVICES='1' leaves 1 of 2 GPUs visible",
    ),
    (
        "newer-cuda-than-the-drivers",
        having(saying(TORCH, built_for="CUDA 13.2"), replace(CUPY, installed=False, description={}, devices=())),
        "PyTorch 2.13.0+cu130 is built for CUDA 13.2 and the driver is for 13.0: that runs",
    ),
    ("nvcc-of-another-cuda", replace(WELL, nvcc="12.4"), "nvcc 12.4 cannot build extensions of PyTorch"),
    (
        "kernels-of-an-older-processor",
        set_up(cpu_instructions="avx2, avx512f", env_OPENBLAS_CORETYPE="Haswell"),
        "OPENBLAS_CORETYPE='Haswell' keeps NumPy from the processor's AVX-512: unset OPENBLAS_CORETYPE",
    ),
]


def shown(facts: Facts) -> str:
    return as_text(facts, [], to_know(facts))


@pytest.mark.parametrize(("name", "facts", "words"), CASES, ids=[case[0] for case in CASES])
def test_what_is_worth_knowing_is_said(name: str, facts: Facts, words: str) -> None:
    sentences = {remark.name: remark.sentence for remark in to_know(facts)}
    assert words in sentences[name]
    assert f"  - {sentences[name]}" in shown(facts).splitlines()


def test_every_remark_is_reached() -> None:
    assert {case[0] for case in CASES} == {rule.__name__.replace("_", "-") for rule in remarks.RULES}


@pytest.mark.parametrize(
    "facts",
    [
        set_up(cpu_instructions="avx2", env_OPENBLAS_CORETYPE="Haswell"),
        set_up(cpu_instructions="avx2, avx512f", env_OPENBLAS_CORETYPE="SkylakeX", env_ATEN_CPU_CAPABILITY="avx512"),
        set_up(cpu_instructions="avx2, avx512f"),
    ],
)
def test_nothing_is_said_of_kernels_that_fit_the_processor(facts: Facts) -> None:
    assert to_know(facts) == to_know(WELL)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (WELL, "GPU: PyTorch, TensorFlow, CuPy can use 1 accelerator"),
        (WELL, "NVIDIA H200: tensor cores for bfloat16, float16 and TF32"),
        (with_gpu(compute_capability="7.5"), "NVIDIA H200: tensor cores for float16 but not for bfloat16"),
        (with_gpu(compute_capability="6.1"), "NVIDIA H200: no tensor cores"),
        (with_gpu(compute_capability="12.0"), "NVIDIA H200: tensor cores for bfloat16"),
        (NOTHING, "GPU: there is one, but no framework can use it yet"),
        (without_gpu(), "GPU: none, so the techniques that need one are skipped"),
        (WELL, "Cores: 16, so threads, loader workers and parallel maps can gain, at most 16×"),
        (replace(WELL, visible_cores=1), "Cores: one, so threads"),
        (WELL, "bfloat16: in hardware (amx_bf16, avx512_bf16)"),
        (replace(WELL, cpu_features=()), "bfloat16: not in the processor's hardware"),
        (WELL, "Memory: 100 GiB free"),
    ],
)
def test_the_screen_says_what_can_pay_here(facts: Facts, words: str) -> None:
    assert f"  - {words}" in shown(facts)


@pytest.mark.parametrize(
    "row",
    [
        "  GPU 0       NVIDIA H200, 140 GiB, of which 139 GiB are free",
        "  driver      580.65.06, for CUDA up to 13.0",
        "  PyTorch     2.13.0+cu130, built for CUDA 13.0, cuDNN 91501, 16 threads, sees 1 GPU: NVIDIA H200 (140 GiB)",
        "  TensorFlow  2.21.0, built for CUDA 12.9.1, cuDNN 9, sees 1 GPU: NVIDIA H200",
        "  nvcc        13.0",
    ],
)
def test_the_screen_shows_the_machine_and_its_frameworks(row: str) -> None:
    assert row in shown(WELL).splitlines()


def test_a_framework_that_is_missing_is_shown_with_the_way_to_install_it() -> None:
    facts = having(replace(CUPY, installed=False, description={}, devices=()))
    assert "  CuPy        not installed: pip install 'accelbench[cupy]'" in shown(facts).splitlines()
    assert shown(facts).endswith("To mend\n  nothing")


def test_a_containers_share_of_the_cores_is_shown() -> None:
    assert "16 cores, of whose time the container may use 2.5 cores" in shown(set_up(cpu_quota_cores="2.5"))
