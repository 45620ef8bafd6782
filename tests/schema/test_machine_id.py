"""The machine's name: what it is made from, and what tells two machines apart."""

import re
from dataclasses import replace

import pytest

from accelbench.schema.machine_id import cpu_signature, machine_key
from accelbench.schema.result import Gpu, Identity

IDENTITY = Identity(cpu_model="AMD EPYC", cpu_cores=2, memory_gib=24)


def test_the_key_says_what_the_machine_is() -> None:
    assert re.fullmatch(r"amd-epyc-2c-24g-[0-9a-f]{6}", machine_key(IDENTITY))


def test_the_key_counts_the_gpus_of_each_kind() -> None:
    gpus = [Gpu(name="NVIDIA H200", memory_gib=140, uuid_hash=digits) for digits in ("a", "b")]
    key = machine_key(replace(IDENTITY, gpus=gpus))
    assert re.fullmatch(r"amd-epyc-2c-24g-nvidia-h200-x2-[0-9a-f]{6}", key)


def test_another_gpu_of_the_same_kind_is_another_machine() -> None:
    keys = {
        machine_key(replace(IDENTITY, gpus=[Gpu(name="NVIDIA H200", memory_gib=140, uuid_hash=digits)]))
        for digits in ("a", "b")
    }
    assert len(keys) == 2


def test_a_slice_of_another_size_is_another_machine_and_a_whole_gpu_keeps_its_name() -> None:
    whole = Gpu(name="NVIDIA H200", memory_gib=140, uuid_hash="a")
    assert machine_key(replace(IDENTITY, gpus=[whole])) == "amd-epyc-2c-24g-nvidia-h200-x1-96e931"
    slices = [replace(whole, memory_gib=gib, multiprocessors=count) for gib, count in ((18, 16), (35, 16), (18, 26))]
    assert len({machine_key(replace(IDENTITY, gpus=[each])) for each in slices}) == 3


@pytest.mark.parametrize(
    ("model", "slug"),
    [
        ("Intel(R) Xeon(R) Platinum 8480+", "intel-xeon-platinum-8480"),
        ("Intel(R) Xeon(R) CPU @ 2.20GHz", "intel-xeon"),
        ("AMD EPYC 7B12 64-Core Processor", "amd-epyc-7b12"),
        ("AMD Ryzen 7 7840U w/ Radeon 780M Graphics", "amd-ryzen-7-7840u-w-radeon-780m-graphics"),
        ("Apple M2 Pro", "apple-m2-pro"),
        ("../../etc", "etc"),
        ("龍芯", "unknown"),
    ],
)
def test_the_key_is_safe_as_a_folder_whatever_the_processor_is_called(model: str, slug: str) -> None:
    key = machine_key(replace(IDENTITY, cpu_model=model))
    assert key.startswith(f"{slug}-2c-24g-")
    assert re.fullmatch(r"[a-z0-9-]{1,110}", key)


def test_another_generation_of_processors_of_the_same_name_is_another_machine() -> None:
    generations = ("", "25-1-1", "25-17-1")
    assert len({machine_key(replace(IDENTITY, cpu_signature=signature)) for signature in generations}) == 3


def test_a_machine_that_tells_no_signature_keeps_the_name_that_it_had_before_there_were_any() -> None:
    assert machine_key(IDENTITY) == "amd-epyc-2c-24g-a1616a"


@pytest.mark.parametrize(
    ("told", "signature"),
    [
        ({"family": "25", "model": "17", "stepping": "1", "name": "AMD EPYC"}, "25-17-1"),
        ({"family": 25, "model": 17, "stepping": 1}, "25-17-1"),
        ({"implementer": "0x41", "part": "0xd40", "variant": "0x1"}, "0x41-0xd40-0x1"),
        ({"family": "25", "model": "17"}, ""),
        ({"family": [25], "model": {}, "stepping": None}, ""),
        ({}, ""),
    ],
)
def test_the_signature_is_what_the_processor_says_of_itself(told: dict[str, object], signature: str) -> None:
    assert cpu_signature(told) == signature
