"""What the pages of both formats show, computed once: counts, groups, links, margins, heat maps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from certattn._version import __version__
from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.decide.proof import Verdict
from certattn.report.page.entry import Entry
from certattn.report.page.heads import HeatMap, heat_maps
from certattn.report.page.margins import Margin, least_spare, margins, without_balls
from certattn.report.text import on_one_line, printable, rests_on, seconds

# Obligations that are shown at once, and those beyond that are shown when asked for.
FEW, MANY = 4, 24
_SIGNS = {
    Verdict.VERIFIED: "✓",
    Verdict.REFUTED: "✗",
    Verdict.REJECTED: "✗",
    Verdict.INCONCLUSIVE: "?",
    Verdict.MALFORMED: "!",
    Verdict.ERROR: "!",
}
_WORDS = 700
OTHERS = "No part of the audit that audit.json sums up"


@dataclass(frozen=True)
class Shown:
    """An entry as a page shows it; every text fit to be printed, and still to be escaped for its format."""

    entry: Entry
    number: int
    folder: Path
    within: Path

    @property
    def anchor(self) -> str:
        return f"c{self.number}"

    @property
    def file(self) -> str:
        """The file's name in the folder that all of the page are in."""
        return on_one_line(os.path.relpath(self.entry.file.absolute(), self.within))

    @property
    def link(self) -> str:
        """A relative address from the page; a colon in a name cannot look like a scheme."""
        relative = os.path.relpath(self.entry.file.absolute(), self.folder.absolute())
        return quote(os.fsencode(relative), safe="/")

    @property
    def verdict(self) -> str:
        return self.entry.report.verdict.value

    @property
    def sign(self) -> str:
        return _SIGNS[self.entry.report.verdict]

    @property
    def claim(self) -> str:
        return on_one_line(self.entry.report.claim)

    @property
    def statement(self) -> str:
        return on_one_line(self.entry.report.statement)

    @property
    def beginning(self) -> str:
        """The statement, or as much of a long one as can be read at once."""
        text = self.statement
        return text if len(text) <= 2 * _WORDS else text[:_WORDS].rpartition(" ")[0] + " ..."

    @property
    def reason(self) -> str:
        return printable(self.entry.report.reason)

    @property
    def findings(self) -> list[str]:
        return [without_balls(on_one_line(finding)) for finding in self.entry.report.findings]

    @property
    def provenance(self) -> list[tuple[str, str]]:
        return [(on_one_line(k), printable(text)) for k, text in self.entry.described.provenance.items()]

    @cached_property
    def margins(self) -> list[Margin]:
        return margins(self.entry.report.obligations)

    @cached_property
    def least(self) -> Margin | None:
        return least_spare(self.margins)

    @property
    def picture_words(self) -> str:
        """What the picture shows, for those who do not see it."""
        return f"Picture of {self.claim}, {self.file}: {self.entry.picture_shows}"

    @property
    def caption(self) -> str:
        known = self.entry.picture_shows
        shows = f"{known[0].upper()}{known[1:]}. " if known else ""
        return f"{shows}Curves that are called computed are not proved."

    @property
    def proved(self) -> str:
        counts = self.entry.report.counts
        total, proved = sum(counts.values()), counts.get("proved", 0)
        return f"{proved} of {total} obligations proved" if total else ""

    @property
    def base(self) -> str:
        report = self.entry.report
        return on_one_line(f"{report.arithmetic}, {report.bits} bits" if report.bits else report.arithmetic)

    @property
    def rests_on(self) -> str:
        return rests_on(self.entry.report) if self.entry.report.rests_on else ""

    @property
    def time(self) -> str:
        spent = self.entry.report.nanoseconds
        return seconds(spent["total"]) if "total" in spent else ""

    @property
    def digest(self) -> str:
        return on_one_line(self.entry.report.digest)


@dataclass(frozen=True)
class Group:
    """The certificates of one claim, those that are not verified first."""

    claim: str
    title: str
    shown: list[Shown]


@dataclass(frozen=True)
class Content:
    """A page about `entries`, to lie in `folder`.

    `when` says when; `source` is where the reports are from that this run did not make, "" where it made them;
    `missing` lists what an audit could not state, a sentence each; `others` the folders with certificates that
    are no part of the audit beside them.
    """

    entries: Sequence[Entry]
    folder: Path
    when: str
    source: str = ""
    missing: Sequence[str] = ()
    others: Sequence[str] = ()

    @property
    def version(self) -> str:
        return __version__

    @cached_property
    def shown(self) -> list[Shown]:
        return [Shown(entry, number, self.folder, self._within) for number, entry in enumerate(self.entries)]

    @cached_property
    def _within(self) -> Path:
        """The folder that all files are in."""
        parents = [entry.file.absolute().parent for entry in self.entries]
        return Path(os.path.commonpath(parents)) if parents else self.folder.absolute()

    @property
    def where(self) -> str:
        """That folder as a reader beside the page would write it; "" where it is the page's own."""
        relative = os.path.relpath(self._within, self.folder.absolute())
        return "" if relative == os.curdir else on_one_line(relative)

    @cached_property
    def groups(self) -> list[Group]:
        names = sorted({shown.entry.report.claim for shown in self.shown})
        return [self._group(name) for name in names]

    def _group(self, name: str) -> Group:
        members = [shown for shown in self.shown if shown.entry.report.claim == name]
        members.sort(key=lambda shown: (shown.entry.verified, shown.file))
        title = CLAIMS[name].title if name in CLAIMS else ""
        return Group(on_one_line(name), title, members)

    @property
    def counts(self) -> list[tuple[str, str, int]]:
        """Verdict, sign and how often, of the verdicts that occur."""
        found = [(v, sum(entry.report.verdict is v for entry in self.entries)) for v in Verdict]
        return [(verdict.value, _SIGNS[verdict], number) for verdict, number in found if number]

    @property
    def headline(self) -> str:
        verified, total = sum(entry.verified for entry in self.entries), len(self.entries)
        said = f"{verified} of {total} certificates verified"
        return f"{said}, as {on_one_line(self.source)} reports" if self.source else said

    @cached_property
    def maps(self) -> list[HeatMap]:
        return heat_maps(self.entries)
