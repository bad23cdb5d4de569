"""What a version is warmed up with (servables/tensorflow/saved_model_warmup_util.cc)."""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from pathlib import Path

from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from tests.serving.stand_in.status import StatusError, invalid

FILE = Path("assets.extra", "tf_serving_warmup_requests")
MOST = 1000  # records


def requests(version: Path) -> Iterator[PredictionLog]:
    """The records of a version, none where it has no such file. Raises StatusError."""
    path = version / FILE
    if not path.exists():
        return
    for number, record in enumerate(_records(path.read_bytes()), start=1):
        if number > MOST:
            raise invalid(f"Number of warmup records exceeds the maximum ({MOST}) at {path}")
        try:
            yield PredictionLog.FromString(record)
        except Exception as error:
            raise invalid(f"Failed to parse warmup record: {record!r} from {path}") from error


def _records(data: bytes) -> Iterator[bytes]:
    """The records of a TFRecord file. Raises StatusError where it is none."""
    at = 0
    while at < len(data):
        head = data[at : at + 12]
        if len(head) < 12 or _masked(head[:8]) != struct.unpack("<I", head[8:])[0]:
            raise _corrupted(at)
        (size,) = struct.unpack("<Q", head[:8])
        record = data[at + 12 : at + 12 + size]
        foot = data[at + 12 + size : at + 16 + size]
        if len(foot) < 4 or _masked(record) != struct.unpack("<I", foot)[0]:
            raise _corrupted(at)
        yield record
        at += 16 + size


def _corrupted(at: int) -> StatusError:
    words = f"corrupted record at {at}. Please verify your warmup data is in TFRecord format."
    return StatusError("DATA_LOSS", words)


def _masked(data: bytes) -> int:
    """TFRecord's checksum: CRC-32C, turned, and a constant added (RFC 3720, appendix B.4)."""
    crc = 0xFFFFFFFF
    table = _table()
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


@functools.cache
def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table
