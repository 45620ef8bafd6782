"""The PyTorch training workloads: what each of them trains, on which data, and in batches of which size.

``training_loop`` trains them all, with the options that techniques set. Image loading, which is training without a
model, stands here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from accelbench.core import Arm, Setting, workload
from accelbench.core.arm import nothing
from accelbench.core.verification import find_distance
from accelbench.errors import Unavailable, check_choice
from accelbench.schema.reasons import Reason
from accelbench.workloads.torch.training_loop import (
    Files,
    TorchTraining,
    TorchTrainingLoop,
    TrainOptions,
    train,
    train_in_turn,
)

LOGGED_STEPS = 100
LOGGED_ROWS = 32  # so few that a step stays far below a millisecond
# Training amplifies differences: at 1e-2, two resets on a GPU left outputs 170 % apart after 128 steps of one image.
# With gradients that differ by 1e-5 from run to run, this rate leaves them 0.016 % apart. Measured with ResNet-18.
LADDER_LEARNING_RATE = 1e-5
INCEPTION_CLASSES = 10


@workload("torch", unit="image", shared=TrainOptions)
def cnn_train(setting: Setting, options: TrainOptions) -> Arm:
    """Training step of a small CNN, convolutions 3-16-32 and two linear layers, on 32×32 images."""
    from accelbench.workloads.torch import models

    return train_in_turn(setting, options, models.cnn(), setting.choose(small=32, full=256))


@workload("torch", unit="row", shared=TrainOptions)
def mlp_train(setting: Setting, options: TrainOptions) -> Arm:
    """Training step of the sequential network 784-128-10."""
    from accelbench.workloads.torch import models

    return train_in_turn(setting, options, models.mlp(), setting.choose(small=256, full=1024))


@workload("torch", unit="row", shared=TrainOptions)
def narrow_mlp_train(setting: Setting, options: TrainOptions) -> Arm:
    """Training step, with AdamW, of 32 residual layers of 32 units: 128 small tensors of weights."""
    from accelbench.workloads.torch import models

    return train_in_turn(setting, options, models.narrow_mlp(), setting.choose(small=32, full=1024))


@workload("torch", unit="image", shared=TrainOptions)
def resnet18_train(setting: Setting, options: TrainOptions) -> Arm:
    """Training step of ResNet-18, on 48×48 images at small size and 224×224 at full."""
    from accelbench.workloads.torch import models

    problem = models.resnet18(**setting.choose(small={"side": 48, "classes": 10}, full={"side": 224, "classes": 1000}))
    return train_in_turn(setting, options, problem, setting.choose(small=4, full=128))


@workload("torch", unit="image", shared=TrainOptions)
def resnet50_train(setting: Setting, options: TrainOptions) -> Arm:
    """Training step of ResNet-50 v1.5, on 64×64 images at small size and 224×224 at full."""
    from accelbench.workloads.torch import models

    problem = models.resnet50(**setting.choose(small={"side": 64, "classes": 10}, full={"side": 224, "classes": 1000}))
    return train_in_turn(setting, options, problem, setting.choose(small=2, full=128))


@workload("torch", unit="image", shared=TrainOptions)
def regnet_train(setting: Setting, options: TrainOptions) -> Arm:
    """Training step of RegNetX-200MF on 48×48 images at small size, of RegNetX-3.2GF on 224×224 at full."""
    from accelbench.workloads.torch import models

    problem = models.regnet(  # Radosavovic et al. 2020, arXiv 2003.13678, table 5
        **setting.choose(
            small={"side": 48, "classes": 10, "depths": [1, 1, 4, 7], "widths": [24, 56, 152, 368], "group": 8},
            full={"side": 224, "classes": 1000, "depths": [2, 6, 15, 2], "widths": [96, 192, 432, 1008], "group": 48},
        )
    )
    return train_in_turn(setting, options, problem, setting.choose(small=4, full=128))


@workload("torch", unit="sequence", shared=TrainOptions)
def bert_train(setting: Setting, options: TrainOptions) -> Arm:
    """Training step of a BERT classifier: two layers of 256 on 64 tokens at small size, BERT-base on 128 at full."""
    return train_in_turn(setting, options, _bert(setting), setting.choose(small=4, full=64))


@workload("torch", unit="sequence", shared=TrainOptions)
def bert_large_train(setting: Setting, options: TrainOptions) -> Arm:
    """Training step of a BERT classifier: six layers of 128 on 64 tokens at small size, BERT-large on 128 at full."""
    from accelbench.workloads.torch import models

    problem = models.bert(  # Devlin et al. 2018, arXiv 1810.04805, section 3
        **setting.choose(
            small={"layers": 6, "hidden": 128, "vocabulary": 8192, "tokens": 64},
            full={"layers": 24, "hidden": 1024, "vocabulary": 30522, "tokens": 128},
        )
    )
    return train_in_turn(setting, options, problem, setting.choose(small=4, full=64))


@workload("torch", unit="sequence", shared=TrainOptions)
def long_bert_train(setting: Setting, options: TrainOptions) -> Arm:
    """Training step of a BERT classifier on 512 tokens: four layers of 64 at small size, BERT-base at full."""
    from accelbench.workloads.torch import models

    problem = models.bert(
        **setting.choose(
            small={"layers": 4, "hidden": 64, "vocabulary": 1024, "tokens": 512},
            full={"layers": 12, "hidden": 768, "vocabulary": 30522, "tokens": 512},
        )
    )
    return train_in_turn(setting, options, problem, setting.choose(small=4, full=32))


@workload("torch", unit="step", shared=TrainOptions)
def logged_training(setting: Setting, options: TrainOptions) -> Arm:
    """A run of 100 small training steps of the network 784-128-10 on resident data, whose loss is read on the way.

    What is printed goes to memory instead of a terminal, so a print costs what PyTorch takes to format a tensor.
    """
    from accelbench.workloads.torch import models

    facts = {"log_interval": 1, "counts_steps": True}
    return train_in_turn(setting, options, models.mlp(), LOGGED_ROWS, steps=LOGGED_STEPS, **facts)


@workload("torch", unit="image", shared=TrainOptions)
def inception_train(setting: Setting, options: TrainOptions, *, branches: str = "serial") -> Arm:
    """Training step of GoogLeNet's Inception block 3a, or of one 3×3 convolution of about its cost, under a small head.

    At once, each branch has a CUDA stream in both passes; on a CPU a thread in the forward pass only.
    """
    from accelbench.workloads.torch import devices, inception

    block = inception.block(branches, devices.choose(options.device), setting.cores)
    problem = inception.problem(block, classes=INCEPTION_CLASSES)
    return train_in_turn(setting, options, problem, setting.choose(small=2, full=32), close=block.close)


@workload("torch", unit="row", shared=TrainOptions)
def loader_train(setting: Setting, options: TrainOptions) -> Arm:
    """An epoch of training the network 784-128-10, light work on large batches that a data loader brings."""
    import torch

    from accelbench.workloads.torch import models
    from accelbench.workloads.torch.training_step import ProblemTask

    problem = models.mlp()

    def data(size: int) -> Files:
        generator = torch.Generator().manual_seed(setting.seed)
        batches = [problem.batch(size, generator) for _ in range(8)]
        return Files(dataset=batches, items=size * len(batches), draws=len(batches), batch_size=None, workers=1)

    usual = setting.choose(small=1024, full=16384)
    task = ProblemTask(problem, setting.seed)
    return train(setting, options, TorchTraining(task=task, data=data, batch_size=usual, location="loaded"))


@workload("torch", unit="image", shared=TrainOptions)
def image_training(
    setting: Setting, options: TrainOptions, *, model: str = "resnet18", images: int | None = None
) -> Arm:
    """An epoch of training ResNet-18, or the CNN of introductory texts, on image files that are decoded from disk."""
    usual = setting.choose(small=24 if model == "resnet18" else 64, full=128)
    training = _on_photographs(
        setting, options, model, side=setting.choose(small=48, full=224), images=images or usual, workers=None
    )
    return train(setting, options, replace(training, batch_size=setting.choose(small=8, full=16), watched=True))


@workload("torch", unit="image", shared=TrainOptions)
def bottleneck_training(
    setting: Setting, options: TrainOptions, *, model: str = "resnet18", images: int | None = None
) -> Arm:
    """An epoch of training on image files: decoded in the loop, sent when needed, the loss read after every step."""
    few = 16 if model == "cnn" else 8  # enough for a step of about 0.1 s on two cores
    training = _on_photographs(
        setting,
        options,
        model,
        side=setting.choose(small=32, full=224),
        images=images or setting.choose(small=few, full=128),
        persistent_workers=False,
    )
    usual = min(setting.choose(small=4, full=16), training.most or 1)
    whole = replace(training, batch_size=usual, data=_whole_batches(training.data), log_interval=1, watched=True)
    return train(setting, options, whole)


@workload("torch", unit="item", shared=TrainOptions)
def ladder_training(setting: Setting, options: TrainOptions, *, model: str = "resnet18") -> Arm:
    """An epoch of training: ResNet-18 on image files that are decoded from disk, or BERT on token sequences in memory.

    It begins as a naive program does: one item at a time, loaded where it is learnt, the loss read in every step.
    """
    items = setting.choose(small=8, full=128)
    if model == "bert":
        training = _on_sequences(setting, items)
    else:
        side = setting.choose(small=48, full=224)
        training = _on_photographs(
            setting,
            options,
            model,
            side=side,
            images=items,
            known=("resnet18", "bert"),
            learning_rate=LADDER_LEARNING_RATE,
        )
    return train(setting, options, replace(training, batch_size=1, log_interval=1))


@workload("torch", unit="image", shared=TrainOptions)
def ladder_training_resnet50(setting: Setting, options: TrainOptions) -> Arm:
    """An epoch of training ResNet-50 v1.5 on random images in the host's memory, sent to the device in every step.

    64 images of 32×32 pixels at small size, which take about a second on two cores, 256 of 224×224 at full.
    """
    import torch

    from accelbench.workloads.torch import models
    from accelbench.workloads.torch.data import Batches, in_batches
    from accelbench.workloads.torch.training_step import ProblemTask

    items = setting.choose(small=64, full=256)
    problem = models.resnet50(**setting.choose(small={"side": 32, "classes": 10}, full={"side": 224, "classes": 1000}))

    def data(size: int) -> Batches:
        images = problem.batch(items, torch.Generator().manual_seed(setting.seed))
        batches = in_batches(images, size)
        return Batches(batches, per_step=len(batches), inputs=images)

    task = ProblemTask(problem.at_learning_rate(LADDER_LEARNING_RATE), setting.seed)
    training = TorchTraining(task=task, data=data, batch_size=32, location="host", most=items, log_interval=1)
    return train(setting, options, training)


@workload("torch", unit="row", shared=TrainOptions)
def house_prices_train(setting: Setting, options: TrainOptions, *, rows: int | None = None) -> Arm:
    """An epoch of training the network 331-128-64-1 on generated house prices, by the root mean square of log errors.

    An epoch draws ``rows`` of the table in a new order, all by default, and never fewer than one batch.
    """
    import torch

    from accelbench.workloads.data.tables import ROWS, generate_houses
    from accelbench.workloads.torch import models
    from accelbench.workloads.torch.data import Permutations, TensorTable
    from accelbench.workloads.torch.training_step import ProblemTask

    table = generate_houses(setting.seed)

    def data(size: int) -> TensorTable:
        # The network says how far a price is from the mean one, of which it would otherwise learn first and mostly.
        prices = torch.from_numpy(table.log_prices - table.log_prices.mean())
        drawn = min(ROWS, max(rows or ROWS, size))
        order = Permutations(ROWS, drawn, setting.seed)
        return TensorTable((torch.from_numpy(table.features), prices), items=drawn, batch_size=size, order=order)

    task = ProblemTask(models.house_prices(table.features.shape[1]), setting.seed)
    return train(setting, options, TorchTraining(task=task, data=data, batch_size=64, most=ROWS))


@workload("torch", unit="training", shared=TrainOptions)
def digits_training(setting: Setting, options: TrainOptions, *, trainings: int = 1) -> Arm:
    """Training the network 64-64-10 on handwritten digits until it recognises 95 % of unseen ones.

    A step has several ``trainings``, each with first weights and an order of the images of its own.
    """
    import torch

    from accelbench.workloads.data import tables
    from accelbench.workloads.torch import models
    from accelbench.workloads.torch.data import TensorTable
    from accelbench.workloads.torch.training_step import ProblemTask

    split = tables.split_digits()
    order = _GivenOrder()

    def data(size: int) -> TensorTable:
        order.rows = torch.arange(split.epoch(size))
        tensors = (torch.from_numpy(split.pixels), torch.from_numpy(split.labels))
        return TensorTable(tensors, items=split.epoch(size), batch_size=size, order=order)

    task = ProblemTask(models.digits(), setting.seed)
    training = TorchTraining(task=task, data=data, batch_size=tables.BATCH, most=len(split.pixels))
    loop = TorchTrainingLoop(setting, options, training)
    if setting.only_check:
        return Arm(step=nothing)

    def reset(number: int) -> None:
        task.reseed(number)
        loop.reset()

    def learn(batches: Any) -> None:
        order.rows = torch.from_numpy(batches.reshape(-1))
        loop.step()

    def test() -> float:
        recognised = loop.trainer.predict(test_pixels).argmax(dim=1) == test_labels
        return float(recognised.float().mean())  # a training must know whether to go on

    test_pixels, test_labels = (
        torch.from_numpy(part).to(loop.device) for part in (split.test_pixels, split.test_labels)
    )
    facts = tables.training_facts(
        split,
        seed=setting.seed,
        batch_size=loop.batch_size,
        reset=reset,
        learn=learn,
        wait=lambda: loop.trainer.wait(),
        test=test,
        trainings=trainings,
        learns_otherwise=loop.learns_otherwise,
    )
    arm = loop.arm(**facts, reset=nothing, inputs=tuple, feed=None, checked_steps=1)
    # Each training takes an epoch at least.
    return replace(arm, work=loop.work(trainings * split.epoch(loop.batch_size)))


class _GivenOrder:
    """The rows of an epoch as they were set before it."""

    rows: Any = None

    def __call__(self) -> Any:
        return self.rows


@workload("torch", unit="image")
def image_loading(
    setting: Setting,
    *,
    images: int | None = None,
    batch_size: int = 8,
    side: int | None = None,
    workers: int | None = None,
    persistent_workers: bool = True,
    prefetch_factor: int = 2,
    pin_memory: bool = False,
    decode: str = "pillow",
) -> Arm:
    """An epoch of decoding image files from disk and scaling them to a side in pixels, with nothing to feed."""
    import torch

    from accelbench.workloads.torch import devices
    from accelbench.workloads.torch.data import DECODE_TOLERANCE, DECODED_THERE, Loader, worker_count

    count = worker_count(workers, setting.cores)
    if decode == "device" and (count or pin_memory):
        raise Unavailable(DECODED_THERE)
    dataset, _ = _photographs(setting, side or setting.choose(small=96, full=224), decode)
    items = min(images or setting.choose(small=64, full=128), len(dataset))
    load = partial(Loader, seed=setting.seed, items=items, batch_size=batch_size, prefetch_factor=prefetch_factor)
    epochs = load(dataset, workers=count, persistent_workers=persistent_workers, pin_memory=pin_memory)

    def drain(epoch: Any) -> tuple[Any, Any]:
        means, labels = [], []
        for pixels, label in epoch:
            means.append(pixels.mean())
            labels.append(label.clone())  # a loader process's own tensor would keep a file open
        return torch.stack(means), torch.cat(labels)

    @cache
    def expected() -> list[Any]:
        whole = load(dataset.decoded_whole(), workers=0, persistent_workers=False, pin_memory=False)
        return [part.double().numpy() for part in drain(whole)]

    def verify(output: Sequence[Any]) -> Reason | None:
        if decode == "pillow":
            return None  # the reference itself
        objections = (
            find_distance(found, known, DECODE_TOLERANCE, "what Pillow decodes from whole files")
            for found, known in zip(output, expected(), strict=True)
        )
        return dataset.check_decoding(setting.seed) or next(filter(None, objections), None)

    place = devices.label(devices.accelerator()) if decode == "device" else "cpu"
    # What decoding takes depends on the files, so no work is stated.
    return Arm(step=lambda: drain(epochs), items=epochs.items, verify=verify, close=epochs.close, device=place)


def _bert(setting: Setting) -> Any:
    from accelbench.workloads.torch import models

    return models.bert(
        **setting.choose(
            small={"layers": 2, "hidden": 256, "vocabulary": 8192, "tokens": 64},
            full={"layers": 12, "hidden": 768, "vocabulary": 30522, "tokens": 128},
        )
    )


def _on_sequences(setting: Setting, items: int) -> TorchTraining:
    """Return BERT's training on random token sequences in memory, which a loader reads one by one."""
    import torch

    from accelbench.workloads.torch.training_step import ProblemTask

    problem = _bert(setting)

    def data(size: int) -> Files:
        dataset = torch.utils.data.TensorDataset(*problem.batch(items, torch.Generator().manual_seed(setting.seed)))
        return Files(dataset=dataset, items=items, batch_size=size)

    task = ProblemTask(problem, setting.seed)
    return TorchTraining(task=task, data=data, batch_size=1, location="loaded", most=items)


def _on_photographs(
    setting: Setting,
    options: TrainOptions,
    model: str,
    *,
    side: int,
    images: int,
    known: tuple[str, ...] = ("resnet18", "cnn"),
    learning_rate: float | None = None,
    **loader: Any,
) -> TorchTraining:
    """Return the training of ResNet-18 on images of ``side`` pixels, or of the small CNN, on the run's image files."""
    from accelbench.workloads.torch import models
    from accelbench.workloads.torch.training_step import ProblemTask

    check_choice(model, known, "model")
    side = 32 if model == "cnn" else side
    dataset, classes = _photographs(setting, side, options.decode or "pillow")
    items = min(images, len(dataset))
    problem = models.cnn(classes=classes) if model == "cnn" else models.resnet18(side=side, classes=classes)
    if learning_rate is not None:
        problem = problem.at_learning_rate(learning_rate)

    def data(size: int) -> Files:
        return Files(dataset=dataset, items=items, batch_size=size, **loader)

    task = ProblemTask(problem, setting.seed)
    return TorchTraining(
        task=task,
        data=data,
        batch_size=1,
        location="loaded",
        most=items,
        has_files=True,
        verify=lambda _: dataset.check_decoding(setting.seed),
    )


def _whole_batches(data: Callable[[int], Files]) -> Callable[[int], Files]:
    """Return data without the last batch of an epoch where it is smaller, unless it is the only one."""

    def whole(size: int) -> Files:
        files = data(size)
        return replace(files, items=files.items // size * size or files.items)

    return whole


def _photographs(setting: Setting, side: int, decode: str) -> tuple[Any, int]:
    """Return the run's image files as a dataset, and their number of classes, at least two."""
    from accelbench.workloads.data import images
    from accelbench.workloads.data.images import scan
    from accelbench.workloads.torch.data import Photographs

    folder = scan(images.image_folder(setting))
    return Photographs(folder, side, decode), max(2, len(folder.classes))
