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

from certattn.coq.coqc import Coq
from certattn.coq.export import library_text


class CompiledLibrary:
    """Modules of the library in `folder`, which is made where it is not there; each is compiled when first needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._compiled: set[str] = set()

    def provide(self, modules: Iterable[str], coq: Coq) -> None:
        """Compile those of `modules` that are not yet; each stands after those that it needs.

        Raises RejectedError, LimitExceededError.
        """
        self.folder.mkdir(exist_ok=True)
        for module in modules:
            if module in self._compiled:
                continue
            file = self.folder / f"{module}.v"
            file.write_text(library_text(module), encoding="ascii")
            coq.compile(file, self.folder, [(self.folder, "CertAttn")])
            self._compiled.add(module)


@contextmanager
def compiled_library() -> Iterator[CompiledLibrary]:
    """A library for the run that begins here, and gone with it."""
    with tempfile.TemporaryDirectory(prefix="certattn-coq-") as folder:
        yield CompiledLibrary(Path(folder) / "library")
