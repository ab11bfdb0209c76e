"""`certattn ask`: from a question in one's own words to the command that answers it."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import yaml

from certattn.cli.options import format_option
from certattn.kernel.errors import UsageError

QUESTIONS = Path(__file__).with_name("questions.yaml")
EPILOG = """\b
Examples:
  certattn ask how long must my prompt be
  certattn ask "is my flash attention kernel right?"
  certattn ask int8 kv cache

\b
Exit status: 0 something fits; 2 nothing does.
"""
# Words that say nothing about what is asked.
_EMPTY = """
a about am an and any are as at be by can could did do does for from get given has have how i if in is it its let
many me much must my near no not of on one or our out should show so some that the their them then there these this
to was we what when where which who why will with would you your
"""
# How much a word counts where it stands: in the question, beside it, in the command.
_WEIGHTS = (4.0, 2.0, 3.0)


@dataclass(frozen=True)
class Question:
    """What may be asked: in words, in others, and what answers it."""

    question: str
    also: str
    command: str
    page: str


def questions() -> list[Question]:
    """All of them."""
    return [Question(**entry) for entry in yaml.safe_load(QUESTIONS.read_text(encoding="utf-8"))]


def answers(words: str, most: int) -> list[Question]:
    """The questions that share words with these, the best first: by full-text search, of word stems."""
    wanted = [word for word in re.findall(r"[a-z0-9]+", words.lower()) if word not in _EMPTY.split()]
    known = questions()
    if not wanted:
        return []
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("CREATE VIRTUAL TABLE asked USING fts5(question, also, command, tokenize='porter unicode61')")
        rows = [(number, each.question, each.also, each.command) for number, each in enumerate(known)]
        index.executemany("INSERT INTO asked(rowid, question, also, command) VALUES (?, ?, ?, ?)", rows)
        query = "SELECT rowid FROM asked WHERE asked MATCH ? ORDER BY bm25(asked, ?, ?, ?) LIMIT ?"
        found = index.execute(query, (" OR ".join(wanted), *_WEIGHTS, most)).fetchall()
    return [known[number] for (number,) in found]


@click.command(epilog=EPILOG)
@click.argument("question", nargs=-1)
@click.option("--most", type=click.IntRange(1), default=3, show_default=True, help="How many answers to show.")
@format_option
def ask(question: Sequence[str], most: int, form: str) -> None:
    """Say which command answers a question.

    QUESTION is in your own words. Left out, every question that has an answer is listed.
    """
    words = " ".join(question)
    found = answers(words, most) if words else questions()
    if not found:
        raise UsageError(f"no question matches {words!r}; `certattn ask` without words lists all of them")
    if form == "json":
        shown = [{key: value for key, value in asdict(each).items() if key != "also"} for each in found]
        click.echo(json.dumps(shown, indent=2))
        return
    for index, each in enumerate(found):
        click.echo(("\n" if index else "") + f"{each.question}\n  {each.command}\n  docs/{each.page}")
