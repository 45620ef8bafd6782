"""The doctor's rules: each one is a function from the facts of a machine to sentences.

`PROBLEMS` find what is misconfigured and name the way out. `NOTES` find what is worth knowing although nothing is
wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from accelbench.doctor.facts import Facts, FrameworkFacts, number
from accelbench.measuring.workers.interpreter import variable_of
from accelbench.schema.nvml import GpuState
from accelbench.text import FRAMEWORK_NAMES, hyphenate
from accelbench.units import percent, plural, seconds, significant, size

Rule = Callable[[Facts], Iterator[str]]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One sentence that a rule yielded, and the rule's name, such as ``hidden-gpus``."""

    name: str
    sentence: str


def find_problems(facts: Facts) -> list[Finding]:
    """Return what is misconfigured, each with the way out."""
    return run_rules(PROBLEMS, facts)


def find_notes(facts: Facts) -> list[Finding]:
    """Return what is worth knowing although nothing is wrong."""
    return run_rules(NOTES, facts)


def run_rules(rules: Sequence[Rule], facts: Facts) -> list[Finding]:
    """Return the findings of the rules, in the order of the rules."""
    return [Finding(name=hyphenate(rule.__name__), sentence=sentence) for rule in rules for sentence in rule(facts)]


# The oldest driver branch that runs every release of a major version of CUDA. Source: table "Minimum Required Driver
# Version" at https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
OLDEST_DRIVERS = {11: "450", 12: "525", 13: "580"}


def major(version: str) -> int | None:
    """Return the first number of a version such as ``13.0``; None if the text is no version."""
    try:
        return Version(version).major
    except InvalidVersion:
        return None


def is_newer(version: str, other: str) -> bool:
    """Return whether the first version is newer than the second; False if either is no version."""
    try:
        return Version(version) > Version(other)
    except InvalidVersion:
        return False


def driver_runs(cuda: str, *, driver: str, driver_cuda: str) -> bool:
    """Return whether a driver runs a build for that CUDA version; True if that is not known.

    Within one major version of CUDA every driver runs every build ("minor version compatibility"), and a driver runs
    builds for all older versions. What the driver itself reports takes precedence over the table, since a forward
    compatibility package (https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html) may raise it.
    """
    needed = major(cuda)
    if needed is None:
        return True
    if (newest := major(driver_cuda)) is not None:
        return needed <= newest
    oldest = OLDEST_DRIVERS.get(needed)
    return oldest is None or not is_newer(oldest, driver)


def describe_required_driver(cuda: str) -> str:
    """Return which driver a CUDA version needs, as text."""
    oldest = OLDEST_DRIVERS.get(major(cuda) or 0)
    return f"driver {oldest} or newer" if oldest else f"driver that runs CUDA {cuda}"


def build_runs_on(architectures: str, capability: str) -> bool:
    """Return whether a build for architectures such as ``sm_80 compute_90`` runs on a GPU of that compute capability.

    Machine code (``sm``) runs on the same major and an equal or higher minor capability, intermediate code
    (``compute``) on every higher capability. A final letter restricts either kind to that capability (``a``) or to its
    family (``f``). Source: CUDA C++ Programming Guide, chapters on binary and PTX compatibility.
    """
    gpu = _split_capability(capability.replace(".", ""))
    for name in architectures.split():
        kind, _, number = name.partition("_")
        built = _split_capability(number)
        if built == gpu or (number.isdecimal() and kind == "compute" and built <= gpu):
            return True
        if built[0] == gpu[0] and built <= gpu and not number.endswith("a"):
            return True
    return not architectures


def _split_capability(number: str) -> tuple[int, int]:
    """Return the major and minor part of a capability such as ``90`` or ``120a``."""
    digits = re.sub(r"\D", "", number) or "0"
    return int(digits[:-1] or 0), int(digits[-1])


USED_SHARE = 0.25  # of a GPU's memory: more than a driver and a desktop use
# NVML's message if the kernel module and the libraries are of different releases, as after an upgrade.
_VERSION_MISMATCH = "version mismatch"
# Throttle reasons of `schema.nvml`. Those that are neither a power limit nor harmless are heat or faulty hardware.
_POWER_LIMITS = {"power cap", "power brake"}
_HARMLESS = {"sync boost"}


def silent_driver(facts: Facts) -> Iterator[str]:
    """The machine has a GPU, but no driver answers."""
    if facts.pci_gpus and not facts.gpus:
        error = f" ({facts.driver_silence.rstrip('.')})" if facts.driver_silence else ""
        yield (
            f"{plural(facts.pci_gpus, 'NVIDIA GPU')} on the PCI bus, but no driver answers{error}: "
            + (
                "reboot, so that the driver's kernel module and libraries are of the same release again"
                if _VERSION_MISMATCH in facts.driver_silence
                else "install NVIDIA's driver, and in a container start it with --gpus all"
            )
        )


def hidden_gpus(facts: Facts) -> Iterator[str]:
    """CUDA_VISIBLE_DEVICES hides every GPU."""
    value = facts.variable("CUDA_VISIBLE_DEVICES")
    if facts.gpus and not facts.visible_gpus and value is not None:
        hidden = "the GPU" if len(facts.gpus) == 1 else f"all {len(facts.gpus)} GPUs"
        yield f"CUDA_VISIBLE_DEVICES={value!r} hides {hidden} from every framework: unset it, or set it to 0"


def gpu_in_use(facts: Facts) -> Iterator[str]:
    """Another process holds a GPU, or most of its memory."""
    for index, gpu in enumerate(facts.gpus):
        used = _used_memory_share(gpu)
        if gpu.process_ids:
            pids = ", ".join(map(str, gpu.process_ids))
            users = f"another process ({pids})" if len(gpu.process_ids) == 1 else f"other processes ({pids})"
            choice = ", or choose another one with CUDA_VISIBLE_DEVICES" if len(facts.gpus) > 1 else ""
            yield (
                f"GPU {index} ({gpu.name}) is in use by {users}, which takes time and memory from what you measure: "
                f"wait until it is free{choice}"
            )
        elif used > USED_SHARE:
            yield (
                f"GPU {index} ({gpu.name}) has {percent(used)} of its {size(gpu.memory_bytes)} in use by processes "
                "that are not visible from here: look for them with nvidia-smi, outside the container too"
            )


def throttled_gpu(facts: Facts) -> Iterator[str]:
    """A GPU runs below its clock at this moment."""
    for index, gpu in enumerate(facts.gpus):
        reasons = set(gpu.throttle_reasons)
        message = f"GPU {index} ({gpu.name}) runs below its clock ({', '.join(gpu.throttle_reasons)}): "
        if reasons & _POWER_LIMITS:
            yield (
                message + "see its power limit with nvidia-smi -q -d POWER, and raise it with nvidia-smi -pl if you may"
            )
        elif reasons - _HARMLESS:
            yield message + "let it cool down or improve its cooling, and see nvidia-smi -q -d PERFORMANCE"


def nvcc_too_new(facts: Facts) -> Iterator[str]:
    """The driver cannot run what CUDA's compiler builds."""
    built, runs = major(facts.nvcc), major(facts.driver_cuda)
    if facts.gpus and built and runs and built > runs:
        yield (
            f"nvcc {facts.nvcc} builds programs that driver {facts.driver}, for CUDA up to {facts.driver_cuda}, cannot "
            f"run: upgrade the driver, or use the nvcc of CUDA {runs}"
        )


def _used_memory_share(gpu: GpuState) -> float:
    """Return the share of a GPU's memory that is in use."""
    if gpu.free_memory_bytes is None or not gpu.memory_bytes:
        return 0.0
    return 1 - gpu.free_memory_bytes / gpu.memory_bytes


_PYTORCH_INSTALLER = "https://pytorch.org/get-started/locally"  # shows the pip command for each build
_MISSING_LIBRARIES = "Cannot dlopen some GPU libraries"  # TensorFlow's warning
_REJECTED_CUDNN = "cuDNN"  # in PyTorch's error message, but not in a version number


def broken_framework(facts: Facts) -> Iterator[str]:
    """A framework is installed, but its process failed to describe it."""
    for framework in facts.frameworks:
        if framework.failure and framework.own_interpreter:
            yield (
                f"{framework} cannot be used ({framework.failure.rstrip('.')}): see to the environment that "
                f"{variable_of(framework.name)} names, or unset that"
            )
        elif framework.failure:
            yield (
                f"{framework} is installed but cannot be used ({framework.failure.rstrip('.')}): "
                f"pip install --force-reinstall {_package(framework, facts)}"
            )


def build_without_cuda(facts: Facts) -> Iterator[str]:
    """A build for the CPU alone, or for another vendor's GPUs, on a machine with an NVIDIA GPU."""
    ways_out = {
        "torch": f"install a build for CUDA, with the command from {_PYTORCH_INSTALLER}",
        "tensorflow": (
            f"pip uninstall {_package(facts.find('tensorflow'), facts)}, then pip install 'tensorflow[and-cuda]'"
        ),
    }
    for name, way_out in ways_out.items():
        framework = facts.find(name)
        built = framework.get("built_for").replace("CPU", "the CPU alone")
        if facts.gpus and built and not framework.cuda and not framework.devices:
            yield f"{framework} is built for {built} and cannot use the GPU ({facts.gpus[0].name}): {way_out}"


def driver_too_old(facts: Facts) -> Iterator[str]:
    """A build for a CUDA version that the driver does not run."""
    for framework in _frameworks_without_device(facts):
        if not _driver_runs_build(framework, facts):
            yield (
                f"{framework} is built for CUDA {framework.cuda}, but driver {facts.driver} runs CUDA up to "
                f"{facts.driver_cuda or 'an older one'}: install {describe_required_driver(framework.cuda)}, or a "
                "build for an older CUDA"
            )


def gpu_not_built_for(facts: Facts) -> Iterator[str]:
    """A build without code for the generation of the GPU."""
    for framework in facts.usable():
        for gpu in {gpu.name: gpu for gpu in facts.gpus}.values():
            built = framework.get("architectures")
            if gpu.compute_capability and not build_runs_on(built, gpu.compute_capability):
                yield (
                    f"{framework} contains no code for {gpu.name} (compute capability {gpu.compute_capability}), only "
                    f"for {', '.join(built.split())}: install a newer build for a newer GPU, an older build "
                    "for an older GPU"
                )


def wrong_cudnn(facts: Facts) -> Iterator[str]:
    """A cuDNN of a different version than the framework was built with."""
    if _REJECTED_CUDNN in (error := facts.find("torch").get("cudnn")):
        way_out = (
            "take the other cuDNN out of LD_LIBRARY_PATH, since PyTorch brings its own"
            if "runtime version" in error
            else f"install the build that {_PYTORCH_INSTALLER} gives for this GPU"
        )
        first_sentence = error.partition(". ")[0].rstrip(".")
        yield f"{facts.find('torch')} rejects the cuDNN that it found ({first_sentence}): {way_out}"
    tensorflow = facts.find("tensorflow")
    for package, version in facts.packages_beside(tensorflow).items():
        built = major(tensorflow.get("cudnn"))
        ours = package == f"nvidia-cudnn-cu{major(tensorflow.cuda)}"
        if facts.gpus and ours and built and major(version) != built:
            yield (
                f"{tensorflow} is built for cuDNN {built}, but {package} is {version}: "
                f"pip install 'tensorflow[and-cuda]=={tensorflow.version}'"
            )


def tensorflow_without_libraries(facts: Facts) -> Iterator[str]:
    """TensorFlow for CUDA without CUDA's libraries."""
    tensorflow = facts.find("tensorflow")
    if (
        tensorflow in _frameworks_without_device(facts)
        and _driver_runs_build(tensorflow, facts)
        and _lacks_libraries(tensorflow)
    ):
        torch = facts.find("torch")
        beside = not (tensorflow.own_interpreter or torch.own_interpreter)
        way_out = f"pip install 'tensorflow[and-cuda]=={tensorflow.version}'"
        if beside and torch.cuda and major(torch.cuda) != major(tensorflow.cuda):
            way_out = (
                f"{way_out} accelbench in another environment, since the libraries here are those of CUDA "
                f"{torch.cuda} for {torch}, and name its interpreter in {variable_of('tensorflow')}"
            )
        yield f"{tensorflow} finds no libraries of CUDA {tensorflow.cuda} and so no GPU: {way_out}"


def cupy_for_another_cuda(facts: Facts) -> Iterator[str]:
    """A CuPy wheel for one CUDA version next to the libraries of another."""
    package, wheel = _cupy_wheel(facts)
    present = _find_cuda_versions(facts)
    if not _cupy_lacks_libraries(facts) or not present or wheel in present.values():
        return
    described = ", ".join(f"{owner} {cuda}" for owner, cuda in present.items())
    yield (
        f"{package} looks for the libraries of CUDA {wheel}, but those installed are for another version "
        f"({described}): pip uninstall {package}, then pip install 'cupy-cuda{next(iter(present.values()))}x[ctk]'"
    )


def cupy_without_libraries(facts: Facts) -> Iterator[str]:
    """CuPy without CUDA's runtime compiler, which all of its kernels need."""
    package, wheel = _cupy_wheel(facts)
    present = _find_cuda_versions(facts)
    if _cupy_lacks_libraries(facts) and (not present or wheel in present.values()):
        yield f"{facts.find('cupy')} finds no libraries of CUDA {wheel}: pip install '{package}[ctk]'"


def several_cupys(facts: Facts) -> Iterator[str]:
    """Several CuPy packages, which overwrite each other's files."""
    packages = [
        name for name in facts.packages_beside(facts.find("cupy")) if re.fullmatch(r"cupy(-cuda.+|-rocm.+)?", name)
    ]
    if len(packages) > 1:
        yield (
            f"{plural(len(packages), 'CuPy package')} are installed over each other ({', '.join(packages)}): "
            f"pip uninstall {' '.join(packages)}, then install one of them"
        )


def blind_framework(facts: Facts) -> Iterator[str]:
    """A framework for CUDA that sees no GPU, for none of the reasons that the rules above find."""
    for framework in _frameworks_without_device(facts):
        if not _driver_runs_build(framework, facts) or _lacks_libraries(framework):
            continue
        warning = f"; it reports: {framework.warnings[-1].rstrip('.')}" if framework.warnings else ""
        yield (
            f"{framework} is built for CUDA {framework.cuda} and the driver runs that, but it sees no GPU{warning}: "
            f"pip install --force-reinstall {_package(framework, facts)}, and reboot if the driver was upgraded"
        )


def _frameworks_without_device(facts: Facts) -> list[FrameworkFacts]:
    """Return the frameworks for CUDA that see none of the visible GPUs."""
    return [each for each in facts.usable() if facts.visible_gpus and each.cuda and not each.devices]


def _driver_runs_build(framework: FrameworkFacts, facts: Facts) -> bool:
    return driver_runs(framework.cuda, driver=facts.driver, driver_cuda=facts.driver_cuda)


def _lacks_libraries(framework: FrameworkFacts) -> bool:
    return any(_MISSING_LIBRARIES in warning for warning in framework.warnings)


def _package(framework: FrameworkFacts, facts: Facts) -> str:
    """Return the installed package's name, such as ``tensorflow-cpu``."""
    installed = facts.packages_beside(framework)
    packages = ["torch", "numpy", "tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly", _cupy_wheel(facts)[0]]
    nightly = framework.name == "tensorflow" and "tf-nightly" in installed
    prefix = "tf-nightly" if nightly else framework.name
    return next((name for name in packages if name in installed and name.startswith(prefix)), framework.name)


def _cupy_wheel(facts: Facts) -> tuple[str, int | None]:
    """Return CuPy's package, such as ``cupy-cuda13x``, and the major version of CUDA in its name."""
    installed = facts.packages_beside(facts.find("cupy"))
    matches = (re.fullmatch(r"cupy-cuda(\d\d)x", name) for name in installed)
    return next(((match[0], int(match[1])) for match in matches if match), ("cupy", None))


def _cupy_lacks_libraries(facts: Facts) -> bool:
    """Return whether CuPy's wheel found no NVRTC, or that of another CUDA; False without a GPU, which needs none."""
    cupy, (_, wheel) = facts.find("cupy"), _cupy_wheel(facts)
    return bool(facts.gpus and cupy.version and wheel) and major(cupy.get("nvrtc")) != wheel


def _find_cuda_versions(facts: Facts) -> dict[str, int]:
    """Return the major versions of CUDA that its compiler and the frameworks beside CuPy bring, by their names."""
    beside = [] if facts.find("cupy").own_interpreter else [each for each in facts.usable() if not each.own_interpreter]
    versions = {"nvcc": major(facts.nvcc)} | {
        FRAMEWORK_NAMES[framework.name]: major(framework.cuda) for framework in beside if framework.name != "cupy"
    }
    return {owner: cuda for owner, cuda in versions.items() if cuda is not None}


# The number of threads that a library starts: the variables that set it, which one each library reads, and the fact in
# which each library reports it.
_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
_VARIABLE_OF = {"PyTorch": "OMP_NUM_THREADS", "TensorFlow": "TF_NUM_INTRAOP_THREADS", "NumPy": "OMP_NUM_THREADS"}
_REPORTED = (("torch", "threads"), ("tensorflow", "intra_op_threads"), ("numpy", "blas_threads"))


def more_threads_than_cores(facts: Facts) -> Iterator[str]:
    """More threads than cores take turns, so that a benchmark measures the scheduler."""
    cores = facts.visible_cores
    if excessive := {owner: count for owner, count in _threads(facts).items() if count > cores}:
        available = "one core" if cores == 1 else f"{cores} cores"
        yield (
            f"more threads requested ({_list_threads(excessive)}) than the {available} of this process: "
            f"{_export(excessive, cores)}"
        )


def quota_below_cores(facts: Facts) -> Iterator[str]:
    """Libraries start too many threads in a container whose CPU quota is below the cores that it sees."""
    quota = _quota(facts)
    if quota is None or quota >= facts.visible_cores:
        return
    whole = max(1, math.floor(quota))
    excessive = {owner: count for owner, count in _threads(facts).items() if whole < count <= facts.visible_cores}
    if excessive:
        yield (
            f"the container may use the time of {significant(quota, 2)} cores but sees {facts.visible_cores}, so "
            f"libraries start too many threads ({_list_threads(excessive)}) and are throttled: "
            f"{_export(excessive, whole)}, or raise the quota (docker run --cpus)"
        )


def _threads(facts: Facts) -> dict[str, int]:
    """Return how many threads each variable requests and each library starts."""
    texts = {name: facts.variable(name) or "" for name in _VARIABLES}
    for name, fact in _REPORTED:
        # TensorFlow's default is the variable's number, or else one thread per visible core.
        default = texts["TF_NUM_INTRAOP_THREADS"] or str(facts.visible_cores)
        texts[FRAMEWORK_NAMES[name]] = facts.find(name).get(fact).replace("default", default)
    counts = {owner: number(text) for owner, text in texts.items()}
    return {owner: int(count) for owner, count in counts.items() if count is not None}


def _quota(facts: Facts) -> float | None:
    return number(facts.configuration.get("cpu.quota_cores", "unlimited"))


def _export(owners: Iterable[str], count: int) -> str:
    """Return the command that sets ``count`` threads for these variables and libraries."""
    variables = dict.fromkeys(_VARIABLE_OF.get(owner, owner) for owner in owners)
    return " ".join(["export", *(f"{variable}={count}" for variable in variables)])


def _list_threads(threads: dict[str, int]) -> str:
    return ", ".join(f"{owner} {count}" for owner, count in threads.items())


# What a usual loader of images passes on: a batch of photographs in float32, two of which each process prepares ahead,
# as PyTorch's DataLoader does by default.
_LOADER_BATCH, _LOADER_SIDE, _LOADER_AHEAD = 64, 224, 2
_LOADER_BATCH_BYTES = 4 * 3 * _LOADER_SIDE**2 * _LOADER_BATCH


def little_shared_memory(facts: Facts) -> Iterator[str]:
    """A container with so little shared memory that PyTorch's loader processes die by a bus error."""
    free_bytes, torch = facts.free_shared_memory_bytes, facts.find("torch")
    needed_bytes = facts.visible_cores * _LOADER_AHEAD * _LOADER_BATCH_BYTES
    if torch in facts.usable() and free_bytes is not None and free_bytes < needed_bytes:
        yield (
            f"/dev/shm has {size(free_bytes)} free, but {plural(facts.visible_cores, 'loader')} of {torch} that "
            f"prepare {_LOADER_AHEAD} batches of {_LOADER_BATCH} images ({_LOADER_SIDE}×{_LOADER_SIDE}) each keep "
            f"{size(needed_bytes)} there, and a loader without room dies of a bus error: start the container with "
            f"--shm-size={math.ceil(needed_bytes / 2**30)}g, or set a smaller num_workers"
        )


# Variables that choose a library's kernels, and the prefixes of the values that allow AVX-512. Source: documentation of
# OpenBLAS, PyTorch and oneDNN.
_KERNELS = {
    "OPENBLAS_CORETYPE": ("NumPy", ("SKYLAKEX", "COOPERLAKE", "SAPPHIRERAPIDS")),
    "ATEN_CPU_CAPABILITY": ("PyTorch", ("AVX512",)),
    "ONEDNN_MAX_CPU_ISA": ("PyTorch and TensorFlow", ("AVX512", "AVX10", "DEFAULT")),
}


def partly_hidden_gpus(facts: Facts) -> Iterator[str]:
    """CUDA_VISIBLE_DEVICES hides some of the GPUs."""
    value = facts.variable("CUDA_VISIBLE_DEVICES")
    if 0 < facts.visible_gpus < len(facts.gpus) and value is not None:  # of several slices only one is ever visible
        yield f"CUDA_VISIBLE_DEVICES={value!r} leaves {facts.visible_gpus} of {len(facts.gpus)} GPUs visible"


def cuda_newer_than_driver(facts: Facts) -> Iterator[str]:
    """A build for a newer minor version of CUDA than the driver's, which still runs."""
    for framework in facts.usable():
        if is_newer(framework.cuda, facts.driver_cuda) and major(framework.cuda) == major(facts.driver_cuda):
            yield (
                f"{framework} is built for CUDA {framework.cuda} and the driver is for {facts.driver_cuda}: that runs, "
                "but features new in the later version may be missing"
            )


def nvcc_for_another_cuda(facts: Facts) -> Iterator[str]:
    """A CUDA compiler that cannot build PyTorch extensions."""
    torch = facts.find("torch")
    nvcc, built = major(facts.nvcc), major(torch.cuda)
    if nvcc and built and nvcc != built:
        yield f"nvcc {facts.nvcc} cannot build extensions for {torch}, which is built for CUDA {torch.cuda}"


def cores_far_apart(facts: Facts) -> Iterator[str]:
    """A host that has put virtual cores where their messages take longer."""
    latency_s, best_s = facts.core_latency_s, facts.best_core_latency_s
    if latency_s and best_s and facts.are_cores_far_apart:
        yield (
            "the cores lie far apart at this moment: what one thread hands to another takes "
            f"{significant(latency_s / best_s, 2)} times as long as at best on this machine, "
            f"{seconds(latency_s - best_s)} more for each cache line; work on a single core hands nothing over. On a "
            "virtual machine the host may change that at any time: measure in several visits, as a run does by default"
        )


def kernels_for_older_processor(facts: Facts) -> Iterator[str]:
    """A variable that keeps a library from the processor's widest vectors."""
    if "avx512f" not in facts.configuration.get("cpu.instructions", ""):
        return
    for variable, (library, prefixes) in _KERNELS.items():
        value = facts.variable(variable)
        if value and not value.upper().startswith(prefixes):
            yield f"{variable}={value!r} keeps {library} from using the processor's AVX-512: unset {variable} to use it"


PROBLEMS: tuple[Rule, ...] = (
    silent_driver,
    hidden_gpus,
    gpu_in_use,
    throttled_gpu,
    nvcc_too_new,
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
    more_threads_than_cores,
    quota_below_cores,
    little_shared_memory,
)
NOTES: tuple[Rule, ...] = (
    partly_hidden_gpus,
    cuda_newer_than_driver,
    nvcc_for_another_cuda,
    kernels_for_older_processor,
    cores_far_apart,
)
