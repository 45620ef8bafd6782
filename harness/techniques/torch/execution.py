"""What can be switched in PyTorch about when work is done: who waits for whom, and what runs at once."""

from __future__ import annotations

from harness.errors import Unavailable
from harness.experiment import Arm, Build, technique
from harness.techniques.cores import cpu_count
from harness.techniques.torch.computing import need_accelerator, thread_count

_INTERVALS = {"never": None, "every-100": 100, "every-10": 10, "every-step": 1}


@technique(
    "torch", levels=tuple(_INTERVALS), unadvised={"*": "its baseline reads no loss; read it as seldom as you can"}
)
def log_interval(build: Build, level: str) -> Arm:
    """How often the training loop reads its loss, which makes the host wait for the device."""
    return build(log_interval=_INTERVALS[level])


@technique(
    "torch",
    levels=("none", "item", "float", "print", "numpy", "cpu"),
    unadvised={"*": "its baseline reads no loss; read it as seldom as you can"},
)
def log_by(build: Build, level: str) -> Arm:
    """By which call the training loop reads its loss."""
    return build(log_by=level)


@technique("torch", levels=("resident", "per-step"), unadvised={"*": "it sends data that could stay where they are"})
def transfers(build: Build, level: str) -> Arm:
    """Batches that stay on the accelerator, or are sent there, and their results fetched, in every step."""
    need_accelerator()  # within the host's memory nothing is sent, whatever the level
    return build(data_location="round-trip" if level == "per-step" else "resident")


@technique("torch", levels=("resident", "round-trip"), unadvised={"*": "it sends data that could stay where they are"})
def intermediates(build: Build, level: str) -> Arm:
    """Results between operations that stay on the accelerator, or visit the host after every operation."""
    return build(intermediates=level)


@technique(
    "torch",
    levels=("serial", "threads", "cores"),
    resources=lambda level: 1 if level == "serial" else cpu_count(),
    recipe={
        "threads": "torch.set_num_threads(1)\nwith ThreadPoolExecutor(2) as pool:  # submit both computations",
        "cores": "torch.set_num_threads(len(os.sched_getaffinity(0)))",
    },
)
def overlap(build: Build, level: str) -> Arm:
    """Two computations on the CPU: in turn on one core, at once on half of the cores each, in turn on all cores."""
    cores = cpu_count()
    if level != "serial" and cores == 1:
        raise Unavailable("this process has one core, so nothing can run at once")
    return build(at_once=level == "threads").inside(thread_count, cores if level == "cores" else 1)


@technique(
    "torch",
    levels=("in-turn", "at-once"),
    recipe={"at-once": "# launch the device's work, do the CPU's meanwhile, and only then read the device's result"},
)
def both_devices(build: Build, level: str) -> Arm:
    """CPU and accelerator working one after the other, or at once."""
    return build(at_once=level == "at-once")


@technique(
    "torch",
    levels=("1", "2", "4"),
    recipe={"*": "with torch.cuda.stream(streams[chunk % {level}]):  # copy a chunk there, compute, copy it back"},
)
def streams(build: Build, level: str) -> Arm:
    """CUDA streams on which chunks are copied there, computed and copied back: as many are in flight at once."""
    return build(streams=int(level))
