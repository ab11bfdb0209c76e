"""Reports for machines, one module for each format. A format is a function from reports to text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from certattn.report.formats.github import as_github
from certattn.report.formats.junit import as_junit
from certattn.report.formats.markdown import as_markdown
from certattn.report.formats.plain_json import as_json
from certattn.statements.reports import Report

FORMATS: Mapping[str, Callable[[Sequence[Report]], str]] = {
    "json": as_json,
    "github": as_github,
    "junit": as_junit,
    "markdown": as_markdown,
}
