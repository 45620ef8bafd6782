"""Every sentence about something to mend is reached, by the one change that calls for it, and names the way out."""

from dataclasses import replace

import pytest
from machines import CUPY, GIB, H200, NUMPY, TENSORFLOW, TORCH, WELL, having, saying, set_up, with_gpu, without_gpu

from harness.doctor import Facts, builds, cores, gpus, to_mend

SILENT = replace(WELL, gpus=(), shown_gpus=0, driver_silence="Driver Not Loaded")
OLD_DRIVER = replace(set_up(driver_nvidia="570.86.15", driver_cuda="12.8"), nvcc="12.8")
BLIND_TORCH = replace(TORCH, devices=(), warnings=("CUDA initialization: CUDA unknown error.",))
BLIND_TENSORFLOW = replace(TENSORFLOW, devices=())
CPU_TORCH = replace(saying(TORCH, version="2.13.0+cpu", built_for="CPU"), devices=())
CPU_TENSORFLOW = replace(saying(TENSORFLOW, built_for="CPU"), devices=())
NO_TENSORFLOW = replace(TENSORFLOW, installed=False, description={}, devices=())
CUPY_12 = saying(CUPY, built_for="CUDA 12.9", nvrtc="not found")
QUOTA_KEPT = having(
    saying(TORCH, threads="2"),
    saying(NUMPY, blas_threads="2"),
    machine=set_up(cpu_quota_cores="2", env_TF_NUM_INTRAOP_THREADS="2", env_OMP_NUM_THREADS="2"),
)

# For every rule: a machine on which it speaks, and words of its sentence.
CASES = [
    ("silent-driver", SILENT, "no driver answers (Driver Not Loaded): install NVIDIA's driver"),
    ("silent-driver", replace(SILENT, driver_silence="An NVML/RM version mismatch."), "version mismatch): reboot"),
    (
        "hidden-gpus",
        set_up(replace(WELL, shown_gpus=0), env_CUDA_VISIBLE_DEVICES=""),
        "CUDA_VISIBLE_DEVICES='' hides the GPU from every framework: unset it",
    ),
    (
        "gpu-in-use",
        with_gpu(process_ids=(4711,)),
        "is in use by another process (4711), which costs",
    ),
    ("gpu-in-use", with_gpu(process_ids=(1, 2)), "is in use by other processes (1, 2), which"),
    ("gpu-in-use", with_gpu(free_memory_bytes=14 * GIB), "has 90 % of its 140 GiB taken by processes that cannot be"),
    ("gpu-in-use", with_gpu(free_memory_bytes=0), "has 100 % of its 140 GiB taken"),
    ("throttled-gpu", with_gpu(throttle_reasons=("temperature",)), "below its clock (temperature): let it cool down"),
    ("throttled-gpu", with_gpu(throttle_reasons=("power cap",)), "(power cap): see its power limit with nvidia-smi -q"),
    ("nvcc-too-new", replace(WELL, nvcc="14.1"), "that driver 580.65.06, for CUDA up to 13.0, cannot run: upgrade"),
    (
        "broken-framework",
        having(replace(TORCH, failure="OSError: libcublas.so.13: not there")),
        "is installed but cannot be used (OSError: libcublas.so.13: not there): pip install --force-reinstall torch",
    ),
    (
        "build-without-cuda",
        having(CPU_TORCH),
        "2.13.0+cpu is built for the CPU alone and cannot use the GPU (NVIDIA H200)",
    ),
    (
        "build-without-cuda",
        having(saying(CPU_TORCH, built_for="HIP 6.4")),
        "is built for HIP 6.4 and cannot use the GPU",
    ),
    (
        "build-without-cuda",
        replace(having(CPU_TENSORFLOW), packages={"tensorflow-cpu": "2.21.0", "cupy-cuda13x": "14.2.0"}),
        "pip uninstall tensorflow-cpu, then pip install 'tensorflow[and-cuda]'",
    ),
    (
        "driver-too-old",
        having(replace(TORCH, devices=()), machine=OLD_DRIVER),
        "is built for CUDA 13.0, but driver 570.86.15 runs CUDA up to 12.8: install driver 580 or newer, or a build",
    ),
    (
        "driver-too-old",
        having(replace(TORCH, devices=()), machine=set_up(driver_nvidia="570.86.15", driver_cuda="")),
        "driver 570.86.15 runs CUDA up to an older one: install driver 580 or newer",
    ),
    (
        "gpu-not-built-for",
        having(saying(TORCH, architectures="sm_50 sm_80 sm_86")),
        "holds no code for NVIDIA H200 (compute capability 9.0), only for sm_50, sm_80, sm_86",
    ),
    (
        "wrong-cudnn",
        having(saying(TORCH, cudnn="cuDNN version incompatibility: runtime version (8, 9, 7). More.")),
        "refuses the cuDNN that it found (cuDNN version incompatibility: runtime version (8, 9, 7)): take the other",
    ),
    (
        "wrong-cudnn",
        having(saying(TORCH, cudnn="cuDNN version 91100 is not compatible with devices with SM < 7.5. More.")),
        "install the build that https://pytorch.org/get-started/locally gives for this GPU",
    ),
    (
        "wrong-cudnn",
        replace(WELL, packages=WELL.packages | {"nvidia-cudnn-cu12": "8.9.7.29"}),
        "is built for cuDNN 9, but nvidia-cudnn-cu12 is 8.9.7.29: pip install 'tensorflow[and-cuda]==2.21.0'",
    ),
    (
        "tensorflow-without-libraries",
        having(replace(BLIND_TENSORFLOW, warnings=("Cannot dlopen some GPU libraries. Please make sure",))),
        "TensorFlow 2.21.0 finds no libraries of CUDA 12.9.1 and so no GPU: pip install 'tensorflow[and-cuda]==2.21.0'",
    ),
    (
        "cupy-for-another-cuda",
        replace(having(CUPY_12, NO_TENSORFLOW), packages={"cupy-cuda12x": "14.2.0"}),
        "(nvcc 13, PyTorch 13): pip uninstall cupy-cuda12x, then pip install 'cupy-cuda13x[ctk]'",
    ),
    (
        "cupy-for-another-cuda",
        replace(having(saying(CUPY_12, nvrtc="13.0"), NO_TENSORFLOW), packages={"cupy-cuda12x": "14.2.0"}),
        "cupy-cuda12x looks for the libraries of CUDA 12, but those here are of another one",
    ),
    (
        "cupy-without-libraries",
        having(saying(CUPY, nvrtc="not found")),
        "CuPy 14.2.0 finds no libraries of CUDA 13: pip install 'cupy-cuda13x[ctk]'",
    ),
    (
        "several-cupys",
        replace(WELL, packages=WELL.packages | {"cupy-cuda12x": "13.6.0"}),
        "2 packages of CuPy are installed over each other (cupy-cuda13x, cupy-cuda12x): pip uninstall cupy-cuda13x",
    ),
    (
        "blind-framework",
        having(BLIND_TORCH),
        "yet it sees no GPU; it says: CUDA initialization: CUDA unknown error: pip install --force-reinstall torch",
    ),
    (
        "more-threads-than-cores",
        set_up(env_OMP_NUM_THREADS="64"),
        "more threads asked for (OMP_NUM_THREADS 64) than the 16 cores of this process: export OMP_NUM_THREADS=16",
    ),
    (
        "more-threads-than-cores",
        replace(WELL, visible_cores=1),
        "(PyTorch 16, NumPy 16) than the one core of this process: export OMP_NUM_THREADS=1",
    ),
    (
        "more-threads-than-cores",
        having(saying(TENSORFLOW, intra_op_threads="32")),
        "(TensorFlow 32) than the 16 cores of this process: export TF_NUM_INTRAOP_THREADS=16",
    ),
    (
        "quota-below-cores",
        set_up(cpu_quota_cores="2.5"),
        "the time of 2.5 cores but sees 16, so libraries start too many threads (PyTorch 16, TensorFlow 16, NumPy 16)",
    ),
    (
        "quota-below-cores",
        set_up(cpu_quota_cores="0.5"),
        "export OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1, or raise the quota",
    ),
]


def named(facts: Facts) -> list[str]:
    return [finding.name for finding in to_mend(facts)]


def test_nothing_is_found_where_all_is_well() -> None:
    assert to_mend(WELL) == []


@pytest.mark.parametrize(("name", "facts", "words"), CASES, ids=[f"{case[0]}-{i}" for i, case in enumerate(CASES)])
def test_one_thing_wrong_is_one_sentence_with_the_way_out(name: str, facts: Facts, words: str) -> None:
    (finding,) = to_mend(facts)
    assert finding.name == name
    assert words in finding.sentence
    assert ": " in finding.sentence


def test_every_rule_is_reached() -> None:
    rules = {rule.__name__.replace("_", "-") for rule in (*gpus.RULES, *builds.RULES, *cores.RULES)}
    assert {case[0] for case in CASES} == rules


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(without_gpu(), id="no-gpu"),
        pytest.param(without_gpu(having(saying(CUPY, nvrtc="not found"))), id="cupy-without-a-gpu"),
        pytest.param(having(saying(TORCH, built_for="CUDA 12.4")), id="an-older-cuda"),
        pytest.param(having(saying(TORCH, built_for="CUDA 13.2")), id="a-minor-version-ahead-of-the-driver"),
        pytest.param(having(TORCH, machine=OLD_DRIVER), id="a-forward-compatibility-package"),
        pytest.param(having(NO_TENSORFLOW), id="not-installed"),
        pytest.param(QUOTA_KEPT, id="a-quota-that-is-kept"),
        pytest.param(with_gpu(free_memory_bytes=130 * GIB), id="a-desktop-on-the-gpu"),
        pytest.param(with_gpu(throttle_reasons=("sync boost",)), id="gpus-in-step"),
        pytest.param(replace(WELL, gpus=(H200, H200), shown_gpus=1, pci_gpus=2), id="some-gpus-hidden"),
    ],
)
def test_what_works_is_not_complained_about(facts: Facts) -> None:
    assert named(facts) == []


def test_a_gpu_that_everybody_misses_is_blamed_on_the_variable_alone() -> None:
    blind = having(BLIND_TORCH, BLIND_TENSORFLOW, replace(CUPY, devices=()))
    hidden = set_up(replace(blind, shown_gpus=0), env_CUDA_VISIBLE_DEVICES="-1")
    assert named(hidden) == ["hidden-gpus"]


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
    facts = having(saying(TORCH, architectures=architectures), machine=with_gpu(compute_capability=capability))
    assert ("gpu-not-built-for" in [finding.name for finding in to_mend(having(NO_TENSORFLOW, machine=facts))]) != runs
