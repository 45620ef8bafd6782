"""Machines for the doctor to judge: one with a GPU on which nothing is wrong, and ways to change it."""

from dataclasses import replace

from accelbench.doctor.facts import Facts, FrameworkFacts
from accelbench.frameworks import Device
from accelbench.schema.nvml import GpuState
from accelbench.schema.result import Gpu, Identity

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
HEALTHY = Facts(
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
    visible_gpus=1,
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


def with_frameworks(*changed: FrameworkFacts, machine: Facts = HEALTHY) -> Facts:
    """Return a machine whose frameworks are replaced by these."""
    by_name = {framework.name: framework for framework in changed}
    return replace(machine, frameworks=tuple(by_name.get(each.name, each) for each in machine.frameworks))


def with_description(framework: FrameworkFacts, **changed: str) -> FrameworkFacts:
    """Return a framework that reports other facts about itself."""
    facts = {f"{framework.name}.{name}": text for name, text in changed.items()}
    return replace(framework, description=framework.description | facts)


def without_gpu(machine: Facts = HEALTHY) -> Facts:
    """Return a machine that has no GPU, whatever its frameworks are built for."""
    blind = tuple(replace(framework, devices=()) for framework in machine.frameworks)
    return replace(machine, gpus=(), pci_gpus=0, visible_gpus=0, frameworks=blind)


def with_configuration(machine: Facts = HEALTHY, **configuration: str) -> Facts:
    """Return a machine with another configuration; the first ``_`` of a name stands for the dot."""
    changed = {name.replace("_", ".", 1): text for name, text in configuration.items()}
    return replace(machine, configuration=machine.configuration | changed)


def with_gpu(**state: object) -> Facts:
    """Return a machine whose GPU is in another state."""
    return replace(HEALTHY, gpus=(replace(H200, **state),))  # type: ignore[arg-type]  # whatever the test changes
