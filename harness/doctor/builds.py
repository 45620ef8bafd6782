"""What may be wrong with how a framework was built or installed, on this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.doctor.facts import TITLES, Facts, FrameworkFacts
from harness.doctor.versions import driver_runs, major, newer_driver, runs_on
from harness.units import plural

_CHOOSE = "https://pytorch.org/get-started/locally"  # where PyTorch gives the command for a build
_MISSING_LIBRARIES = "Cannot dlopen some GPU libraries"  # TensorFlow's words
_REFUSED_CUDNN = "cuDNN"  # PyTorch's sentence has it, a version number has not


def broken_framework(facts: Facts) -> Iterator[str]:
    """A framework is installed, but its process did not survive being asked."""
    for framework in facts.frameworks:
        if framework.failure:
            yield (
                f"{framework} is installed but cannot be used ({framework.failure.rstrip('.')}): "
                f"pip install --force-reinstall {_package(framework, facts)}"
            )


def build_without_cuda(facts: Facts) -> Iterator[str]:
    """A build for the CPU alone, or for GPUs of another maker, on a machine with one of NVIDIA's."""
    ways_out = {
        "torch": f"install a build for CUDA, by the command that {_CHOOSE} gives",
        "tensorflow": (
            f"pip uninstall {_package(facts.find('tensorflow'), facts)}, then pip install 'tensorflow[and-cuda]'"
        ),
    }
    for name, way_out in ways_out.items():
        framework = facts.find(name)
        built = framework.told("built_for").replace("CPU", "the CPU alone")
        if facts.gpus and built and not framework.cuda and not framework.devices:
            yield f"{framework} is built for {built} and cannot use the GPU ({facts.gpus[0].name}): {way_out}"


def driver_too_old(facts: Facts) -> Iterator[str]:
    """A build for a CUDA that the driver does not run."""
    for framework in _without_device(facts):
        if not _runs(framework, facts):
            yield (
                f"{framework} is built for CUDA {framework.cuda}, but driver {facts.driver} runs CUDA up to "
                f"{facts.driver_cuda or 'an older one'}: install {newer_driver(framework.cuda)}, or a build for "
                "an older CUDA"
            )


def gpu_not_built_for(facts: Facts) -> Iterator[str]:
    """A GPU of a generation that the build holds no code for."""
    for framework in facts.usable():
        for gpu in {gpu.name: gpu for gpu in facts.gpus}.values():
            built = framework.told("architectures")
            if gpu.compute_capability and not runs_on(built, gpu.compute_capability):
                yield (
                    f"{framework} holds no code for {gpu.name} (compute capability {gpu.compute_capability}), only for "
                    f"{', '.join(built.split())}: install a newer build for a newer GPU, an older one for an older GPU"
                )


def wrong_cudnn(facts: Facts) -> Iterator[str]:
    """A cuDNN of another version than the framework was built with."""
    if _REFUSED_CUDNN in (said := facts.find("torch").told("cudnn")):
        of_others = "take the other cuDNN out of LD_LIBRARY_PATH, since PyTorch brings its own"
        way_out = of_others if "runtime version" in said else f"install the build that {_CHOOSE} gives for this GPU"
        first = said.partition(". ")[0].rstrip(".")
        yield f"{facts.find('torch')} refuses the cuDNN that it found ({first}): {way_out}"
    tensorflow = facts.find("tensorflow")
    for package, version in facts.packages.items():
        built = major(tensorflow.told("cudnn"))
        ours = package == f"nvidia-cudnn-cu{major(tensorflow.cuda)}"
        if facts.gpus and ours and built and major(version) != built:
            yield (
                f"{tensorflow} is built for cuDNN {built}, but {package} is {version}: "
                f"pip install 'tensorflow[and-cuda]=={tensorflow.version}'"
            )


def tensorflow_without_libraries(facts: Facts) -> Iterator[str]:
    """TensorFlow for CUDA without the libraries of CUDA."""
    tensorflow = facts.find("tensorflow")
    if tensorflow in _without_device(facts) and _runs(tensorflow, facts) and _misses_libraries(tensorflow):
        yield (
            f"{tensorflow} finds no libraries of CUDA {tensorflow.cuda} and so no GPU: "
            f"pip install 'tensorflow[and-cuda]=={tensorflow.version}'"
        )


def cupy_for_another_cuda(facts: Facts) -> Iterator[str]:
    """CuPy's wheel for one CUDA beside the libraries of another."""
    package, wheel = _cupy_wheel(facts)
    present = _cudas(facts)
    if not _cupy_lacks_libraries(facts) or not present or wheel in present.values():
        return
    described = ", ".join(f"{owner} {cuda}" for owner, cuda in present.items())
    yield (
        f"{package} looks for the libraries of CUDA {wheel}, but those here are of another one ({described}): "
        f"pip uninstall {package}, then pip install 'cupy-cuda{next(iter(present.values()))}x[ctk]'"
    )


def cupy_without_libraries(facts: Facts) -> Iterator[str]:
    """CuPy without CUDA's own compiler library, which all of its kernels need."""
    package, wheel = _cupy_wheel(facts)
    present = _cudas(facts)
    if _cupy_lacks_libraries(facts) and (not present or wheel in present.values()):
        yield f"{facts.find('cupy')} finds no libraries of CUDA {wheel}: pip install '{package}[ctk]'"


def several_cupys(facts: Facts) -> Iterator[str]:
    """Several of CuPy's packages, which overwrite each other's files."""
    packages = [name for name in facts.packages if re.fullmatch(r"cupy(-cuda.+|-rocm.+)?", name)]
    if len(packages) > 1:
        yield (
            f"{plural(len(packages), 'package')} of CuPy are installed over each other ({', '.join(packages)}): "
            f"pip uninstall {' '.join(packages)}, then install one of them again"
        )


def blind_framework(facts: Facts) -> Iterator[str]:
    """A framework for CUDA that sees no GPU, for none of the reasons above."""
    for framework in _without_device(facts):
        if not _runs(framework, facts) or _misses_libraries(framework):
            continue
        said = f"; it says: {framework.warnings[-1].rstrip('.')}" if framework.warnings else ""
        yield (
            f"{framework} is built for CUDA {framework.cuda} and the driver runs that, yet it sees no GPU{said}: "
            f"pip install --force-reinstall {_package(framework, facts)}, and reboot after an upgrade of the driver"
        )


RULES = (
    broken_framework,
    build_without_cuda,
    driver_too_old,
    gpu_not_built_for,
    wrong_cudnn,
    tensorflow_without_libraries,
    cupy_for_another_cuda,
    cupy_without_libraries,
    several_cupys,
    blind_framework,
)


def _without_device(facts: Facts) -> list[FrameworkFacts]:
    """Return the frameworks built for CUDA that see none of the GPUs that they should."""
    return [found for found in facts.usable() if facts.shown_gpus and found.cuda and not found.devices]


def _runs(framework: FrameworkFacts, facts: Facts) -> bool:
    return driver_runs(framework.cuda, driver=facts.driver, driver_cuda=facts.driver_cuda)


def _misses_libraries(framework: FrameworkFacts) -> bool:
    return any(_MISSING_LIBRARIES in warning for warning in framework.warnings)


def _package(framework: FrameworkFacts, facts: Facts) -> str:
    """Return the name under which pip knows what is installed, such as ``tensorflow-cpu``."""
    packages = ["torch", "numpy", "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly", _cupy_wheel(facts)[0]]
    ours = "tf-nightly" if framework.name == "tensorflow" and "tf-nightly" in facts.packages else framework.name
    return next((name for name in packages if name in facts.packages and name.startswith(ours)), framework.name)


def _cupy_wheel(facts: Facts) -> tuple[str, int | None]:
    """Return CuPy's package for CUDA and the major version that its name tells, such as ``cupy-cuda13x``."""
    named = ((name, re.fullmatch(r"cupy-cuda(\d\d)x", name)) for name in facts.packages)
    return next(((name, int(match[1])) for name, match in named if match), ("cupy", None))


def _cupy_lacks_libraries(facts: Facts) -> bool:
    """Say whether CuPy's wheel did not find NVRTC, or that of another CUDA. Without a GPU that is no harm."""
    cupy, (_, wheel) = facts.find("cupy"), _cupy_wheel(facts)
    return bool(facts.gpus and cupy.version and wheel) and major(cupy.told("nvrtc")) != wheel


def _cudas(facts: Facts) -> dict[str, int]:
    """Return who brings which major version of CUDA: its compiler, and the other frameworks."""
    found = {"nvcc": major(facts.nvcc)} | {
        TITLES[framework.name]: major(framework.cuda) for framework in facts.usable() if framework.name != "cupy"
    }
    return {owner: cuda for owner, cuda in found.items() if cuda is not None}
