"""Every rule finds the one thing that is wrong on some machine, and names the way out."""

from dataclasses import replace

import pytest
from machines import (
    CUPY,
    GIB,
    H200,
    HEALTHY,
    NUMPY,
    TENSORFLOW,
    TORCH,
    with_configuration,
    with_description,
    with_frameworks,
    with_gpu,
    without_gpu,
)

from accelbench.doctor import Facts, find_notes, find_problems
from accelbench.doctor.rules import NOTES, PROBLEMS, Rule

SILENT = replace(HEALTHY, gpus=(), visible_gpus=0, driver_silence="Driver Not Loaded")
OLD_DRIVER = replace(with_configuration(driver_nvidia="570.86.15", driver_cuda="12.8"), nvcc="12.8")
BLIND_TORCH = replace(TORCH, devices=(), warnings=("CUDA initialization: CUDA unknown error.",))
BLIND_TENSORFLOW = replace(TENSORFLOW, devices=())
CPU_TORCH = replace(with_description(TORCH, version="2.13.0+cpu", built_for="CPU"), devices=())
CPU_TENSORFLOW = replace(with_description(TENSORFLOW, built_for="CPU"), devices=())
ELSEWHERE = replace(TENSORFLOW, own_interpreter=True, packages={"tensorflow": "2.21.0"})
LACKS = ("Cannot dlopen some GPU libraries.",)
NO_TORCH = replace(TORCH, installed=False, description={}, devices=())
NO_TENSORFLOW = replace(TENSORFLOW, installed=False, description={}, devices=())
CUPY_12 = with_description(CUPY, built_for="CUDA 12.9", nvrtc="not found")
WITHIN_QUOTA = with_frameworks(
    with_description(TORCH, threads="2"),
    with_description(NUMPY, blas_threads="2"),
    machine=with_configuration(cpu_quota_cores="2", env_TF_NUM_INTRAOP_THREADS="2", env_OMP_NUM_THREADS="2"),
)

# For every rule: a machine on which it finds something, and a part of its sentence.
PROBLEM_CASES = [
    ("silent-driver", SILENT, "no driver answers (Driver Not Loaded): install NVIDIA's driver"),
    ("silent-driver", replace(SILENT, driver_silence="An NVML/RM version mismatch."), "version mismatch): reboot"),
    (
        "hidden-gpus",
        with_configuration(replace(HEALTHY, visible_gpus=0), env_CUDA_VISIBLE_DEVICES=""),
        "CUDA_VISIBLE_DEVICES='' hides the GPU from every framework: unset it",
    ),
    (
        "gpu-in-use",
        with_gpu(process_ids=(4711,)),
        "is in use by another process (4711), which takes",
    ),
    ("gpu-in-use", with_gpu(process_ids=(1, 2)), "is in use by other processes (1, 2), which"),
    ("gpu-in-use", with_gpu(free_memory_bytes=14 * GIB), "has 90 % of its 140 GiB in use by processes that are not"),
    ("gpu-in-use", with_gpu(free_memory_bytes=0), "has 100 % of its 140 GiB in use"),
    ("throttled-gpu", with_gpu(throttle_reasons=("temperature",)), "below its clock (temperature): let it cool down"),
    ("throttled-gpu", with_gpu(throttle_reasons=("power cap",)), "(power cap): see its power limit with nvidia-smi -q"),
    ("nvcc-too-new", replace(HEALTHY, nvcc="14.1"), "that driver 580.65.06, for CUDA up to 13.0, cannot run: upgrade"),
    (
        "broken-framework",
        with_frameworks(replace(TORCH, failure="OSError: libcublas.so.13: not there")),
        "is installed but cannot be used (OSError: libcublas.so.13: not there): pip install --force-reinstall torch",
    ),
    (
        "broken-framework",
        with_frameworks(
            replace(ELSEWHERE, description={}, failure="ACCELBENCH_PYTHON_TENSORFLOW='x': no such program")
        ),
        "TensorFlow cannot be used (ACCELBENCH_PYTHON_TENSORFLOW='x': no such program): see to the environment that",
    ),
    (
        "build-without-cuda",
        with_frameworks(CPU_TORCH),
        "2.13.0+cpu is built for the CPU alone and cannot use the GPU (NVIDIA H200)",
    ),
    (
        "build-without-cuda",
        with_frameworks(with_description(CPU_TORCH, built_for="HIP 6.4")),
        "is built for HIP 6.4 and cannot use the GPU",
    ),
    (
        "build-without-cuda",
        replace(with_frameworks(CPU_TENSORFLOW), packages={"tensorflow-cpu": "2.21.0", "cupy-cuda13x": "14.2.0"}),
        "pip uninstall tensorflow-cpu, then pip install 'tensorflow[and-cuda]'",
    ),
    (
        "driver-too-old",
        with_frameworks(replace(TORCH, devices=()), machine=OLD_DRIVER),
        "is built for CUDA 13.0, but driver 570.86.15 runs CUDA up to 12.8: install driver 580 or newer, or a build",
    ),
    (
        "driver-too-old",
        with_frameworks(
            replace(TORCH, devices=()), machine=with_configuration(driver_nvidia="570.86.15", driver_cuda="")
        ),
        "driver 570.86.15 runs CUDA up to an older one: install driver 580 or newer",
    ),
    (
        "gpu-not-built-for",
        with_frameworks(with_description(TORCH, architectures="sm_50 sm_80 sm_86")),
        "contains no code for NVIDIA H200 (compute capability 9.0), only for sm_50, sm_80, sm_86",
    ),
    (
        "wrong-cudnn",
        with_frameworks(
            with_description(TORCH, cudnn="cuDNN version incompatibility: runtime version (8, 9, 7). More.")
        ),
        "rejects the cuDNN that it found (cuDNN version incompatibility: runtime version (8, 9, 7)): take the other",
    ),
    (
        "wrong-cudnn",
        with_frameworks(
            with_description(TORCH, cudnn="cuDNN version 91100 is not compatible with devices with SM < 7.5. More.")
        ),
        "install the build that https://pytorch.org/get-started/locally gives for this GPU",
    ),
    (
        "wrong-cudnn",
        replace(HEALTHY, packages=HEALTHY.packages | {"nvidia-cudnn-cu12": "8.9.7.29"}),
        "is built for cuDNN 9, but nvidia-cudnn-cu12 is 8.9.7.29: pip install 'tensorflow[and-cuda]==2.21.0'",
    ),
    (
        "tensorflow-without-libraries",
        with_frameworks(replace(BLIND_TENSORFLOW, warnings=LACKS)),
        "[and-cuda]==2.21.0' accelbench in another environment, since the libraries here are those of CUDA 13.0 for",
    ),
    (
        "tensorflow-without-libraries",
        with_frameworks(replace(ELSEWHERE, devices=(), warnings=LACKS)),
        "TensorFlow 2.21.0 finds no libraries of CUDA 12.9.1 and so no GPU: pip install 'tensorflow[and-cuda]==2.21.0'",
    ),
    (
        "cupy-for-another-cuda",
        replace(with_frameworks(CUPY_12, NO_TENSORFLOW), packages={"cupy-cuda12x": "14.2.0"}),
        "(nvcc 13, PyTorch 13): pip uninstall cupy-cuda12x, then pip install 'cupy-cuda13x[ctk]'",
    ),
    (
        "cupy-for-another-cuda",
        replace(
            with_frameworks(with_description(CUPY_12, nvrtc="13.0"), NO_TENSORFLOW), packages={"cupy-cuda12x": "14.2.0"}
        ),
        "cupy-cuda12x looks for the libraries of CUDA 12, but those installed are for another version",
    ),
    (
        "cupy-without-libraries",
        with_frameworks(with_description(CUPY, nvrtc="not found")),
        "CuPy 14.2.0 finds no libraries of CUDA 13: pip install 'cupy-cuda13x[ctk]'",
    ),
    (
        "several-cupys",
        replace(HEALTHY, packages=HEALTHY.packages | {"cupy-cuda12x": "13.6.0"}),
        "2 CuPy packages are installed over each other (cupy-cuda13x, cupy-cuda12x): pip uninstall cupy-cuda13x",
    ),
    (
        "blind-framework",
        with_frameworks(BLIND_TORCH),
        "but it sees no GPU; it reports: CUDA initialization: CUDA unknown error: pip install --force-reinstall torch",
    ),
    (
        "more-threads-than-cores",
        with_configuration(env_OMP_NUM_THREADS="64"),
        "more threads requested (OMP_NUM_THREADS 64) than the 16 cores of this process: export OMP_NUM_THREADS=16",
    ),
    (
        "more-threads-than-cores",
        replace(HEALTHY, visible_cores=1),
        "(PyTorch 16, NumPy 16) than the one core of this process: export OMP_NUM_THREADS=1",
    ),
    (
        "more-threads-than-cores",
        with_frameworks(with_description(TENSORFLOW, intra_op_threads="32")),
        "(TensorFlow 32) than the 16 cores of this process: export TF_NUM_INTRAOP_THREADS=16",
    ),
    (
        "quota-below-cores",
        with_configuration(cpu_quota_cores="2.5"),
        "the time of 2.5 cores but sees 16, so libraries start too many threads (PyTorch 16, TensorFlow 16, NumPy 16)",
    ),
    (
        "quota-below-cores",
        with_configuration(cpu_quota_cores="0.5"),
        "export OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1, or raise the quota",
    ),
    (
        "little-shared-memory",
        replace(HEALTHY, free_shared_memory_bytes=64 * 2**20),
        "/dev/shm has 64.0 MiB free, but 16 loaders of PyTorch 2.13.0+cu130 that prepare 2 batches of 64 images (",
    ),
    (
        "little-shared-memory",
        replace(HEALTHY, free_shared_memory_bytes=64 * 2**20),
        "each keep 1.15 GiB there, and a loader without room dies of a bus error: start the container with --shm",
    ),
]

NOTE_CASES = [
    (
        "partly-hidden-gpus",
        with_configuration(replace(HEALTHY, gpus=(H200, H200)), env_CUDA_VISIBLE_DEVICES="1"),
        "CUDA_VISIBLE_DEVICES='1' leaves 1 of 2 GPUs visible",
    ),
    (
        "cuda-newer-than-driver",
        with_frameworks(
            with_description(TORCH, built_for="CUDA 13.2"), replace(CUPY, installed=False, description={}, devices=())
        ),
        "PyTorch 2.13.0+cu130 is built for CUDA 13.2 and the driver is for 13.0: that runs",
    ),
    ("nvcc-for-another-cuda", replace(HEALTHY, nvcc="12.4"), "nvcc 12.4 cannot build extensions for PyTorch"),
    (
        "kernels-for-older-processor",
        with_configuration(cpu_instructions="avx2, avx512f", env_OPENBLAS_CORETYPE="Haswell"),
        "OPENBLAS_CORETYPE='Haswell' keeps NumPy from using the processor's AVX-512: unset OPENBLAS_CORETYPE",
    ),
    (
        "cores-far-apart",
        replace(HEALTHY, core_latency_s=4.2e-7, best_core_latency_s=2.0e-7),
        "takes 2.1 times as long as at best on this machine, 220 ns more for each cache line",
    ),
]


def problem_names(facts: Facts) -> list[str]:
    return [finding.name for finding in find_problems(facts)]


def test_a_healthy_machine_has_no_problems() -> None:
    assert find_problems(HEALTHY) == []


def test_a_container_whose_loaders_fit_into_its_shared_memory_has_no_problem() -> None:
    assert problem_names(replace(HEALTHY, free_shared_memory_bytes=2 * GIB)) == []
    few = with_frameworks(with_description(TORCH, threads="1"), with_description(NUMPY, blas_threads="1"))
    assert problem_names(replace(few, visible_cores=1, free_shared_memory_bytes=80 * 2**20)) == []
    assert problem_names(with_frameworks(NO_TORCH, machine=replace(HEALTHY, free_shared_memory_bytes=0))) == []


@pytest.mark.parametrize(
    ("name", "facts", "words"), PROBLEM_CASES, ids=[f"{case[0]}-{i}" for i, case in enumerate(PROBLEM_CASES)]
)
def test_one_problem_is_one_sentence_with_the_way_out(name: str, facts: Facts, words: str) -> None:
    (finding,) = find_problems(facts)
    assert finding.name == name
    assert words in finding.sentence
    assert ": " in finding.sentence


@pytest.mark.parametrize(("rules", "cases"), [(PROBLEMS, PROBLEM_CASES), (NOTES, NOTE_CASES)])
def test_every_rule_has_a_case(rules: tuple[Rule, ...], cases: list[tuple[str, Facts, str]]) -> None:
    assert {case[0] for case in cases} == {rule.__name__.replace("_", "-") for rule in rules}


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(without_gpu(), id="no-gpu"),
        pytest.param(without_gpu(with_frameworks(with_description(CUPY, nvrtc="not found"))), id="cupy-without-a-gpu"),
        pytest.param(with_frameworks(with_description(TORCH, built_for="CUDA 12.4")), id="an-older-cuda"),
        pytest.param(
            with_frameworks(with_description(TORCH, built_for="CUDA 13.2")), id="a-minor-version-ahead-of-the-driver"
        ),
        pytest.param(with_frameworks(TORCH, machine=OLD_DRIVER), id="a-forward-compatibility-package"),
        pytest.param(with_frameworks(NO_TENSORFLOW), id="not-installed"),
        pytest.param(WITHIN_QUOTA, id="threads-within-the-quota"),
        pytest.param(with_gpu(free_memory_bytes=130 * GIB), id="a-desktop-on-the-gpu"),
        pytest.param(with_gpu(throttle_reasons=("sync boost",)), id="gpus-in-step"),
        pytest.param(replace(HEALTHY, gpus=(H200, H200), visible_gpus=1, pci_gpus=2), id="some-gpus-hidden"),
    ],
)
def test_what_works_is_no_problem(facts: Facts) -> None:
    assert problem_names(facts) == []


def test_the_packages_of_an_environment_are_judged_with_the_framework_in_it() -> None:
    old = {"nvidia-cudnn-cu12": "8.9.7.29"}
    assert problem_names(with_frameworks(replace(ELSEWHERE, packages=old))) == ["wrong-cudnn"]
    assert problem_names(replace(with_frameworks(ELSEWHERE), packages=HEALTHY.packages | old)) == []
    alone = replace(CUPY_12, own_interpreter=True, packages={"cupy-cuda12x": "14.2.0"})
    (finding,) = find_problems(with_frameworks(alone))
    assert "cupy-cuda12x looks for the libraries of CUDA 12, but those installed are for another" in finding.sentence
    assert "(nvcc 13)" in finding.sentence  # and not PyTorch's, which are not beside it


def test_a_variable_that_hides_the_gpu_is_the_only_problem() -> None:
    blind = with_frameworks(BLIND_TORCH, BLIND_TENSORFLOW, replace(CUPY, devices=()))
    hidden = with_configuration(replace(blind, visible_gpus=0), env_CUDA_VISIBLE_DEVICES="-1")
    assert problem_names(hidden) == ["hidden-gpus"]


@pytest.mark.parametrize(
    ("architectures", "capability", "runs"),
    [
        ("sm_80", "8.0", True),
        ("sm_80", "8.9", True),
        ("sm_86", "8.0", False),
        ("sm_80", "9.0", False),
        ("sm_80 compute_80", "12.0", True),
        ("compute_90", "8.0", False),
        ("sm_90a", "9.0", True),
        ("sm_100a", "10.3", False),
        ("sm_100f", "10.3", True),
        ("sm_120", "12.1", True),
        ("", "7.0", True),
    ],
)
def test_a_build_runs_where_nvidias_rules_let_it(architectures: str, capability: str, runs: bool) -> None:
    facts = with_frameworks(
        with_description(TORCH, architectures=architectures), machine=with_gpu(compute_capability=capability)
    )
    assert (
        "gpu-not-built-for"
        in [finding.name for finding in find_problems(with_frameworks(NO_TENSORFLOW, machine=facts))]
    ) != runs


@pytest.mark.parametrize(("name", "facts", "words"), NOTE_CASES, ids=[case[0] for case in NOTE_CASES])
def test_what_is_worth_knowing_is_a_note(name: str, facts: Facts, words: str) -> None:
    assert words in {note.name: note.sentence for note in find_notes(facts)}[name]


@pytest.mark.parametrize(
    "facts",
    [
        with_configuration(cpu_instructions="avx2", env_OPENBLAS_CORETYPE="Haswell"),
        with_configuration(
            cpu_instructions="avx2, avx512f", env_OPENBLAS_CORETYPE="SkylakeX", env_ATEN_CPU_CAPABILITY="avx512"
        ),
        with_configuration(cpu_instructions="avx2, avx512f"),
    ],
)
def test_kernels_for_this_processor_are_not_worth_a_note(facts: Facts) -> None:
    assert find_notes(facts) == find_notes(HEALTHY)


@pytest.mark.parametrize(
    "latencies_s", [(None, None), (None, 2e-7), (4e-7, None), (4e-7, 0.0), (2.3e-7, 2e-7), (1.5e-7, 2e-7)]
)
def test_cores_that_are_near_or_of_which_nothing_is_known_are_not_worth_a_note(
    latencies_s: tuple[float | None, float | None],
) -> None:
    now_s, best_s = latencies_s
    assert find_notes(replace(HEALTHY, core_latency_s=now_s, best_core_latency_s=best_s)) == find_notes(HEALTHY)
