"""The last step of every prover: provenance, and the file."""

from __future__ import annotations

from pathlib import Path

from certattn._version import __version__
from certattn.kernel.document.certificate import Certificate, loads
from certattn.kernel.document.tree import Plain
from certattn.kernel.document.writer import to_text, write_atomically
from certattn.kernel.errors import UsageError


def provenance(note: str) -> dict[str, Plain]:
    """Who made a certificate and why: shown to people, believed by nobody, free of dates so that files reproduce."""
    made: dict[str, Plain] = {"note": note} if note else {}
    return {**made, "generator": f"certattn {__version__}"}


def write_certificate(certificate: dict[str, Plain], out: Path) -> Certificate:
    """Write the file, whole or not at all, and return it as the checker will read it."""
    text = to_text(certificate)
    written = loads(text, out)
    try:
        write_atomically(out, text.encode())
    except OSError as error:
        raise UsageError(f"{out}: cannot be written ({(error.strerror or str(error)).lower()})") from None
    return written
