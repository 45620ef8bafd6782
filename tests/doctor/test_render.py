"""The report shows the machine, its frameworks, what can pay, the notes and what to fix."""

from dataclasses import replace

import pytest
from machines import (
    CUPY,
    HEALTHY,
    TENSORFLOW,
    TORCH,
    with_configuration,
    with_frameworks,
    with_gpu,
    without_gpu,
)

from accelbench.doctor import Facts, Finding, as_text, find_notes

NOTHING = with_frameworks(*(replace(found, devices=()) for found in (TORCH, TENSORFLOW, CUPY)))


def render(facts: Facts) -> str:
    return as_text(facts, [], find_notes(facts))


def test_problems_come_last_after_the_notes() -> None:
    (problem, note) = (Finding(name=name, sentence=f"a {name}") for name in ("problem", "note"))
    assert as_text(HEALTHY, [problem], [note]).endswith("Notes\n  - a note\n\nTo fix\n  - a problem")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (HEALTHY, "GPU: PyTorch, TensorFlow, CuPy can use 1 accelerator"),
        (HEALTHY, "NVIDIA H200: tensor cores for bfloat16, float16 and TF32"),
        (with_gpu(compute_capability="7.5"), "NVIDIA H200: tensor cores for float16 but not for bfloat16"),
        (with_gpu(compute_capability="6.1"), "NVIDIA H200: no tensor cores"),
        (with_gpu(compute_capability="12.0"), "NVIDIA H200: tensor cores for bfloat16"),
        (NOTHING, "GPU: there is one, but no framework can use it yet"),
        (without_gpu(), "GPU: none, so techniques that need one are reported as skipped"),
        (HEALTHY, "Cores: 16, so threads, loader workers and parallel maps can gain, at most 16×"),
        (replace(HEALTHY, visible_cores=1), "Cores: one, so threads"),
        (HEALTHY, "bfloat16: in hardware (amx_bf16, avx512_bf16)"),
        (replace(HEALTHY, cpu_features=()), "bfloat16: not in the processor's hardware"),
        (HEALTHY, "Memory: 100 GiB free"),
    ],
)
def test_the_report_shows_what_can_pay_here(facts: Facts, words: str) -> None:
    assert f"  - {words}" in render(facts)


def test_a_framework_with_an_interpreter_of_its_own_says_so() -> None:
    elsewhere = replace(TENSORFLOW, own_interpreter=True)
    described = replace(elsewhere, description={**TENSORFLOW.description, "tensorflow.python": "CPython 3.12.3"})
    named = "in the environment that ACCELBENCH_PYTHON_TENSORFLOW names"
    assert f"sees 1 GPU: NVIDIA H200, {named}: CPython 3.12.3\n" in render(with_frameworks(described))
    absent = replace(elsewhere, installed=False, description={})
    assert f"  TensorFlow  not installed {named}: pip install" in render(with_frameworks(absent))


@pytest.mark.parametrize(
    "row",
    [
        "  GPU 0       NVIDIA H200, 140 GiB, 139 GiB free",
        "  driver      580.65.06, for CUDA up to 13.0",
        "  PyTorch     2.13.0+cu130, built for CUDA 13.0, cuDNN 91501, 16 threads, sees 1 GPU: NVIDIA H200 (140 GiB)",
        "  TensorFlow  2.21.0, built for CUDA 12.9.1, cuDNN 9, sees 1 GPU: NVIDIA H200",
        "  nvcc        13.0",
    ],
)
def test_the_report_shows_the_machine_and_its_frameworks(row: str) -> None:
    assert row in render(HEALTHY).splitlines()


def test_a_framework_that_is_missing_is_shown_with_the_way_to_install_it() -> None:
    facts = with_frameworks(replace(CUPY, installed=False, description={}, devices=()))
    assert "  CuPy        not installed: pip install 'accelbench[cupy]'" in render(facts).splitlines()
    assert render(facts).endswith("To fix\n  nothing")


def test_a_containers_share_of_the_cores_is_shown() -> None:
    assert "16 cores, of which the container may use the time of 2.5" in render(
        with_configuration(cpu_quota_cores="2.5")
    )


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (
            {"core_latency_s": 2.1e-7, "best_core_latency_s": 2e-7},
            "near: a cache line takes 210 ns from one to another",
        ),
        ({"core_latency_s": 4.2e-7, "best_core_latency_s": 2e-7}, "far apart: a cache line takes 420 ns from one to"),
        ({"core_latency_s": 4.2e-7}, "a cache line takes 420 ns from one to another, the first reading here"),
        ({}, "near or far is unknown: to read that takes Linux, two physical cores"),
        ({"visible_cores": 1}, "a single one, which has no other to be near to"),
    ],
)
def test_it_says_whether_the_cores_lie_near_each_other_as_far_as_that_is_known(
    known: dict[str, float], words: str
) -> None:
    assert f"  cores       {words}" in render(replace(HEALTHY, **known))  # type: ignore[arg-type]  # the test's own
