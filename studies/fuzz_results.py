"""Fuzz the reader of result files with atheris, which is not among the requirements: pip install atheris.

    python -m studies.fuzz_results FOLDER -max_total_time=600

FOLDER keeps the inputs that reached new code; an empty one is filled with the stored files, cut down. Whatever
the bytes are, the reader returns a run, whose findings can be written as JSON, or raises UnreadableResult in one line.
"""

import json
import random
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["accelbench"]):
    from accelbench.errors import UnreadableResult
    from accelbench.results import Findings, find_results

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from hostile import NUMBERS, OTHERS, TEXTS, document, places
from runs import STORED

FILE = Path(tempfile.mkdtemp()) / "0001_fuzzed.json"


def read(data: bytes) -> None:
    FILE.write_bytes(data)
    try:
        (result,) = find_results(FILE).results
    except UnreadableResult as refused:
        message = str(refused)
    else:
        message = json.dumps(Findings(result).as_json(), allow_nan=False)
    assert message.isprintable(), message


def mutate(data: bytes, most: int, seed: int) -> bytes:
    """Change a value of the document, or bytes where they are no document."""
    chance = random.Random(seed)
    try:
        made = json.loads(data)
        holder, key = chance.choice(list(places(made)))
    except (ValueError, IndexError, TypeError, RecursionError):
        return atheris.Mutate(data, most)
    if chance.random() < 0.3:
        return atheris.Mutate(data, most)
    holder[key] = chance.choice(chance.choice((TEXTS, NUMBERS, OTHERS)))
    return json.dumps(made).encode()[:most]


def seed(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        return
    (folder / "every_field.json").write_text(json.dumps(document()))
    for path in (STORED, STORED.with_name("run_every_field.json")):
        stored = json.loads(path.read_bytes())
        for place, trial in enumerate(stored["accelbench"]["trials"][:8]):
            cut = stored["accelbench"] | {"trials": [trial]}
            (folder / f"{path.stem}_{place}.json").write_text(json.dumps({"accelbench": cut}))


if __name__ == "__main__":
    seed(Path(sys.argv[1]))
    atheris.Setup(sys.argv, read, custom_mutator=mutate)
    atheris.Fuzz()
