"""The few messages of protocol buffers that are read and written without TensorFlow's classes.

A message is a row of fields: a number, a kind, a value (protobuf.dev/programming-guides/encoding).
"""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5


class WireError(ValueError):
    """The bytes are no message."""


def of_bytes(number: int, value: bytes) -> bytes:
    """A field that holds bytes, a text or another message."""
    return _varint(number << 3 | _BYTES) + _varint(len(value)) + value


def fields(message: bytes) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message, in order: an integer as it was written, or the bytes of others.

    Raises WireError.
    """
    view, at = memoryview(message), 0
    while at < len(view):
        tag, at = _read_varint(view, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _read_varint(view, at)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, at = _read_varint(view, at)
        elif kind in (_FIXED_64, _FIXED_32):
            size = 8 if kind == _FIXED_64 else 4
        else:
            raise WireError(f"a field of kind {kind}, which no message has")
        if at + size > len(view):
            raise WireError("a message that ends too soon")
        yield tag >> 3, view[at : at + size]
        at += size


def all_bytes(message: bytes, number: int) -> Iterator[bytes]:
    """The values of one field of a message, which holds bytes. Raises WireError."""
    for each, value in fields(message):
        if each == number and isinstance(value, memoryview):
            yield bytes(value)


def signed(value: int) -> int:
    """What an int64 field says: a number below 0 is written as if it had no sign."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(view: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(view) and shift < 70:
        byte = view[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise WireError("a message that ends too soon")
