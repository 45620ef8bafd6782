"""Training steps on random data: forward, loss, backward, optimiser.

The models are `transformers` configurations and the small networks of introductory texts, all with random weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.errors import Unavailable
from harness.experiment import Arm, Setting, workload

LAYERS = ("attention", "activation_checkpointing")  # which only transformers' layers know
ProblemOf = Callable[[Setting], tuple[Any, int]]  # a problem, and the usual size of its batches


def _arm(
    problem_of: ProblemOf,
    setting: Setting,
    *,
    batch_size: int | None = None,
    device: str | None = None,
    autocast: str = "fp32",
    data_location: str = "resident",
    memory_format: str = "contiguous",
    compile_mode: str = "eager",
    cuda_graphs: bool = False,
    optimizer: str | None = None,
    accumulation: int = 1,
    attention: str | None = None,
    activation_checkpointing: bool = False,
) -> Arm:
    """Return the arm that trains on a few batches in turn, resident on the device or sent there and back."""
    from harness.workloads.torch import devices
    from harness.workloads.torch.compiling import compiled
    from harness.workloads.torch.trainer import Trainer
    from harness.workloads.torch.transformer_layers import attending, with_layers

    problem, usual_size = problem_of(setting)
    size, place = batch_size or usual_size, devices.chosen(device)
    _need_parts(size, accumulation, place, cuda_graphs=cuda_graphs, compile_mode=compile_mode)
    layers: dict[str, Any] = {"attention": attention, "activation_checkpointing": activation_checkpointing}
    trainer = Trainer(
        with_layers(problem.model, **layers),
        seed=setting.seed,
        device=place,
        autocast=autocast,
        memory_format=memory_format,
        optimizer=problem.optimizer(optimizer),
        accumulation=accumulation,
    )
    if cuda_graphs:
        _record(trainer, problem, size, **layers, autocast=autocast, compile_mode=compile_mode)
    arm = attending(_on_batches(trainer, problem, size, data_location == "resident", bool(optimizer)), attention)
    kind = (autocast, memory_format, size, attention, activation_checkpointing, accumulation)
    return compiled(arm, trainer.model, compile_mode, setting, *kind, searchable=problem.searchable)


def _need_parts(size: int, parts: int, place: Any, **options: Any) -> None:
    """Make a batch unavailable that cannot be learnt in so many parts."""
    from harness.workloads.torch.recording import need_whole_batches

    if size % parts:
        raise Unavailable(f"a batch of {size} cannot be learnt in {parts} equal parts")
    need_whole_batches(place, parts, **options)


def _record(trainer: Any, problem: Any, size: int, *, attention: str | None, **options: Any) -> None:
    """Record the passes of a trainer's model as CUDA graphs, for batches of so many items."""
    import torch

    from harness.workloads.torch.recording import need_recording, record
    from harness.workloads.torch.transformer_layers import held_to

    need_recording(trainer.device, **options)
    inputs, _ = trainer.laid_out(*problem.batch(size, torch.Generator()))
    with held_to(attention):  # a graph replays what it was recorded with
        record(trainer.model, inputs.to(trainer.device))


def _on_batches(trainer: Any, problem: Any, size: int, stays: bool, shares: bool) -> Arm:
    """Return the arm of a trainer, whose batches stay on the device or not; ``shares`` observes the optimiser's."""
    import torch

    from harness.workloads.data.rotation import VARIANTS, Rotation

    generator = torch.Generator().manual_seed(trainer.seed)
    batches = [trainer.laid_out(*problem.batch(size, generator)) for _ in range(VARIANTS)]

    def resident() -> Any:
        return trainer.train_on(*rotation.take())

    def round_trip() -> Any:
        sent = (part.to(trainer.device) for part in rotation.take())
        return tuple(part.to("cpu") for part in trainer.train_on(*sent))

    def reset() -> None:
        trainer.reset()
        rotation.restart()

    def observe() -> dict[str, float]:
        return {"optimizer_share": trainer.optimizer_share(*(part.to(trainer.device) for part in rotation.take()))}

    if stays:
        batches = [(inputs.to(trainer.device), labels.to(trainer.device)) for inputs, labels in batches]
    rotation = Rotation(batches)
    batch_bytes = size * problem.item_bytes
    return trainer.arm(  # type: ignore[no-any-return]  # the trainer is imported with PyTorch
        resident if stays else round_trip,
        problem.network,
        size,
        read_bytes=batch_bytes,
        sent_bytes=0 if stays else batch_bytes,
        reset=reset,
        checked_steps=2,  # the second step's output shows what the first one learnt
        inputs=rotation.shown,
        observe=observe if shares else None,
    )


@workload("torch", unit="image", family=_arm, lacks=LAYERS)
def cnn_train(setting: Setting) -> tuple[Any, int]:
    """Training step of a small CNN, convolutions 3-16-32 and two linear layers, on 32×32 images."""
    from harness.workloads.torch import models

    return models.cnn(), setting.choose(small=32, full=256)


@workload("torch", unit="row", family=_arm, lacks=LAYERS)
def mlp_train(setting: Setting) -> tuple[Any, int]:
    """Training step of the sequential network 784-128-10."""
    from harness.workloads.torch import models

    return models.mlp(), setting.choose(small=256, full=1024)


@workload("torch", unit="row", family=_arm, lacks=LAYERS)
def narrow_mlp_train(setting: Setting) -> tuple[Any, int]:
    """Training step, with AdamW, of 32 residual layers of 32 units: 128 small tensors of weights."""
    from harness.workloads.torch import models

    return models.narrow_mlp(), setting.choose(small=32, full=1024)


@workload("torch", unit="image", family=_arm, lacks=LAYERS)
def resnet18_train(setting: Setting) -> tuple[Any, int]:
    """Training step of ResNet-18, on 48×48 images at small size and 224×224 at full."""
    from harness.workloads.torch import models

    problem = models.resnet18(**setting.choose(small={"side": 48, "classes": 10}, full={"side": 224, "classes": 1000}))
    return problem, setting.choose(small=4, full=128)


@workload("torch", unit="image", family=_arm, lacks=LAYERS)
def resnet50_train(setting: Setting) -> tuple[Any, int]:
    """Training step of ResNet-50 v1.5, on 64×64 images at small size and 224×224 at full."""
    from harness.workloads.torch import models

    problem = models.resnet50(**setting.choose(small={"side": 64, "classes": 10}, full={"side": 224, "classes": 1000}))
    return problem, setting.choose(small=2, full=128)


@workload("torch", unit="image", family=_arm, lacks=LAYERS)
def regnet_train(setting: Setting) -> tuple[Any, int]:
    """Training step of RegNetX-200MF on 48×48 images at small size, of RegNetX-3.2GF on 224×224 at full."""
    from harness.workloads.torch import models

    problem = models.regnet(  # Radosavovic et al. 2020, arXiv 2003.13678, table 5
        **setting.choose(
            small={"side": 48, "classes": 10, "depths": [1, 1, 4, 7], "widths": [24, 56, 152, 368], "group": 8},
            full={"side": 224, "classes": 1000, "depths": [2, 6, 15, 2], "widths": [96, 192, 432, 1008], "group": 48},
        )
    )
    return problem, setting.choose(small=4, full=128)


@workload("torch", unit="sequence", family=_arm)
def bert_train(setting: Setting) -> tuple[Any, int]:
    """Training step of a BERT classifier: two layers of 256 on 64 tokens at small size, BERT-base on 128 at full."""
    from harness.workloads.torch import models

    problem = models.bert(
        **setting.choose(
            small={"layers": 2, "hidden": 256, "vocabulary": 8192, "tokens": 64},
            full={"layers": 12, "hidden": 768, "vocabulary": 30522, "tokens": 128},
        )
    )
    return problem, setting.choose(small=4, full=64)


@workload("torch", unit="sequence", family=_arm)
def bert_large_train(setting: Setting) -> tuple[Any, int]:
    """Training step of a BERT classifier: six layers of 128 on 64 tokens at small size, BERT-large on 128 at full."""
    from harness.workloads.torch import models

    problem = models.bert(  # Devlin et al. 2018, arXiv 1810.04805, section 3
        **setting.choose(
            small={"layers": 6, "hidden": 128, "vocabulary": 8192, "tokens": 64},
            full={"layers": 24, "hidden": 1024, "vocabulary": 30522, "tokens": 128},
        )
    )
    return problem, setting.choose(small=4, full=64)


@workload("torch", unit="sequence", family=_arm)
def long_bert_train(setting: Setting) -> tuple[Any, int]:
    """Training step of a BERT classifier on 512 tokens: four layers of 64 at small size, BERT-base at full."""
    from harness.workloads.torch import models

    problem = models.bert(
        **setting.choose(
            small={"layers": 4, "hidden": 64, "vocabulary": 1024, "tokens": 512},
            full={"layers": 12, "hidden": 768, "vocabulary": 30522, "tokens": 512},
        )
    )
    return problem, setting.choose(small=4, full=32)
