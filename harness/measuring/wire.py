"""Messages between the pytest process and a worker: length-prefixed pickles over a pipe.

Both ends are this package in processes that one started itself; files are never read this way. Workloads that a
user defined in a test module travel by value (cloudpickle), because a worker cannot import that module.
"""

from __future__ import annotations

import pickle
import struct
from types import ModuleType
from typing import Any, BinaryIO

import cloudpickle

_LENGTH = struct.Struct(">Q")


def send(pipe: BinaryIO, message: Any, *, by_value: ModuleType | None = None) -> None:
    """Write one message.

    Args:
        pipe: where to write.
        message: anything that can be pickled.
        by_value: the module whose functions travel whole, if any.

    Raises:
        OSError: the other end is gone.
    """
    if by_value is not None:
        cloudpickle.register_pickle_by_value(by_value)
    try:
        body = cloudpickle.dumps(message)
    finally:
        if by_value is not None:
            cloudpickle.unregister_pickle_by_value(by_value)
    pipe.write(_LENGTH.pack(len(body)) + body)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """Read one message.

    Raises:
        EOFError: the other end closed the pipe, perhaps in mid-message.
    """
    (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
    return pickle.loads(_exactly(pipe, length))


def _exactly(pipe: BinaryIO, length: int) -> bytes:
    body = pipe.read(length)
    if len(body) < length:
        raise EOFError
    return body
