"""What a check may use, so that no hostile file takes the machine, and whom it tells how far it has come."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from certattn.kernel.errors import UsageError

# Arb computes with at least so many bits.
_LEAST_BITS = 2


@dataclass(frozen=True, slots=True)
class Limits:
    """What one check may use; each can be raised by a person.

    `max_document_bytes` size of the certificate file; `max_nodes` scalars, lists and
    mappings in it; `max_depth` nesting; `max_digits` characters of one number;
    `max_exponent` absolute value of a decimal or binary exponent; `max_tensor_bytes` size
    of one array file, and of one array unpacked; `start_bits` and `max_bits` working
    precision; `timeout_seconds` and `memory_bytes` for the worker process.
    """

    max_document_bytes: int = 16 * 2**20
    max_nodes: int = 500_000
    max_depth: int = 32
    max_digits: int = 10_000
    max_exponent: int = 20_000
    max_tensor_bytes: int = 4 * 2**30
    start_bits: int = 64
    max_bits: int = 4096
    timeout_seconds: int = 300
    memory_bytes: int = 8 * 2**30

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value, least = getattr(self, name), _LEAST_BITS if name.endswith("_bits") else 1
            if type(value) is not int or value < least:
                raise UsageError(f"the limit {name} is {value!r}, expected an integer >= {least}")


DEFAULT_LIMITS = Limits()


class Watch:
    """Told how far a check has come. Nothing depends on it: others show time and progress by it."""

    def phase(self, name: str) -> AbstractContextManager[None]:
        """A block that is spent on parsing, reading, marshalling or arithmetic."""
        return nullcontext()

    def expect(self, count: int) -> None:
        """So many more bytes are going to be read."""

    def advance(self, count: int) -> None:
        """So many more bytes have been read."""

    def asks(self, name: str, bits: int) -> None:
        """The obligation of this name is going to be decided, at so many bits."""

    def left_binary64(self, reason: str) -> None:
        """What binary64 has not decided is now computed in Arb, which may take much longer."""
