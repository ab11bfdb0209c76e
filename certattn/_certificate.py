"""A certificate as programs hold it: what the kernel has read, and what a person wants of it."""

from __future__ import annotations

import shutil
import weakref
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path

from certattn.kernel.document import certificate as kernel
from certattn.kernel.document.tree import Node, Plain
from certattn.kernel.errors import UsageError
from certattn.provers.output import require_place, write_file
from certattn.statements.enclosures import fraction
from certattn.statements.wording import statement_of
from certattn.writing import to_text


@dataclass(frozen=True, repr=False)
class Certificate(kernel.Certificate):
    """A certificate that was read or generated; `certattn.check` says whether it holds.

    Attributes
    ----------
    path : str
        Its file. One that was generated without a file lies in a temporary folder, until this object is gone.
    claim : str
        The claim's name.
    plain : dict
        The whole file as nested dicts, lists and texts.
    given, asserts, witness : Node
        The sections as trees that know their lines in the file.
    provenance : dict of str to str
        Who made it, and why.
    digest, sha256 : str
        Hashes of the statement, and of the file.

    Examples
    --------
    >>> import certattn
    >>> certificate = certattn.generate("normalizer-bound", beta="1/2", d=64)
    >>> certificate.numbers["distance.at_most"]
    Fraction(787, 5000)
    """

    @classmethod
    def of(cls, read: kernel.Certificate, folder: Path | None = None) -> Certificate:
        """What the kernel has read; a temporary `folder` is removed together with it."""
        made = cls(**{each.name: getattr(read, each.name) for each in fields(read)})
        if folder is not None:
            weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
        return made

    @property
    def statement(self) -> str:
        """What is stated, in words."""
        return statement_of(self).words

    @property
    def numbers(self) -> dict[str, Fraction]:
        """The numbers that are asserted, by their key path, such as ``at[0].cosine``."""
        return dict(_numbers(self.asserts))

    def to_dict(self) -> dict[str, Plain]:
        """Return the whole file as nested dicts, lists and texts."""
        return self.plain

    def to_latex(self) -> str:
        """Return the statement as an environment of LaTeX, as ``certattn show --format latex`` does.

        Raises
        ------
        MalformedError
            It states nothing.
        """
        from certattn.report.paper.theorem import as_latex

        return as_latex(self, statement_of(self))

    def save(self, path: str | Path) -> Certificate:
        """Write it to a file, and the arrays that it refers to beside that.

        Parameters
        ----------
        path : path-like
            Where to; an array file that has the certificate's name takes the new one.

        Returns
        -------
        Certificate
            The one in the new file, of the same statement.

        Raises
        ------
        UsageError
            The place cannot be written to, holds other arrays of these names, or the certificate refers to arrays
            outside its own folder.
        """
        target, source = Path(path), Path(self.path)
        require_place(target)
        names = {name: _renamed(name, source.stem, target.stem) for name in _files(self.plain)}
        for name, new in names.items():
            place, content = target.parent / new, self._content(name)
            if place.exists() and place.read_bytes() != content:
                raise UsageError(f"{place} exists with other content; save under another name")
            place.parent.mkdir(parents=True, exist_ok=True)
            write_file(place, content)
        plain = _with_names(self.plain, names)
        assert isinstance(plain, dict)
        write_file(target, to_text(plain).encode())
        return Certificate.of(kernel.load(target))

    def _content(self, name: str) -> bytes:
        """What stands in an array file. Raises UsageError."""
        file = Path(self.path).parent / name
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise UsageError(f"{name}: an array outside the certificate's folder; expected one in it, or below")
        try:
            return file.read_bytes()
        except OSError as error:
            raise UsageError(f"{file}: {error.strerror}, expected an array file of the certificate") from None

    def __repr__(self) -> str:
        return f"<Certificate {self.claim} {self.digest[:12]} in {self.path!r}>"

    def __str__(self) -> str:
        return f"{self.claim}, not checked: {self.statement}"


def _numbers(node: Node, path: str = "") -> list[tuple[str, Fraction]]:
    value = node.value
    if isinstance(value, str):
        found = fraction(value)
        return [] if found is None else [(path, found)]
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [
        each
        for key, item in inner
        for each in _numbers(item, f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}" if path else key)
    ]


def _files(plain: Plain) -> set[str]:
    """The array files that a document refers to."""
    if isinstance(plain, str):
        return set()
    if isinstance(plain, dict) and isinstance(name := plain.get("file"), str):
        return {name}
    inner = plain.values() if isinstance(plain, dict) else plain
    return {name for item in inner for name in _files(item)}


def _renamed(name: str, stem: str, new: str) -> str:
    return str(Path(name).with_stem(new)) if Path(name).stem == stem else name


def _with_names(plain: Plain, names: dict[str, str]) -> Plain:
    """The same document with array files of other names."""
    if isinstance(plain, dict):
        return {
            key: names[item] if key == "file" and isinstance(item, str) else _with_names(item, names)
            for key, item in plain.items()
        }
    return [_with_names(item, names) for item in plain] if isinstance(plain, list) else plain
