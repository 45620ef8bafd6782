"""What is worth knowing although nothing is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from harness.doctor.facts import Facts
from harness.doctor.versions import major, newer

# Variables that choose a library's kernels, and how the names of those begin that use AVX-512, from the documentation
# of OpenBLAS, PyTorch and oneDNN.
_KERNELS = {
    "OPENBLAS_CORETYPE": ("NumPy", ("SKYLAKEX", "COOPERLAKE", "SAPPHIRERAPIDS")),
    "ATEN_CPU_CAPABILITY": ("PyTorch", ("AVX512",)),
    "ONEDNN_MAX_CPU_ISA": ("PyTorch and TensorFlow", ("AVX512", "AVX10", "DEFAULT")),
}


def partly_hidden_gpus(facts: Facts) -> Iterator[str]:
    """CUDA_VISIBLE_DEVICES leaves some of the GPUs visible."""
    if 0 < facts.shown_gpus < len(facts.gpus):
        value = facts.variable("CUDA_VISIBLE_DEVICES")
        yield f"CUDA_VISIBLE_DEVICES={value!r} leaves {facts.shown_gpus} of {len(facts.gpus)} GPUs visible"


def newer_cuda_than_the_drivers(facts: Facts) -> Iterator[str]:
    """A build for a newer minor version of CUDA than the driver's, which runs all the same."""
    for framework in facts.usable():
        if newer(framework.cuda, facts.driver_cuda) and major(framework.cuda) == major(facts.driver_cuda):
            yield (
                f"{framework} is built for CUDA {framework.cuda} and the driver is for {facts.driver_cuda}: that runs, "
                "but what is new in the later one may be missing"
            )


def nvcc_of_another_cuda(facts: Facts) -> Iterator[str]:
    """A compiler with which PyTorch builds no extensions."""
    torch = facts.find("torch")
    nvcc, built = major(facts.nvcc), major(torch.cuda)
    if nvcc and built and nvcc != built:
        yield f"nvcc {facts.nvcc} cannot build extensions of {torch}, which is for CUDA {torch.cuda}"


def kernels_of_an_older_processor(facts: Facts) -> Iterator[str]:
    """A variable that keeps a library from the widest vectors of the processor."""
    if "avx512f" not in facts.configuration.get("cpu.instructions", ""):
        return
    for variable, (library, fit) in _KERNELS.items():
        value = facts.variable(variable)
        if value and not value.upper().startswith(fit):
            yield f"{variable}={value!r} keeps {library} from the processor's AVX-512: unset {variable} to use it"


RULES = (partly_hidden_gpus, newer_cuda_than_the_drivers, nvcc_of_another_cuda, kernels_of_an_older_processor)
