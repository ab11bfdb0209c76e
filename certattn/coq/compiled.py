"""certattn's library of lemmas, compiled by Coq: once for all checks of one run.

Coq believes a compiled file. Whoever can replace one can have it say that anything is proved, and a hash that lies
beside it can be replaced as well. So nothing compiled outlives a run: the folder is made for it, only its user may
write there, and no later run looks for it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from certattn.coq.coqc import Coq, RejectedError
from certattn.coq.export import library_text
from certattn.kernel.errors import UsageError

UNUSABLE = (
    "certattn's library of lemmas, which this installation brings along, could not be compiled; expected Coq 8.16 with "
    "the library coq-interval (Debian: `apt-get install coq libcoq-interval`), and some megabytes of space for "
    "temporary files. Nothing was tried on the certificate. What Coq said:"
)


class CompiledLibrary:
    """Modules of the library in `folder`, which is made where it is not there; each is compiled when first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._compiled: set[str] = set()

    def provide(self, modules: Iterable[str], coq: Coq) -> None:
        """Compile those of `modules` that are not yet; each stands after those that it needs.

        Raises UsageError where this Coq has no use for it, which says nothing of a certificate; LimitExceededError.
        """
        self.folder.mkdir(exist_ok=True)
        for module in modules:
            if module in self._compiled:
                continue
            file = self.folder / f"{module}.v"
            file.write_text(library_text(module), encoding="ascii")
            try:
                coq.compile(file, self.folder, [(self.folder, "CertAttn")])
            except RejectedError as error:
                raise UsageError(f"{UNUSABLE}\n  {error.said or 'It said nothing.'}") from None
            self._compiled.add(module)


@contextmanager
def compiled_library() -> Iterator[CompiledLibrary]:
    """A library for the run that begins here, and gone with it."""
    with tempfile.TemporaryDirectory(prefix="certattn-coq-") as folder:
        yield CompiledLibrary(Path(folder) / "library")
