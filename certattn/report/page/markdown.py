"""The same content as Markdown, for places that show it: pull requests, wikis, notes. Without pictures."""

from __future__ import annotations

import re

from certattn.report.page.content import FEW, OTHERS, Content, Shown
from certattn.report.page.margins import Margin
from certattn.report.text import printable

# What could be markup: of Markdown, of HTML, or of the extensions that places such as GitHub know.
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$^=:@&\"'/])")
_BREAKS = re.compile(r"\s+")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "|": "&#124;", "@": "&#64;", "`": "&#96;"}


def as_markdown(content: Content) -> str:
    """Headline, a table by claim, and a section for each certificate."""
    where = f"; files in {plain(content.where)}" if content.where else ""
    lines = [f"# {plain(content.headline)}", "", f"certattn {plain(content.version)}, {plain(content.when)}{where}", ""]
    if content.source:
        lines += ["**Nothing was checked by this run:** all of this is what the reports say.", ""]
    counts = ", ".join(f"{number} {verdict}" for verdict, _, number in content.counts)
    lines += [counts, "", "| verdict | claim | certificate | least to spare | trusted base | time |", "|---" * 6 + "|"]
    for group in content.groups:
        lines += [_row(shown) for shown in group.shown]
    for heat in content.maps:
        lines += ["", f"**{plain(heat.claim)}: {plain(heat.figure)}** (rows are layers, columns heads)", ""]
        lines += ["| |" + "".join(f" {head} |" for head in heat.heads), "|---" * (len(heat.heads) + 1) + "|"]
        lines += [
            f"| {layer} |" + "".join(f" {plain(cell.text) if cell else ''} |" for cell in cells)
            for layer, cells in heat.rows
        ]
    for group in content.groups:
        for shown in group.shown:
            lines += ["", *_section(shown)]
    if content.missing:
        lines += ["", "## What the audit could not state", "", *(f"- {plain(line)}" for line in content.missing)]
    if content.others:
        lines += ["", f"## {OTHERS}", "", *(f"- {plain(line)}" for line in content.others)]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """A stranger's text on one line, so written that nothing in it is markup."""
    flat = printable(_BREAKS.sub(" ", text).strip())
    return _SPECIAL.sub(lambda sign: _ENTITIES.get(sign[1], f"\\{sign[1]}"), flat)


def _row(shown: Shown) -> str:
    link = f"[{plain(shown.file)}](<{shown.link}>)"
    spare = shown.least.spare if shown.least else ""
    cells = (_verdict(shown), plain(shown.claim), link, spare, plain(shown.base), shown.time)
    return f"| {' | '.join(cells)} |"


def _verdict(shown: Shown) -> str:
    return f"{shown.sign} {shown.verdict}" + ("" if shown.entry.checked else ", as reported")


def _section(shown: Shown) -> list[str]:
    lines = [f"## {plain(shown.file)}", "", f"**{_verdict(shown)}** {plain(shown.claim)}", ""]
    lines += [plain(text) + "\n" for text in (shown.reason, shown.beginning, *shown.findings) if text]
    if shown.margins:
        lines += ["| obligation | proved | result | to spare |", "|---|---|---|---|"]
        lines += [_margin(margin) for margin in shown.margins[:FEW]]
        left = len(shown.margins) - FEW
        lines += ["", *([f"and {left} more", ""] if left > 0 else [])]
    facts = (
        ("result", shown.proved),
        ("trusted base", shown.base),
        ("trust", shown.rests_on),
        ("statement", shown.digest),
        *shown.provenance,
    )
    lines += [f"- {plain(name)}: {plain(text)}" for name, text in facts if text]
    return lines


def _margin(margin: Margin) -> str:
    words = (f"{margin.name}: {margin.sentence}", margin.sides, margin.result, margin.spare)
    return f"| {' | '.join(map(plain, words))} |"
