"""What can be switched in PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from accelbench.core import Arm, Build, Host, technique
from accelbench.errors import Unavailable
from accelbench.schema.reasons import reason
from accelbench.techniques.shared import cpu_count, devices_on, threads_at, threads_here


@technique(
    "torch",
    group="array library",
    aliases=("array backend", "tensor library"),
    levels=("numpy", "torch-cpu", "torch-accelerator"),
    snippet={
        "torch-cpu": "array = torch.from_numpy(array)  # once, then PyTorch's functions",
        "torch-accelerator": 'array = torch.from_numpy(array).to("{device}")  # once, then PyTorch\'s functions',
    },
)
def array_library(build: Build, level: str) -> Arm:
    """NumPy on the host, or PyTorch's arrays: on the CPU with all of its threads, or resident on the accelerator."""
    return build(array_library=level)


# A user's program may convolve in TF32, which keeps three bits more than bfloat16 and so an eighth of its error.
@technique(
    "torch",
    group="device",
    aliases=("GPU", "CUDA", "accelerator", "model.to"),
    kind="device",
    levels=devices_on,
    tolerance={"*": 1e-2},
    snippet={"*": 'model.to("{level}"); batch = batch.to("{level}")'},
)
def device(build: Build, level: str) -> Arm:
    """The CPU or an accelerator."""
    if level == "accelerator":
        need_accelerator()
    return build(device=level)


def _usual_threads() -> int:
    import torch

    return int(torch.get_num_threads())


@technique(
    "torch",
    often_pays=True,
    group="threads",
    aliases=("num_threads", "set_num_threads", "OMP_NUM_THREADS", "OpenMP"),
    levels=("1", "half", "all"),
    parallelism=lambda level: threads_at(level, cpu_count()),
    is_usual=lambda level: threads_at(level, cpu_count()) == _usual_threads(),
    snippet={
        "1": "torch.set_num_threads(1)",
        "half": "torch.set_num_threads(len(os.sched_getaffinity(0)) // 2)",
        "all": "torch.set_num_threads(len(os.sched_getaffinity(0)))",
    },
)
def threads(build: Build, level: str) -> Arm:
    """Threads that work on one operation: one, one for every second core of the process, or one per core."""
    from accelbench.frameworks.torch import thread_count  # here: pytest's own process imports no framework

    return build().inside(thread_count, threads_here(level))


@technique(
    "torch",
    group="copies",
    aliases=("host-to-device copies", "round trips"),
    levels=("resident", "round-trip"),
    snippet={"resident": 'batch = batch.to("{device}")  # once, before the loop'},
    not_recommended={"round-trip": "it sends data that could stay where they are"},
)
def data_location(build: Build, level: str) -> Arm:
    """Data that stays on the device, or is sent there and brought back in every step."""
    return build(data_location=level)


# Measured on a CPU after two steps of every training workload at small size, four seeds each: at most 1.5e-2 in
# bfloat16 and 5e-3 in float16. A threefold margin covers other sizes, seeds and devices.
@technique(
    "torch",
    often_pays=True,
    group="precision",
    aliases=("mixed precision", "autocast", "GradScaler", "half precision", "bfloat16", "float16"),
    levels=("fp32", "bf16", "fp16"),
    tolerance={"bf16": 5e-2, "fp16": 2e-2},
    snippet={
        "bf16": 'with torch.autocast("{device}", dtype=torch.bfloat16):  # around forward pass and loss',
        "fp16": 'scaler = torch.amp.GradScaler("{device}")\n'
        'with torch.autocast("{device}", dtype=torch.float16):  # around forward pass and loss\n'
        "scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()",
    },
)
def amp(build: Build, level: str) -> Arm:
    """Automatic mixed precision: autocast around the forward pass, and a gradient scaler for float16."""
    return build(amp=level)


# Measured likewise: at most 8e-7 in float32, and 7e-3 in bfloat16, where other kernels round at other places.
@technique(
    "torch",
    often_pays=True,
    group="memory",
    aliases=("channels_last", "NHWC", "memory layout"),
    levels=("contiguous", "channels-last"),
    tolerance={"*": 2e-2},
    snippet={
        "channels-last": "model = model.to(memory_format=torch.channels_last)\n"
        "images = images.to(memory_format=torch.channels_last)"
    },
)
def memory_format(build: Build, level: str) -> Arm:
    """How images and the weights of convolutions lie in memory: plane by plane, or all channels of a pixel together."""
    return build(memory_format=level)


@technique(
    "torch",
    group="precision",
    aliases=("TensorFloat-32", "set_float32_matmul_precision", "allow_tf32"),
    levels=("highest", "high"),
    tolerance={"high": 1e-2},  # as that of devices, and for the same reason
    snippet={"high": 'torch.set_float32_matmul_precision("high")\ntorch.backends.cudnn.allow_tf32 = True'},
)
def tf32(build: Build, level: str) -> Arm:
    """Products and convolutions of float32 in float32, or with the ten bits of fraction that TensorFloat-32 keeps."""
    if level == "high":
        _need_tf32()
    from accelbench.frameworks.torch import float32_precision  # here: pytest's own process imports no framework

    return Arm.built_inside(build, float32_precision, level)


def need_accelerator() -> None:
    """Make a level unavailable where PyTorch sees no accelerator."""
    from accelbench.workloads.torch import devices  # here, because pytest's own process imports no framework

    devices.accelerator()


def _need_tf32() -> None:
    need_accelerator()
    import torch

    if not (torch.cuda.is_available() and torch.cuda.is_tf32_supported()):
        raise Unavailable(f"the accelerator has no TensorFloat-32 that torch {torch.__version__} knows of")


# cuBLAS repeats itself only with a workspace of fixed size, which it reads when it starts:
# https://docs.pytorch.org/docs/stable/notes/randomness.html
@technique(
    "torch",
    group="kernels",
    aliases=("use_deterministic_algorithms", "determinism", "reproducibility"),
    deterministic="on",
    levels=("off", "on"),
    environment={"on": {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}},
    snippet={
        "on": 'os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # before CUDA starts\n'
        "torch.use_deterministic_algorithms(True)"
    },
)
def deterministic_algorithms(build: Build, level: str) -> Arm:
    """Whichever algorithm is fastest, or only those that give the same bits in every run."""
    return Arm.built_inside(build, _deterministic, level == "on")


@contextmanager
def _deterministic(wanted: bool) -> Iterator[None]:
    """Allow only deterministic algorithms, or all, and restore the setting afterwards."""
    import torch

    before, benchmark = torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark
    torch.use_deterministic_algorithms(wanted)
    torch.backends.cudnn.benchmark = benchmark and not wanted  # it may choose another algorithm in every run
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
        torch.backends.cudnn.benchmark = benchmark


# PyTorch remembers by which algorithm it convolved a shape, under a key in which this switch is missing, so that the
# level that convolves a shape first would decide for its whole process:
# https://github.com/pytorch/pytorch/blob/v2.9.0/aten/src/ATen/native/cudnn/Conv_v8.cpp. Nothing reads the variable; it
# keeps the levels in processes of their own. The tolerance is that of memory formats, for the same reason.
@technique(
    "torch",
    group="kernels",
    aliases=("cudnn.benchmark", "cuDNN autotuner"),
    levels=("off", "on"),
    tolerance={"on": 2e-2},
    environment={"on": {"ACCELBENCH_CUDNN_BENCHMARK": "1"}},
    snippet={"on": "torch.backends.cudnn.benchmark = True"},
)
def cudnn_benchmark(build: Build, level: str) -> Arm:
    """Convolutions by the algorithm that cuDNN's heuristic names, or by the fastest of those that it tries first."""
    if level == "on":
        _need_cudnn()
    return Arm.built_inside(build, _cudnn_benchmark, level == "on")


@contextmanager
def _cudnn_benchmark(wanted: bool) -> Iterator[None]:
    """Let cuDNN try its algorithms, or not, and restore the setting afterwards."""
    import torch

    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = wanted
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


def _need_cudnn() -> None:
    need_accelerator()
    import torch

    if not (torch.cuda.is_available() and torch.backends.cudnn.is_available()):
        raise Unavailable(f"torch {torch.__version__} has no cuDNN for the accelerator")


@technique(
    "torch",
    group="overlap",
    aliases=("loss.item", "logging", "implicit synchronisation"),
    levels=("none", "item", "float", "print", "numpy", "cpu"),
    not_recommended={"*": "its baseline reads no loss; read it as seldom as you can"},
)
def log_by(build: Build, level: str) -> Arm:
    """By which call the training loop reads its loss."""
    return build(log_by=level)


@technique(
    "torch",
    group="copies",
    aliases=("host-to-device copies", "data transfer"),
    levels=("resident", "per-step"),
    not_recommended={"*": "it sends data that could stay where they are"},
)
def transfers(build: Build, level: str) -> Arm:
    """Batches that stay on the accelerator, or are sent there, and their results fetched, in every step."""
    need_accelerator()  # within the host's memory nothing is sent, whatever the level
    return build(data_location="round-trip" if level == "per-step" else "resident")


@technique(
    "torch",
    group="copies",
    aliases=("host-to-device copies", "round trips"),
    levels=("resident", "round-trip"),
    not_recommended={"*": "it sends data that could stay where they are"},
)
def intermediates(build: Build, level: str) -> Arm:
    """Results between operations that stay on the accelerator, or visit the host after every operation."""
    return build(intermediates=level)


@technique(
    "torch",
    group="overlap",
    aliases=("concurrency", "ThreadPoolExecutor"),
    levels=("serial", "threads", "cores"),
    parallelism=lambda level: 1 if level == "serial" else cpu_count(),
    snippet={
        "threads": "torch.set_num_threads(1)\nwith ThreadPoolExecutor(2) as pool:  # submit both computations",
        "cores": "torch.set_num_threads(len(os.sched_getaffinity(0)))",
    },
)
def overlap(build: Build, level: str) -> Arm:
    """Two computations on the CPU: in turn on one core, at once on half of the cores each, in turn on all cores."""
    from accelbench.frameworks.torch import thread_count

    cores = cpu_count()
    if level != "serial" and cores == 1:
        raise Unavailable(reason("one-core"))
    return build(at_once=level == "threads").inside(thread_count, cores if level == "cores" else 1)


@technique(
    "torch",
    group="device",
    aliases=("asynchronous execution", "CPU and GPU at once"),
    levels=("in-turn", "at-once"),
    snippet={"at-once": "# launch the device's work, do the CPU's meanwhile, and only then read the device's result"},
)
def both_devices(build: Build, level: str) -> Arm:
    """CPU and accelerator working one after the other, or at once."""
    return build(at_once=level == "at-once")


@technique(
    "torch",
    group="overlap",
    aliases=("CUDA streams", "torch.cuda.stream"),
    levels=("1", "2", "4"),
    snippet={"*": "with torch.cuda.stream(streams[chunk % {level}]):  # copy a chunk there, compute, copy it back"},
)
def streams(build: Build, level: str) -> Arm:
    """CUDA streams on which chunks are copied there, computed and copied back: as many are in flight at once."""
    return build(streams=int(level))


# Measured on a CPU after two steps of `bert-train` and `narrow-mlp-train`, four seeds each, and of `cnn-train`: at most
# 3e-7 in float32. In bfloat16, where fused operations round less often, at most 5.3e-3. A threefold margin covers
# other sizes, seeds and devices.
@technique(
    "torch",
    often_pays=True,
    group="compilation",
    aliases=("torch.compile", "TorchInductor", "TorchDynamo", "JIT"),
    levels=("eager", "default", "reduce-overhead", "max-autotune"),
    tolerance={"*": 2e-2},
    snippet={"eager": "", "*": 'model = torch.compile(model, mode="{level}")'},
    compiles=("default", "reduce-overhead", "max-autotune"),
)
def compile(build: Build, level: str) -> Arm:  # noqa: A001  what PyTorch calls it
    """Operations one by one, or compiled by torch.compile: as it does by default, with CUDA graphs, or searching."""
    return build(compile=level)


@technique(
    "torch",
    group="compilation",
    aliases=("CUDA graphs", "make_graphed_callables"),
    levels=("off", "on"),
    snippet={"on": "torch.cuda.make_graphed_callables(model, (batch,))"},
)
def cuda_graphs(build: Build, level: str) -> Arm:
    """Kernels that the host launches one by one, or a recorded graph of them that it launches at once."""
    need_accelerator()
    return build(cuda_graphs=level == "on")


@technique(
    "torch",
    often_pays=True,
    group="copies",
    aliases=("pinned memory", "page-locked memory", "DataLoader"),
    levels=("off", "on"),
    snippet={"on": "DataLoader(data, pin_memory=True)"},
)
def pin_memory(build: Build, level: str) -> Arm:
    """Page-locked host memory, which an accelerator reads without the CPU."""
    if level == "on":
        need_accelerator()
    return build(pin_memory=level == "on")


@technique(
    "torch",
    group="copies",
    aliases=("asynchronous copies",),
    levels=("off", "on"),
    snippet={"on": 'batch = batch.to("{device}", non_blocking=True)'},
)
def non_blocking(build: Build, level: str) -> Arm:
    """Copies to the device that do not make the host wait."""
    if level == "on":
        need_accelerator()  # within the host's memory there is nobody to wait for
    return build(non_blocking=level == "on")


def _worker_counts(host: Host) -> tuple[str, ...]:
    doublings = {2**power for power in range(host.max_workers.bit_length())}
    return tuple(str(count) for count in sorted({0, host.max_workers} | doublings))


@technique(
    "torch",
    often_pays=True,
    group="input pipeline",
    aliases=("num_workers", "DataLoader"),
    kind="sweep",
    levels=_worker_counts,
    parallelism=lambda level: 1 + int(level),
    snippet={"*": "DataLoader(data, num_workers={level})"},
)
def workers(build: Build, level: str) -> Arm:
    """Processes that load data beside the training one."""
    return build(workers=int(level))


@technique(
    "torch",
    group="input pipeline",
    aliases=("DataLoader",),
    levels=("off", "on"),
    snippet={"on": "DataLoader(data, persistent_workers=True)"},
)
def persistent_workers(build: Build, level: str) -> Arm:
    """Loader processes that live on from epoch to epoch, instead of starting anew."""
    return build(persistent_workers=level == "on")


@technique(
    "torch",
    group="input pipeline",
    aliases=("prefetch", "DataLoader"),
    levels=("2", "4", "8"),
    snippet={"*": "DataLoader(data, prefetch_factor={level})"},
)
def prefetch_factor(build: Build, level: str) -> Arm:
    """How many batches every loader process prepares ahead."""
    return build(prefetch_factor=int(level))


@technique(
    "torch",
    group="input pipeline",
    aliases=("prefetch", "double buffering", "background loading"),
    levels=("blocking", "thread", "device"),
    snippet={
        "thread": "following = pool.submit(load)  # pool = ThreadPoolExecutor(1): while this batch is computed with",
        "device": 'following = pool.submit(lambda: load().to("{device}"))  # pool = ThreadPoolExecutor(1): meanwhile',
    },
)
def loading(build: Build, level: str) -> Arm:
    """Batches loaded when they are asked for, ahead of time by a thread, or by a thread and on to the device."""
    return build(loading=level)


# A model that learns from images which differ a little becomes another model, so outputs of trainings differ by design:
# over ten seeds, after an epoch, by up to 1.3e-1 for the small CNN and 1.5 for ResNet-18, whose batch normalisation
# amplifies differences. So every arm checks the images themselves: `Photographs.check_decoding`.
@technique(
    "torch",
    group="input pipeline",
    aliases=("image decoding", "JPEG decoding", "nvJPEG", "decode_jpeg"),
    levels=("pillow", "pillow-draft", "device"),
    same_output=False,
    snippet={
        "pillow-draft": 'image.draft("RGB", (width, height))  # before anything reads its pixels',
        "device": 'torchvision.io.decode_jpeg(encoded, device="{device}")',
    },
)
def decode(build: Build, level: str) -> Arm:
    """Image files decoded whole, decoded no larger than is asked for, as JPEG allows, or decoded by the accelerator."""
    return build(decode=level)


@technique(
    "torch",
    aliases=("bottleneck",),
    kind="ablation",
    levels=("none", "decoded", "resident", "silent", "larger-batch"),
    same_output=("decoded", "resident", "silent"),
    not_recommended={"*": "it takes off work that a program needs, to show what holds it back"},
)
def ablation(build: Build, level: str) -> Arm:
    """Training with its burdens, or without one: decoding, decoding and sending, reading the loss, small batches."""
    return build(ablation=level)


@technique(
    "torch",
    often_pays=True,
    group="kernels",
    aliases=("optimiser", "torch.optim", "multi-tensor"),
    levels=("for-loop", "foreach", "fused"),
    snippet={
        "foreach": "torch.optim.SGD(model.parameters(), lr=lr, foreach=True)",
        "fused": "torch.optim.SGD(model.parameters(), lr=lr, fused=True)",
    },
)
def optimizer(build: Build, level: str) -> Arm:
    """The optimiser's step tensor by tensor, with each operation over all tensors at once, or in one kernel."""
    return build(optimizer=level)


@technique(
    "torch",
    group="kernels",
    aliases=("FlashAttention", "flash attention", "scaled_dot_product_attention"),
    levels=("eager", "math", "sdpa"),
    snippet={
        "math": 'with torch.nn.attention.sdpa_kernel(SDPBackend.MATH):  # config.attn_implementation = "sdpa"',
        "sdpa": 'config.attn_implementation = "sdpa"  # of a transformers model, before it is made',
    },
)
def attention(build: Build, level: str) -> Arm:
    """Attention written out in the model, the same formula within PyTorch, or the fused kernel of PyTorch's choice."""
    return build(attention=level)


@technique(
    "torch",
    group="memory",
    aliases=("gradient checkpointing", "recomputation"),
    levels=("off", "on"),
    snippet={"on": 'model.activation_checkpointing_enable({"use_reentrant": False})  # a model of transformers'},
)
def activation_checkpointing(build: Build, level: str) -> Arm:
    """Activations kept from forward to backward pass, or computed a second time: less memory for more time."""
    return build(activation_checkpointing=level == "on")


@technique(
    "torch",
    group="batch size",
    aliases=("gradient accumulation", "micro-batches"),
    levels=("1", "4"),
    snippet={"4": "(loss / 4).backward()  # on four quarters of the batch, then optimizer.step()"},
)
def accumulation(build: Build, level: str) -> Arm:
    """A batch learnt at once, or in parts whose gradients are added up: the same step in less memory."""
    return build(accumulation=int(level))


@technique(
    "torch",
    group="kernels",
    aliases=("no_grad", "inference_mode"),
    levels=("grad", "no-grad", "inference-mode"),
    snippet={"no-grad": "with torch.no_grad():", "inference-mode": "with torch.inference_mode():"},
)
def inference(build: Build, level: str) -> Arm:
    """Evaluation that records what gradients would need, that does not, or that gives up on them for good."""
    return build(inference=level)


@technique(
    "torch",
    group="model files",
    aliases=("torch.save", "torch.load", "pickle"),
    levels=("state-dict", "safetensors"),
    snippet={"safetensors": "safetensors.torch.load_file(path)  # of what save_file(model.state_dict(), path) wrote"},
)
def checkpoint_format(build: Build, level: str) -> Arm:
    """A model's parameters in a file of PyTorch's own pickle format, or of the safetensors library."""
    return build(checkpoint_format=level)


@technique(
    "torch",
    group="model files",
    aliases=("memory-mapped file", "torch.load"),
    levels=("off", "on"),
    snippet={"on": "torch.load(path, mmap=True)"},
)
def mmap(build: Build, level: str) -> Arm:
    """A checkpoint that is read into memory before the model takes it over, or mapped from its file."""
    return build(mmap=level == "on")
