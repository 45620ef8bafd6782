"""A program of a training library learns as the library's own loop does, and returns to its first state."""

import os
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import accelbench
from accelbench import Program, Setting
from accelbench.core import find_technique
from accelbench.errors import BadInput, Unavailable
from accelbench.schema.reasons import reason_of

os.environ.setdefault("HF_HUB_OFFLINE", "1")
accelerate = pytest.importorskip("accelerate")
transformers = pytest.importorskip("transformers")

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore:.*LeafSpec:FutureWarning"),  # of Lightning itself
]
IMAGES = TensorDataset(torch.randn(24, 8, generator=torch.Generator().manual_seed(0)), torch.arange(24) % 3)


@pytest.fixture
def lightning() -> Any:
    """Programs of Lightning, which only the process that runs these tests loads: it takes seconds."""
    return pytest.importorskip("lightning_modules")


def loader() -> Any:
    return DataLoader(IMAGES, batch_size=4)


def losses_of(program: Program, batches: int) -> list[float]:
    """Return the losses of the first batches of an epoch."""
    assert program.train_step is not None
    return [float(program.train_step(batch)) for batch in islice(program.loader, batches)]


def stateful(program: Program) -> list[Any]:
    optimizers = program.optimizer if isinstance(program.optimizer, list) else [program.optimizer]
    return [program.model, *optimizers, *program.state]


def assert_repeats_from_its_first_state(program: Program, batches: int) -> None:
    """Train twice from the states that were saved at the beginning, on the same batches."""
    first = [deepcopy(each.state_dict()) for each in stateful(program)]
    assert program.train_step is not None
    fixed = list(islice(program.loader, batches))
    runs = []
    for _ in range(2):
        for each, state in zip(stateful(program), first, strict=True):
            each.load_state_dict(deepcopy(state))
        runs.append([float(program.train_step(deepcopy(batch))) for batch in fixed])
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == batches


def assert_same_weights(one: Any, other: Any) -> None:
    torch.testing.assert_close(one.state_dict(), other.state_dict(), rtol=1e-5, atol=1e-7)


class Sentences(torch.utils.data.Dataset[dict[str, Any]]):
    """Token sequences of several lengths; the collator makes them as long as the longest of a batch."""

    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> dict[str, Any]:
        tokens = torch.randint(5, 40, (4 + index % 5,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": tokens, "labels": tokens.clone()}


def padded(items: list[dict[str, Any]]) -> dict[str, Any]:
    pad = torch.nn.utils.rnn.pad_sequence
    return {
        "input_ids": pad([item["input_ids"] for item in items], batch_first=True),
        "labels": pad([item["labels"] for item in items], batch_first=True, padding_value=-100),
    }


def trainer_in(folder: Path, **arguments: Any) -> Any:
    """Return a trainer of a small model that predicts masked tokens, with warm-up and clipping."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, max_position_embeddings=16,
    )  # fmt: skip
    usual = {
        "report_to": [], "use_cpu": True, "disable_tqdm": True, "save_strategy": "no", "per_device_train_batch_size": 4,
        "num_train_epochs": 1, "learning_rate": 1e-2, "warmup_steps": 2, "max_grad_norm": 0.5, "logging_steps": 1,
    }  # fmt: skip
    given = transformers.TrainingArguments(output_dir=str(folder), **usual | arguments)
    return transformers.Trainer(
        model=transformers.BertForMaskedLM(config), args=given, train_dataset=Sentences(), data_collator=padded
    )


@pytest.mark.parametrize("accumulation", [1, 2])
def test_a_trainer_learns_as_it_does_alone(accumulation: int, tmp_path: Path) -> None:
    alone = trainer_in(tmp_path, gradient_accumulation_steps=accumulation)
    alone.train()
    expected = [entry["loss"] for entry in alone.state.log_history if "loss" in entry]
    program = accelbench.from_trainer(trainer_in(tmp_path, gradient_accumulation_steps=accumulation))
    assert losses_of(program, 24) == pytest.approx(expected, abs=1e-4)
    assert len(expected) == 24 // (4 * accumulation)
    assert_same_weights(program.model, alone.model)


def test_a_trainer_returns_to_its_first_state(tmp_path: Path) -> None:
    program = accelbench.from_trainer(trainer_in(tmp_path))
    assert_repeats_from_its_first_state(program, 4)


def test_a_trainer_learns_on_beyond_the_end_of_its_schedule(tmp_path: Path) -> None:
    program = accelbench.from_trainer(trainer_in(tmp_path))
    losses_of(program, 6)  # the whole training: the learning rate is zero by now
    assert len(set(losses_of(program, 6))) == 6
    before = deepcopy(program.model.state_dict())
    losses_of(program, 3)
    assert any(not before[name].equal(value) for name, value in program.model.state_dict().items())


def test_a_trainers_loader_keeps_its_batch_size_collator_and_workers(tmp_path: Path) -> None:
    loader = accelbench.from_trainer(trainer_in(tmp_path, dataloader_num_workers=1)).loader
    assert type(loader) is DataLoader
    assert (loader.batch_size, loader.num_workers, len(loader)) == (4, 1, 6)
    assert loader.collate_fn is padded or loader.collate_fn.data_collator is padded


def test_a_callback_of_the_user_is_neither_called_nor_lost(tmp_path: Path) -> None:
    called: list[str] = []

    class Mine(transformers.TrainerCallback):  # type: ignore[misc]
        def on_train_begin(self, *_: Any, **__: Any) -> None:
            called.append("begin")

    trainer = trainer_in(tmp_path)
    trainer.add_callback(Mine())
    losses_of(accelbench.from_trainer(trainer), 2)
    assert called == []
    assert any(isinstance(each, Mine) for each in trainer.callback_handler.callbacks)


@pytest.mark.parametrize("accumulation", [1, 2])
def test_a_lightning_module_learns_as_it_does_alone(accumulation: int, lightning: Any) -> None:
    options = {"gradient_clip_val": 0.1, "accumulate_grad_batches": accumulation}
    alone, mine = lightning.Classifier(), lightning.Classifier()
    lightning.quiet_trainer(**options).fit(alone, loader())
    program = accelbench.from_lightning(mine, loader(), lightning.quiet_trainer(**options))
    losses = losses_of(program, 24)
    assert mine.seen == pytest.approx(alone.seen)
    assert len(losses) == 6 // accumulation
    assert losses[0] == pytest.approx(sum(alone.seen[:accumulation]) / accumulation)
    assert_same_weights(mine, alone)
    assert mine.hooks == ["fit", "epoch"]


def test_a_lightning_module_returns_to_its_first_state(lightning: Any) -> None:
    assert_repeats_from_its_first_state(accelbench.from_lightning(lightning.Classifier(), loader()), 4)


def test_a_lightning_trainer_writes_no_logs_and_no_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lightning: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    trainer = lightning.Trainer(accelerator="cpu", max_epochs=1, enable_progress_bar=False)
    assert len(losses_of(accelbench.from_lightning(lightning.Classifier(), loader(), trainer), 6)) == 6
    assert list(tmp_path.iterdir()) == []


def test_a_lightning_training_goes_on_beyond_the_end_of_its_schedule(lightning: Any) -> None:
    program = accelbench.from_lightning(lightning.Classifier(), loader(), lightning.quiet_trainer())
    assert [len(losses_of(program, 6)) for _ in range(3)] == [6, 6, 6]


def test_a_lightning_module_with_manual_optimization_learns_as_it_does_alone(lightning: Any) -> None:
    alone, mine = lightning.Adversaries(), lightning.Adversaries()
    lightning.quiet_trainer().fit(alone, loader())
    program = accelbench.from_lightning(mine, loader(), lightning.quiet_trainer())
    assert losses_of(program, 6) == pytest.approx(alone.seen)
    assert_same_weights(mine, alone)
    assert len(program.optimizer) == 2


def test_a_data_module_takes_the_place_of_the_loader(lightning: Any) -> None:
    mine = lightning.Classifier()
    program = accelbench.from_lightning(
        mine, lightning.OfLoader(loader()), lightning.quiet_trainer(precision="bf16-mixed")
    )
    assert len(losses_of(program, 24)) == len(mine.seen) == 6


def test_several_loaders_at_once_are_refused_in_one_line(lightning: Any) -> None:
    loaders = {"one": loader(), "two": loader()}
    with pytest.raises(BadInput, match=r"^the module trains on 2 loaders at once; expected one loader$"):
        accelbench.from_lightning(lightning.Classifier(), loaders, lightning.quiet_trainer())


def test_modules_of_the_package_pytorch_lightning_are_taken_too() -> None:
    package = pytest.importorskip("pytorch_lightning")

    class Linear(package.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 3)

        def training_step(self, batch: Any) -> Any:
            return nn.functional.cross_entropy(self.layer(batch[0]), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    assert len(losses_of(accelbench.from_lightning(Linear(), loader()), 24)) == 6


def test_a_manual_optimization_that_returns_nothing_shows_the_losses_of_its_backward_passes(lightning: Any) -> None:
    module = lightning.Adversaries(lambda _: None)
    program = accelbench.from_lightning(module, loader(), lightning.quiet_trainer())
    (loss,) = losses_of(program, 1)
    (of_the_last,) = module.seen
    assert loss > of_the_last > 0.4 * loss, "it is the sum over both optimizers"


def test_a_manual_optimization_without_a_loss_is_refused_in_one_line(lightning: Any) -> None:
    module = lightning.Adversaries(lambda _: None, learns=False)
    program = accelbench.from_lightning(module, loader(), lightning.quiet_trainer())
    with pytest.raises(BadInput, match=r"^training_step returned no loss and made no backward pass; expected a tensor"):
        losses_of(program, 1)


class Prepared:
    """A training that Accelerate prepared, with warm-up, clipping and accumulation."""

    def __init__(self, accumulation: int) -> None:
        torch.manual_seed(0)
        self.accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=accumulation)
        model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=4)
        self.model, self.optimizer, self.loader, self.scheduler = self.accelerator.prepare(
            model, optimizer, DataLoader(IMAGES, batch_size=4), scheduler
        )

    def learn(self, batch: Any) -> Any:
        with self.accelerator.accumulate(self.model):
            loss = nn.functional.cross_entropy(self.model(batch[0]), batch[1])
            self.accelerator.backward(loss)
            if self.accelerator.sync_gradients:
                self.accelerator.clip_grad_norm_(self.model.parameters(), 0.5)
            self.optimizer.step()
            self.scheduler.step()
            self.optimizer.zero_grad()
        return loss

    def program(self) -> Program:
        return accelbench.from_accelerate(
            self.accelerator,
            model=self.model,
            loader=self.loader,
            optimizer=self.optimizer,
            scheduler=self.scheduler,
            train_step=self.learn,
        )


@pytest.mark.parametrize("accumulation", [1, 3])
def test_a_loop_of_accelerate_learns_as_it_does_alone(accumulation: int) -> None:
    alone = Prepared(accumulation)
    expected = [float(alone.learn(batch)) for batch in alone.loader]
    mine = Prepared(accumulation)
    losses = losses_of(mine.program(), 6)
    assert len(losses) == 6 // accumulation
    assert sum(losses) / len(losses) == pytest.approx(sum(expected) / 6)
    assert_same_weights(mine.model, alone.model)


def test_a_loop_of_accelerate_returns_to_its_first_state() -> None:
    assert_repeats_from_its_first_state(Prepared(2).program(), 3)


class Stream(IterableDataset[Any]):
    """The images one after another."""

    def __iter__(self) -> Iterator[Any]:
        return iter(IMAGES[index] for index in range(len(IMAGES)))


def test_an_iterable_data_set_is_learnt_from_in_updates() -> None:
    prepared = Prepared(2)
    prepared.loader = prepared.accelerator.prepare(DataLoader(Stream(), batch_size=4))
    losses = losses_of(prepared.program(), 9)
    assert len(losses) == 3


def test_accumulation_needs_a_batch_size() -> None:
    prepared = Prepared(2)
    prepared.loader = [IMAGES[:4]]
    with pytest.raises(BadInput, match=r"^gradients accumulate over 2 batches, and the loader has no batch size"):
        prepared.program()


@pytest.mark.parametrize("name", ["trainer", "accelerate", "lightning"])
def test_something_else_is_refused_in_one_line(name: str) -> None:
    options = {"model": None, "loader": None, "optimizer": None, "train_step": None} if name == "accelerate" else {}
    with pytest.raises(BadInput, match=rf"^from_{name} got a Linear; expected an? [\w.]+$"):
        getattr(accelbench, f"from_{name}")(nn.Linear(1, 1), **options)


@pytest.mark.parametrize("name", ["trainer", "accelerate", "lightning"])
def test_a_program_of_a_library_is_a_workload_that_begins_again_from_its_first_state(
    name: str, tmp_path: Path, lightning: Any
) -> None:
    def build() -> Program:
        if name == "trainer":
            return accelbench.from_trainer(trainer_in(tmp_path, gradient_accumulation_steps=2))
        if name == "accelerate":
            return Prepared(2).program()
        return accelbench.from_lightning(lightning.Classifier(), loader(), lightning.quiet_trainer())

    arm = accelbench.program(build).build(Setting(), device="cpu", batch_size=6, amp="bf16")
    runs = []
    for _ in range(2):
        arm.reset()
        runs.append(torch.stack([arm.step() for _ in range(3)]).flatten().tolist())
    arm.close()
    assert arm.items % 6 == 0
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == len(runs[0])


def has_already(build: Callable[[], Program], **options: Any) -> bool:
    """Return whether a program refuses options because it has them itself."""
    try:
        accelbench.program(build).build(Setting(only_check=True), **options)
    except Unavailable as refused:
        return reason_of(refused).code == "program-has-this"
    return False


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # of the compiler itself
@pytest.mark.parametrize("accumulation", [1, 2])
@pytest.mark.parametrize(
    ("technique", "level", "value"),
    [
        ("amp", "bf16", "bf16"),
        ("batch_size", "12", 12),
        ("compile", "default", "default"),
        ("workers", "1", 1),
        ("persistent_workers", "on", True),
        ("prefetch_factor", "4", 4),
        ("activation_checkpointing", "on", True),
    ],
)
def test_a_trainer_has_a_technique_once_its_recipe_is_written(
    technique: str, level: str, value: Any, accumulation: int, tmp_path: Path
) -> None:
    arguments = {
        "gradient_accumulation_steps": accumulation,
        "dataloader_num_workers": int(technique in ("persistent_workers", "prefetch_factor")),
    }

    def build() -> Program:
        return accelbench.from_trainer(trainer_in(tmp_path, **arguments))

    recipe = find_technique("torch", technique).written_as(build().recipes[technique]).snippet_at(level)
    assert not has_already(build, **{technique: value})
    arguments |= eval(recipe, {"TrainingArguments": dict})
    assert has_already(build, **{technique: value})


def test_lightning_and_accelerate_have_bfloat16_once_their_recipes_are_written(lightning: Any) -> None:
    def build() -> Program:
        return accelbench.from_lightning(lightning.Classifier(), loader(), trainer)

    trainer = lightning.quiet_trainer()
    recipe = build().recipes["amp"]["bf16"]
    assert not has_already(build, amp="bf16")
    trainer = eval(recipe, {"Trainer": lightning.quiet_trainer})
    assert has_already(build, amp="bf16")
    assert Prepared(1).program().recipes["amp"]["bf16"] == 'Accelerator(mixed_precision="bf16")'


def test_a_batch_size_is_written_for_each_part_of_an_update() -> None:
    assert Prepared(1).program().recipes["batch_size"] == {"*": "DataLoader(data, batch_size={level})"}
    assert Prepared(3).program().recipes["batch_size"] == {"*": "DataLoader(data, batch_size={level} // 3)"}
