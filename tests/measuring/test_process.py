"""A worker process from the parent's side: its folder for temporary files, and for the kernels that it compiles."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from accelbench.frameworks.protocol import KERNEL_CACHES
from accelbench.measuring.workers.process import Worker, WorkerLostError

WORDS = "[__import__('os').environ.get(name) for name in ('CUPY_CACHE_DIR', 'CUDA_CACHE_PATH')]"


@pytest.fixture(scope="module")
def compiled_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a kernel that was compiled before."""
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "kernel.cubin").write_text("compiled before")
    return folder


@contextmanager
def started(compiled_before: Path) -> Iterator[Worker]:
    """Start a worker of CuPy's, on a machine on which kernels were compiled before."""
    with pytest.MonkeyPatch.context() as patch:
        for name in KERNEL_CACHES["cupy"]:
            patch.setenv(name, str(compiled_before))
        worker = Worker("cupy", {})
    try:
        yield worker
    finally:
        worker.close()


@pytest.fixture(scope="module")
def worker(compiled_before: Path) -> Iterator[Worker]:
    """A worker that all tests share: none of them ends it."""
    with started(compiled_before) as worker:
        yield worker


def caches(worker: Worker) -> list[Path]:
    return [Path(folder) for folder in worker.call(eval, WORDS)]


def test_every_worker_compiles_its_kernels_itself(worker: Worker, compiled_before: Path) -> None:
    with started(compiled_before) as other:
        folders = caches(worker) + caches(other)
        assert len(set(folders)) == 4
        assert [kernel for folder in folders if folder.exists() for kernel in folder.iterdir()] == []


def test_cupy_keeps_its_kernels_where_it_is_told(worker: Worker) -> None:
    pytest.importorskip("cupy")
    kept = "__import__('cupy').cuda.compiler._kernel_cache_backend._cache_dir"
    assert Path(worker.call(eval, kept)) == caches(worker)[0]


@pytest.mark.parametrize("is_killed", [False, True], ids=["closed", "killed"])
def test_the_kernels_are_gone_with_the_worker(compiled_before: Path, is_killed: bool) -> None:
    with started(compiled_before) as worker:
        for folder in caches(worker):
            folder.mkdir(exist_ok=True)
            (folder / "kernel.cubin").write_text("compiled here")
        (place,) = {folder.parent for folder in caches(worker)}
        if is_killed:
            os.kill(worker.pid, signal.SIGKILL)
            with pytest.raises(WorkerLostError):
                worker.ask("describe")
    assert not place.exists()


@pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="there are no real-time signals here")
def test_a_real_time_signal_without_a_name_is_named_by_its_number() -> None:
    worker, number = Worker("numpy", {}), int(getattr(signal, "SIGRTMIN", 0)) + 1
    try:
        os.kill(worker.pid, number)
        with pytest.raises(WorkerLostError, match=f"^signal {number} killed the worker"):
            worker.ask("describe")
    finally:
        worker.close()


ORPHAN = """
import os, signal
from accelbench.measuring.workers.process import Worker
worker = Worker("numpy", {})
print(worker.pid, worker.call(eval, "__import__('tempfile').mkstemp()[1]"), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_temporary_files_are_gone_when_nobody_is_left_to_remove_them() -> None:
    pid, file = subprocess.run([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True).stdout.split()
    if psutil.pid_exists(int(pid)):
        psutil.wait_procs([psutil.Process(int(pid))], timeout=60)
    assert Path(file).parent != Path(tempfile.gettempdir())
    assert not Path(file).parent.exists()


def test_pytorch_finds_what_it_compiled_in_another_process() -> None:
    find = "__import__('torch._inductor.runtime.cache_dir_utils')._inductor.runtime.cache_dir_utils.cache_dir()"
    cache = pytest.importorskip("torch._inductor.runtime.cache_dir_utils").default_cache_dir()
    worker = Worker("torch", {})
    try:
        assert worker.call(eval, find) == os.environ.get("TORCHINDUCTOR_CACHE_DIR", cache)
    finally:
        worker.close()


def test_what_a_technique_sets_comes_first(tmp_path: Path) -> None:
    worker = Worker("cupy", {"CUPY_CACHE_DIR": str(tmp_path)})
    try:
        assert caches(worker)[0] == tmp_path
    finally:
        worker.close()


def test_a_framework_that_keeps_no_kernels_so_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_CACHE_PATH", raising=False)
    worker = Worker("numpy", {})
    try:
        assert worker.call(eval, WORDS) == [None, None]
    finally:
        worker.close()
