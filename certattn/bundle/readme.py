"""What a referee reads first: what an archive states, and the commands that prove it."""

from __future__ import annotations

import platform
import textwrap
from collections.abc import Collection
from importlib.metadata import PackageNotFoundError, version

from flint import __FLINT_VERSION__

from certattn._version import __version__
from certattn.bundle.lock import Promise
from certattn.kernel.document.quoting import counted

_WIDTH = 100
_TEXT = """\
{title}

Each file under certificates/ states inequalities or identities between exact numbers: those written in it, and those
in the array files that it names by their hashes. certattn proves them again with interval arithmetic. Nothing that is
written in this archive is believed, including this text.


To check the archive as it is, with certattn {certattn}:

    certattn check ARCHIVE --locked

It ends with status 0 if and only if every certificate is present, states what certattn.lock says, and is proved.
Nothing is unpacked. Compare the digests in certattn.lock with those in the paper.


For the strictest check, unpack it into an empty folder and run there:

    sha256sum -c SHA256SUMS
    certattn check certificates --lock certattn.lock --strict{root}
{second}

What is in this archive:

    README.txt       this text
    SHA256SUMS       hashes of all other files
    certattn.lock    the statements: the digest, words and numbers of each
    versions.txt     the programs that checked them when the archive was made
    certificates/    the certificates and their array files
    latex/           the statements for a paper, with their style and bibliography
{rest}

The statements:

{statements}
"""
_SECOND = """\
    python3 second-checker{root} certificates

The second checker is included so that it can be read; it needs only Python and shares no code with certattn. It does
not cover every claim, and says so. If you do not trust the archive, take your own copy from certattn's sources.
"""


def readme(promises: Collection[Promise], *, page: bool, second: bool, root: bool) -> str:
    """`page` and `second` say whether the report and the second checker are there, `root` whether array files lie
    outside of the folders of their certificates."""
    rest = [
        *(["    report.html      the same as a page, with what each verdict rests on"] if page else []),
        *(["    second-checker/  an independent checker in Python"] if second else []),
    ]
    inside = " --root certificates" if root else ""
    count = counted(len(promises), "certificate")
    return _TEXT.format(
        title=f"{count}, packed by certattn {__version__}",
        certattn=__version__,
        root=inside,
        second=_SECOND.format(root=inside) if second else "",
        rest="".join(f"{line}\n" for line in rest),
        statements="\n\n".join(map(_statement, sorted(promises, key=lambda promise: promise.path))),
    )


def _statement(promise: Promise) -> str:
    words = textwrap.fill(
        promise.says,
        _WIDTH,
        initial_indent=" " * 4,
        subsequent_indent=" " * 4,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return f"{promise.path}  ({promise.claim})\n{words}\n    digest {promise.digest}"


def versions() -> str:
    """The programs that a check rests on, a line each."""
    found = {"certattn": __version__, "python": platform.python_version(), "flint": __FLINT_VERSION__}
    for package in ("python-flint", "numpy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return "".join(f"{name} {number}\n" for name, number in found.items())
