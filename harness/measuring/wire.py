"""Messages between the pytest process and a worker: length-prefixed pickles over a pipe.

Both ends are this package in processes that one started itself; files are never read this way. cloudpickle
carries what a user defined in a test module.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any, BinaryIO

import cloudpickle

_LENGTH = struct.Struct(">Q")


def send(pipe: BinaryIO, message: Any) -> None:
    """Write one message.

    Raises:
        OSError: the other end is gone.
    """
    body = cloudpickle.dumps(message)
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
