"""A small BERT that the Trainer of transformers teaches to find a word in a text."""

import tempfile
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

import accelbench

WORDS, SHORTEST, LONGEST, SOUGHT = 1000, 16, 64, 7


class Texts(Dataset[dict[str, torch.Tensor]]):
    """Texts of random words; half of them contain the word that is sought."""

    def __len__(self) -> int:
        return 2048

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(index)
        length = int(torch.randint(SHORTEST, LONGEST + 1, (), generator=generator))
        words = torch.randint(SOUGHT + 1, WORDS, (length,), generator=generator)
        if index % 2:
            words[int(torch.randint(length, (), generator=generator))] = SOUGHT
        return {"input_ids": words, "labels": torch.tensor(index % 2)}


def pad(texts: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Make a batch as long as its longest text."""
    words = pad_sequence([text["input_ids"] for text in texts], batch_first=True)
    labels = torch.stack([text["labels"] for text in texts])
    return {"input_ids": words, "attention_mask": (words > 0).long(), "labels": labels}


def make_trainer() -> Trainer:
    """Return the trainer, as a script would make it that calls ``train``."""
    size: dict[str, Any] = {"hidden_size": 128, "intermediate_size": 512, "num_hidden_layers": 2}
    model = BertForSequenceClassification(BertConfig(vocab_size=WORDS, num_attention_heads=4, num_labels=2, **size))
    arguments = TrainingArguments(
        output_dir=str(Path(tempfile.gettempdir()) / "trainer-example"),
        per_device_train_batch_size=16,
        learning_rate=3e-4,
        warmup_steps=20,
        num_train_epochs=3,
        save_strategy="no",
        report_to=[],
    )
    return Trainer(model=model, args=arguments, train_dataset=Texts(), data_collator=pad)


def build() -> accelbench.Program:
    """A small BERT that the Trainer of transformers teaches to find a word."""
    return accelbench.from_trainer(make_trainer())


if __name__ == "__main__":
    make_trainer().train()
