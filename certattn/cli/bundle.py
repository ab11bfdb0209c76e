"""`certattn bundle`."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from certattn.cli.check import find_certificates
from certattn.cli.lock import path_below
from certattn.cli.options import arithmetic_option, checking_limits, jobs_option, processors, root_option, take_limits
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.quoting import counted
from certattn.kernel.errors import UsageError
from certattn.report.text import on_one_line, summary_line, text_of
from certattn.statements.reports import Report, exit_status

if TYPE_CHECKING:
    from certattn.bundle.lock import Promise
    from certattn.bundle.pack import Member
    from certattn.kernel.document.tree import Node
    from certattn.report.page.entry import Described

# Where certificates lie in an archive.
_INSIDE = "certificates"

EPILOG = """\b
Examples:
  certattn bundle paper/ -o paper.zip
  certattn check paper.zip --locked      what a reader of it does

\b
Exit status: as that of `certattn check`; unless it is 0, nothing is written.
"""


@click.command(epilog=EPILOG)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o", "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The archive to write; .zip."
)
@click.option(
    "--page/--no-page", default=True, show_default=True, help="Include a page as written by `certattn report`."
)
@jobs_option
@arithmetic_option
@root_option
@checking_limits
def bundle(
    folder: Path, out: Path, page: bool, jobs: int | None, arithmetic: str, root: Path | None, **limits: Any
) -> int:
    """Check the certificates of a folder and pack them into one archive for readers.

    Their array files go with them, and a lock, hashes, the second checker, and a text that says how to check all of it.
    The same content gives the same bytes.
    """
    from certattn.bundle.lock import LOCK, lock_text
    from certattn.bundle.pack import Member, pack, sums
    from certattn.bundle.readme import readme, versions
    from certattn.cli.confined import find, gather
    from certattn.cli.gathering import describe
    from certattn.cli.report import require_libraries
    from certattn.provers.output import require_place
    from certattn.report.paper.theorem import BIBLIOGRAPHY, STYLE, shipped

    options = CheckOptions(take_limits(limits), root, detail=page, arithmetic=arithmetic)
    files = find_certificates((str(folder),))
    for file in files:
        path_below(file, folder)  # refuses names that could not be printed, before any work is done
    if out.suffix != ".zip":
        raise UsageError(f"{out}: expected a name that ends in .zip")
    require_place(out, *files)
    if page:
        require_libraries("html", pictures=False)
    workers = jobs or processors()
    reports = gather(files, options, workers)
    for report in reports:
        if report.verdict is not Verdict.VERIFIED:
            click.echo(text_of(report, color=False))
    if status := exit_status(reports):
        click.echo(f"{summary_line(reports, len(files), color=False)}; no archive is written")
        return status
    facts = find(files, options, workers, partial(_facts, folder))
    found = [_Found(*each, folder) for each in zip(files, reports, facts, strict=True)]
    promises = [each.promise for each in found]
    arrays = {name: member for each in found for name, member in each.arrays.items()}
    second = _second_checker()
    members = [
        *(Member(each.name, each.file, each.report.sha256) for each in found),
        *arrays.values(),
        *second,
        Member.of(LOCK, lock_text(promises)),
        Member.of("versions.txt", versions()),
    ]
    latex = [each.facts["latex"] for each in sorted(found, key=lambda each: each.name)]
    members.append(Member.of("latex/statements.tex", "\n\n".join(latex) + "\n"))
    members += [Member.of(f"latex/{name}", shipped(name)) for name in (STYLE, BIBLIOGRAPHY)]
    if page:
        members.append(Member.of("report.html", _page(found, describe(files, options, workers))))
    leads_up = any(each.leads_up for each in found)
    members.append(Member.of("README.txt", readme(promises, page=page, second=bool(second), root=leads_up)))
    members.append(Member.of("SHA256SUMS", sums(members)))
    digest = pack(out, members)
    counts = f"{counted(len(found), 'certificate')} and {counted(len(arrays), 'array file')}"
    click.echo(f"{counts} in {on_one_line(str(out))}")
    click.echo(f"sha256 {digest}")
    return 0


@dataclass(frozen=True)
class _Found:
    """A certificate that was verified, and what else was found in its file."""

    file: Path
    report: Report
    facts: dict[str, Any]
    folder: Path

    def __post_init__(self) -> None:
        if self.facts.get("sha256") != self.report.sha256:
            raise UsageError(f"{self.file}: changed since it was checked")

    @property
    def name(self) -> str:
        """In the archive."""
        name: str = self.facts["name"]
        return name

    @cached_property
    def promise(self) -> Promise:
        """What the archive's lock says of it."""
        from certattn.bundle.lock import Promise

        return Promise(**self.facts["promise"])

    @cached_property
    def arrays(self) -> dict[str, Member]:
        """Its array files, by their names in the archive. Raises UsageError for what would lie outside of it."""
        from certattn.bundle.pack import Member

        found: dict[str, Member] = {}
        for stated, sha256 in self.facts["arrays"]:
            name = posixpath.normpath(posixpath.join(posixpath.dirname(self.name), stated))
            if not name.startswith(f"{_INSIDE}/"):
                raise UsageError(
                    f"{self.file}: its array file {stated} lies outside of {self.folder}; name a folder that holds "
                    "both, or generate the certificate with --data copy"
                )
            found[name] = Member(name, self.file.parent / stated, sha256)
        return found

    @property
    def leads_up(self) -> bool:
        """Whether an array file lies outside of the certificate's own folder."""
        return not all(name.startswith(f"{posixpath.dirname(self.name)}/") for name in self.arrays)


def _facts(folder: Path, path: Path, options: CheckOptions) -> dict[str, Any]:
    from certattn.bundle.lock import promise_of
    from certattn.kernel.document.certificate import load
    from certattn.report.paper.theorem import as_latex
    from certattn.statements.wording import statement_of

    certificate = load(path, root=options.root, limits=options.limits)
    statement, name = statement_of(certificate), f"{_INSIDE}/{path_below(path, folder)}"
    return {
        "name": name,
        "sha256": certificate.sha256,
        "promise": asdict(promise_of(certificate, name, statement.words)),
        "latex": as_latex(replace(certificate, path=name), statement),
        "arrays": list(_references(certificate.values.at)),
    }


def _references(node: Node) -> Iterator[tuple[str, str]]:
    """The array files that are named in a certificate, and their hashes."""
    if isinstance(node.value, str):
        return
    inside = node.value
    if isinstance(inside, dict):
        file, sha256 = inside.get("file"), inside.get("sha256")
        if file is not None and sha256 is not None and isinstance(file.value, str) and isinstance(sha256.value, str):
            yield file.value, sha256.value
    for item in inside.values() if isinstance(inside, dict) else inside:
        yield from _references(item)


def _second_checker() -> list[Member]:
    """The second checker as it is installed, with its licence; nothing where it is not."""
    from certattn.bundle.pack import Member
    from certattn.strict import second_checker

    program = second_checker()
    if program is None:
        return []
    files = {file.relative_to(program).as_posix(): file.read_text(encoding="utf-8") for file in program.rglob("*.py")}
    try:
        licence = distribution("certattn").read_text("licenses/LICENSE")
    except PackageNotFoundError:
        licence = None
    if licence is not None:
        files["LICENSE"] = licence
    return [Member.of(f"second-checker/{name}", text) for name, text in files.items()]


def _page(found: Sequence[_Found], described: Sequence[Described]) -> str:
    """A page without times and dates, and with no path but the archive's own."""
    from certattn.report.page.content import Content
    from certattn.report.page.entry import Entry
    from certattn.report.page.html import as_html

    entries = [
        Entry(Path(each.name), replace(each.report, path=each.name, nanoseconds={}), True, said)
        for each, said in zip(found, described, strict=True)
    ]
    return as_html(Content(entries, Path(), "checked when this archive was made"))
