"""Machines to be judged: one with a GPU on which all is well, and ways to break it."""

from dataclasses import replace

from harness.doctor.facts import Facts, FrameworkFacts
from harness.frameworks import Device
from harness.nvml import GpuState
from harness.record import Gpu, Identity

GIB = 2**30
H200 = GpuState(
    name="NVIDIA H200", memory_bytes=140 * GIB, free_memory_bytes=139 * GIB, compute_capability="9.0", power_w=75.0
)
SEEN = (Device(label="cuda:0", name="NVIDIA H200", memory_bytes=140 * GIB),)
TORCH = FrameworkFacts(
    name="torch",
    description={
        "torch.version": "2.13.0+cu130",
        "torch.built_for": "CUDA 13.0",
        "torch.cudnn": "91501",
        "torch.architectures": "sm_75 sm_80 sm_90 sm_100 sm_120 compute_120",
        "torch.threads": "16",
    },
    devices=SEEN,
)
TENSORFLOW = FrameworkFacts(
    name="tensorflow",
    description={
        "tensorflow.version": "2.21.0",
        "tensorflow.built_for": "CUDA 12.9.1",
        "tensorflow.cudnn": "9",
        "tensorflow.architectures": "sm_60 sm_70 sm_80 sm_89 compute_90",
        "tensorflow.intra_op_threads": "default",
    },
    devices=(Device(label="GPU:0", name="NVIDIA H200"),),
)
CUPY = FrameworkFacts(
    name="cupy",
    description={"cupy.version": "14.2.0", "cupy.built_for": "CUDA 13.2", "cupy.nvrtc": "13.0"},
    devices=SEEN,
)
NUMPY = FrameworkFacts(name="numpy", description={"numpy.version": "2.4.6", "numpy.blas_threads": "16"})
WELL = Facts(
    identity=Identity(
        cpu_model="AMD EPYC", cpu_cores=16, memory_gib=128, gpus=[Gpu(name="NVIDIA H200", memory_gib=140)]
    ),
    configuration={
        "os": "Ubuntu 24.04",
        "python": "CPython 3.12.3",
        "driver.nvidia": "580.65.06",
        "driver.cuda": "13.0",
        "cpu.quota_cores": "unlimited",
    },
    visible_cores=16,
    memory_bytes=128 * GIB,
    free_memory_bytes=100 * GIB,
    cpu_features=("amx_bf16", "avx512_bf16"),
    gpus=(H200,),
    pci_gpus=1,
    shown_gpus=1,
    nvcc="13.0",
    packages={
        "cupy-cuda13x": "14.2.0",
        "nvidia-cudnn-cu12": "9.15.1.9",
        "nvidia-cudnn-cu13": "9.15.1.9",
        "tensorflow": "2.21.0",
        "torch": "2.13.0",
    },
    frameworks=(TORCH, TENSORFLOW, CUPY, NUMPY),
)


def having(*changed: FrameworkFacts, machine: Facts = WELL) -> Facts:
    """Return a machine on which these frameworks are as given."""
    by_name = {framework.name: framework for framework in changed}
    return replace(machine, frameworks=tuple(by_name.get(found.name, found) for found in machine.frameworks))


def saying(framework: FrameworkFacts, **told: str) -> FrameworkFacts:
    """Return a framework that says other things of itself."""
    told = {f"{framework.name}.{name}": text for name, text in told.items()}
    return replace(framework, description=framework.description | told)


def without_gpu(machine: Facts = WELL) -> Facts:
    """Return a machine that has no GPU, whatever its frameworks were built for."""
    blind = tuple(replace(framework, devices=()) for framework in machine.frameworks)
    return replace(machine, gpus=(), pci_gpus=0, shown_gpus=0, frameworks=blind)


def set_up(machine: Facts = WELL, **configuration: str) -> Facts:
    """Return a machine that is configured otherwise; ``_`` stands for the dot."""
    changed = {name.replace("_", ".", 1): text for name, text in configuration.items()}
    return replace(machine, configuration=machine.configuration | changed)


def with_gpu(**state: object) -> Facts:
    """Return a machine whose GPU is in another state."""
    return replace(WELL, gpus=(replace(H200, **state),))  # type: ignore[arg-type]  # whatever the test changes
