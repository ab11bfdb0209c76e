"""The frame of every prover: a draft that the checker's own readers read, provenance, and the file."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from flint import fmpq

from certattn._version import __version__
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.arrays import SUFFIXES as ARRAY_SUFFIXES
from certattn.kernel.document.certificate import FORMAT_VERSION, Certificate, loads
from certattn.kernel.document.regular_files import reason
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import LimitExceededError, MalformedError, NotProvedError, Place, UsageError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_rational
from certattn.provers.exact_inputs import exact_text
from certattn.statements.checking import check_certificate
from certattn.writing import to_text, write_atomically

T = TypeVar("T")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def provenance(note: str) -> dict[str, Plain]:
    """Who made a certificate and why: shown to people, believed by nobody, free of dates so that files reproduce."""
    made: dict[str, Plain] = {"note": note} if note else {}
    return {**made, "generator": f"certattn {__version__}"}


def texts(numbers: Iterable[fmpq]) -> list[Plain]:
    """Numbers as certificates write them."""
    return [format_rational(number) for number in numbers]


def text_rows(matrix: ExactMatrix) -> list[Plain]:
    """The rows of a matrix as certificates write them."""
    return [texts(row) for row in matrix.to_rows()]


def require_place(out: Path, *inputs: str | Path | None) -> None:
    """Refuse a place where the certificate cannot be written, before any work is done. Raises UsageError.

    inputs : files that are read; None for none.
    """
    if not out.name:
        raise UsageError(f"{str(out)!r} is no name of a file; expected one such as certificate.yaml")
    if not out.parent.is_dir():
        raise UsageError(f"{out.parent}: no such folder")
    if out.suffix in ARRAY_SUFFIXES:
        raise UsageError(
            f"{out}: a certificate is a YAML file; expected a name such as {out.with_suffix('.yaml').name}"
        )
    if out.is_symlink():
        # It may be /dev/stdout, which leads to a file of the shell's.
        raise UsageError(f"{out}: a link would be replaced; name the file that it leads to")
    if out.exists() and not out.is_file():
        raise UsageError(f"{out}: there is something that is not a file; choose another name for -o")
    for path in (Path(path) for path in inputs if path is not None):
        if out.exists() and path.exists() and out.samefile(path):
            raise UsageError(f"{out} is an input and would be overwritten; choose another name for -o")


@contextmanager
def not_yet_written(out: Path, section: str = "given") -> Iterator[None]:
    """Errors in a draft are no errors in a line of the file `out`, which is not there or holds something else.

    What stands under its given may be another input, `section`. Errors in another file, such as one with arrays, keep
    their place.
    """
    try:
        yield
    except MalformedError as error:
        if error.place.file != str(out):
            raise
        path = error.place.path
        if path.startswith("given"):
            path = section + path.removeprefix("given")
        place = Place(f"{out} (not written)", 0, path)
        raise MalformedError(place, error.found, error.expected, error.hint) from None


class _Claim(Protocol):
    """A claim or a theorem."""

    @property
    def name(self) -> str: ...
    @property
    def read(self) -> Callable[[Certificate], Any]: ...


class Draft:
    """A certificate on its way to a file: read as the checker will read it, then completed and written.

    given : the section, as certificates write it.
    note : a line for the certificate's readers, kept under `provenance`.
    """

    def __init__(self, claim: _Claim, out: Path, given: Plain, note: Any = "", section: str = "given") -> None:
        require_place(out)
        self.claim, self.out, self.given = claim, out, given
        self._note, self._section = exact_text(note, "note"), section

    def about(self, given: Plain, section: str = "given") -> Draft:
        """The same of something else that is given, or of an input that is read in its place."""
        return Draft(self.claim, self.out, given, self._note, section)

    def text(self, asserts: Mapping[str, Plain] = {}, witness: Mapping[str, Plain] = {}) -> str:
        return to_text(self._document(asserts, witness))

    def read(
        self,
        reader: Callable[[Certificate], T],
        asserts: Mapping[str, Plain] = {},
        witness: Mapping[str, Plain] = {},
    ) -> T:
        """What a reader of the kernel makes of it, with these asserts. Raises MalformedError."""
        with not_yet_written(self.out, self._section):
            return reader(loads(self.text(asserts, witness), self.out))

    def write(self, asserts: Mapping[str, Plain], witness: Mapping[str, Plain] = {}) -> Certificate:
        """Write the file, whole or not at all, and return it as the checker will read it."""
        text = to_text({**self._document(asserts, witness), "provenance": provenance(self._note)})
        with not_yet_written(self.out):
            written = loads(text, self.out)
            self.claim.read(written)
        write_file(self.out, text.encode())
        return written

    def _document(self, asserts: Mapping[str, Plain], witness: Mapping[str, Plain]) -> dict[str, Plain]:
        """An empty witness is left out."""
        shown: dict[str, Plain] = {"witness": dict(witness)} if witness else {}
        head: dict[str, Plain] = {"certattn": FORMAT_VERSION, "claim": self.claim.name, "given": self.given}
        return {**head, "asserts": dict(asserts), **shown}


def require_proved(certificate: Certificate) -> None:
    """Raises NotProvedError for what the checker does not prove."""
    report = check_certificate(certificate, CheckOptions())
    if report.verdict is not Verdict.VERIFIED:
        raise NotProvedError(f"the checker does not prove what was found ({report.verdict.value}): {report.reason}")


def write_file(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all. Raises UsageError, and LimitExceededError on a full disk."""
    try:
        write_atomically(path, content)
    except OSError as error:
        kind = LimitExceededError if error.errno in _FULL else UsageError
        raise kind(f"{path}: cannot be written ({reason(error)})") from None
