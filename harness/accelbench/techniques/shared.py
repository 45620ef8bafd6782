"""What can be switched in several frameworks alike, and what the levels of their techniques have in common."""

from __future__ import annotations

from functools import partial

from accelbench.core import ROUNDING, Arm, Build, Host, technique
from accelbench.errors import Unavailable
from accelbench.schema.reasons import reason


def cpu_count() -> int:
    """Return the cores that affinity and a container's limit leave to this process."""
    import joblib  # here, since its import takes a tenth of a second, and every worker imports the techniques

    return int(joblib.cpu_count())


def threads_at(level: str, cores: int) -> int:
    """Return how many threads ``"1"``, ``"half"`` or ``"all"`` are; half of three cores is one."""
    return {"1": 1, "half": max(1, cores // 2), "all": cores}[level]


def threads_here(level: str) -> int:
    """Return how many threads a level is in this process.

    Raises:
        Unavailable: it is one, as at the first level.
    """
    count = threads_at(level, cpu_count())
    if level != "1" and count == 1:
        raise Unavailable(reason("one-thread", level=level))
    return count


def devices_on(host: Host) -> tuple[str, ...]:
    """Return the levels of a technique that switches the device."""
    return ("cpu", *(host.accelerators or ("accelerator",)))


def powers(base: int, host: Host) -> tuple[str, ...]:
    """Return the powers of 2 or 4 up to the largest batch size of a sweep."""
    sizes = (base**power for power in range(host.max_batch.bit_length()))
    return tuple(str(size) for size in sizes if size <= host.max_batch)


def batch_size(build: Build, level: str) -> Arm:
    """How many items one step takes together."""
    return build(batch_size=int(level))


# TensorFlow traces every size anew, so there are fewer.
for _framework, _base, _snippet in (
    ("torch", 2, "DataLoader(data, batch_size={level})"),
    ("tensorflow", 4, "dataset.batch({level})"),
):
    technique(
        _framework,
        often_pays=True,
        group="batch size",
        kind="sweep",
        aliases=("mini-batch", "minibatch"),
        levels=partial(powers, _base),
        same_output=False,
        memory_grows=True,
        snippet={"*": _snippet},
    )(batch_size)


def learning_rate_scaling(build: Build, level: str) -> Arm:
    """A learning rate that stays as it is for the usual batch, or grows with the batch or with its square root.

    A batch k times as large takes k times fewer steps through the data. Multiplied by k, the learning rate makes up for
    them (Goyal et al. 2017, arXiv 1706.02677, section 2.1; Krizhevsky 2014, arXiv 1404.5997, section 5). Multiplied by
    the square root of k, it leaves the variance of a step's update as it was (Krizhevsky, same section; Hoffer et al.
    2017, arXiv 1705.08741, section 4). Goyal et al. warm up to the larger rate over five epochs; the digits
    are learnt without that at sixteen times the usual batch.
    """
    return build(learning_rate_scaling=level)


for _framework in ("torch", "tensorflow"):
    technique(
        _framework,
        group="batch size",
        aliases=("linear scaling rule", "square root scaling", "learning rate", "large-batch training"),
        levels=("none", "sqrt", "linear"),
        same_output=False,
        not_recommended={"*": "it changes what is learnt, not how fast a step is: try it on your own accuracy"},
    )(learning_rate_scaling)

INTERVALS = {"never": 0, "every-100": 100, "every-10": 10, "every-step": 1}


def log_interval(build: Build, level: str) -> Arm:
    """How often the training loop reads its loss, which makes the host wait for the device."""
    return build(log_interval=INTERVALS[level])


def branches(build: Build, level: str) -> Arm:
    """A block's branches one after another, at once, or one convolution of about their cost in their place."""
    return build(branches=level)


for _framework in ("torch", "tensorflow"):
    technique(
        _framework,
        group="overlap",
        aliases=("loss.item", "logging", "implicit synchronisation"),
        levels=tuple(INTERVALS),
        not_recommended={"*": "its baseline reads no loss; read it as seldom as you can"},
    )(log_interval)
    technique(
        _framework,
        group="kernels",
        aliases=("parallel branches", "Inception"),
        levels=("serial", "parallel", "fused"),
        same_output=("parallel",),
        not_recommended={"*": "it is a choice of the model, not of how it is computed"},
    )(branches)


DTYPE_TOLERANCE = {"float32": 1e-3}  # float32 rounds at 6e-8, and a step may have thousands of operations in a row


def dtype(build: Build, level: str) -> Arm:
    """Arrays of double or of single precision."""
    return build(dtype=level)


for _framework in ("numpy", "torch", "cupy"):
    technique(
        _framework,
        often_pays=True,
        group="precision",
        levels=("float64", "float32"),
        tolerance=DTYPE_TOLERANCE,
        snippet={"float32": "array = array.astype(numpy.float32)  # once, every array of the program"},
    )(dtype)


# |a|² + |b|² − 2 a·b cancels: it was off by up to 6e-5 over sixteen seeds, and a fivefold margin covers
# others. Everything else differs by rounding.
VECTORISE_TOLERANCE = {"array": ROUNDING, "matmul": 3e-4}


def vectorise(build: Build, level: str) -> Arm:
    """A Python loop, array expressions, or batched matrix products."""
    return build(form=level)


for _framework in ("numpy", "torch", "cupy"):
    technique(
        _framework,
        group="Python loops",
        aliases=("vectorize", "vectorization", "broadcasting"),
        levels=("loop", "array", "matmul"),
        tolerance=VECTORISE_TOLERANCE,
        not_recommended={
            "*": "it is a way to write a program, not a setting: write array expressions instead of loops"
        },
    )(vectorise)
