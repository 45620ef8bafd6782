"""Training as introductory texts write it, with burdens that can be taken off one at a time."""

from __future__ import annotations

from typing import Any

from harness.errors import BadInput, Unavailable
from harness.experiment import Arm, Setting, workload

BATCHES = ("files", "decoded", "resident")


@workload("torch", unit="image")
def burdened_training(
    setting: Setting,
    *,
    model: str = "resnet18",
    images: int | None = None,
    batch_factor: int = 1,
    batches: str = "files",
    log_interval: int | None = 1,
    device: str | None = None,
    autocast: str = "fp32",
) -> Arm:
    """An epoch of training on image files: decoded in the loop, sent when needed, the loss read after every step.

    ``batches`` come from the files, lie decoded in the host's memory, or are resident on the device. The loss is read
    in every ``log_interval``-th step, or in none. ``batch_factor`` makes fewer and larger batches of the same images.
    """
    from harness.workloads.torch import devices
    from harness.workloads.torch.trainer import Trainer

    place = devices.chosen(device)
    _check(batches, place)
    size = batch_factor * setting.choose(small=4, full=16)
    problem, loader, items = _problem(setting, model, images, size)
    epoch: Any = loader if batches == "files" else list(loader)
    if batches == "resident":
        epoch = [tuple(part.to(place) for part in batch) for batch in epoch]
    trainer = Trainer(problem.model, seed=setting.seed, device=place, autocast=autocast)

    def step() -> Any:
        for number, (inputs, labels) in enumerate(epoch, start=1):
            output = trainer.train_on(inputs.to(place), labels.to(place))
            if log_interval and number % log_interval == 0:
                output[0].item()  # a burden, and what is measured
        return output

    sent_bytes = 0 if batches == "resident" else items * problem.item_bytes
    shown = () if batches == "files" else epoch
    return trainer.arm(
        step,
        problem.network,
        items,
        sent_bytes=sent_bytes,
        close=loader.close,
        watched=True,
        inputs=lambda: shown,
    )


def _check(batches: str, place: Any) -> None:
    """Refuse what is no place of batches, or makes no difference on this device."""
    if batches not in BATCHES:
        raise BadInput(f"unknown place of batches {batches!r}; expected one of: {', '.join(BATCHES)}")
    if batches == "resident" and place.type == "cpu":
        raise Unavailable("training runs on the CPU, where a decoded batch is resident already: nothing is sent")


def _problem(setting: Setting, model: str, images: int | None, batch_size: int) -> tuple[Any, Any, int]:
    """Return the model's problem, the loader of whole batches of image files, and how many images it draws."""
    from harness.workloads.data import photographs
    from harness.workloads.data.image_folder import scan
    from harness.workloads.torch import models
    from harness.workloads.torch.epochs import Epochs

    folder = scan(photographs.folder(setting))
    from harness.workloads.torch.decoding import Photographs  # after the scan, which says so where Pillow is missing

    classes = max(2, len(folder.classes))
    side = 32 if model == "cnn" else setting.choose(small=32, full=224)
    problems = {
        "cnn": lambda: models.cnn(classes=classes),
        "resnet18": lambda: models.resnet18(side=side, classes=classes),
    }
    if model not in problems:
        raise BadInput(f"unknown model {model!r}; expected one of: {', '.join(problems)}")
    few = 16 if model == "cnn" else 8  # enough for a step of about 0.1 s on two cores
    drawn = min(images or setting.choose(small=few, full=128), len(folder.paths))
    items = drawn // batch_size * batch_size or drawn
    loader = Epochs(
        Photographs(folder, side),
        seed=setting.seed,
        items=items,
        batch_size=batch_size,
        workers=0,
        persistent_workers=False,
        prefetch_factor=2,
        pin_memory=False,
    )
    return problems[model](), loader, items
