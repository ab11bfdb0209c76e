"""What the pages say is what the program does.

Every page (README.md, docs/, certificates/) is followed from top to bottom in a folder of its own that
holds a copy of the gallery, as a fresh clone would; of the longest pages, each section:

    ```console      each `$ command` is run in bash; what it prints must be what the page shows
    ```python       run; a block with `>>>` is a doctest
    ```yaml         read as strictly as a certificate; steps of a workflow as its own reader does
    ```toml         read
    # name.ext      as the first line of a block: the block is saved as that file. A saved
                    certificate is checked; its verdict is `verified`, or the one named in
                    brackets, as in `# wrong.yaml (refuted)`

Times, versions, line breaks and the folder's own path count as equal, and `...` stands for anything. NOT_RUN says
which other blocks there are, and why they are not run; the commands in them are at least real ones.
`python tests/test_docs.py` writes today's output into pages that differ.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import click
import pytest
import yaml

import certattn
from certattn._version import SOURCE
from certattn.kernel.decide.obligation import Part
from certattn.kernel.document.reader import parse_tree
from certattn.kernel.document.schema import ByKey, Field, Kind, Listing, Record, Variant
from certattn.report.text import MARKS
from certattn.statements.digits import RESULTS

Tool = Callable[[str], ModuleType]

ROOT = Path(__file__).resolve().parent.parent
GALLERY = ROOT / "certificates"
PAGES = [
    *sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts),
    *sorted(p.relative_to(ROOT).as_posix() for p in GALLERY.rglob("*.md")),
    "README.md",
]

# Long pages whose sections need no more of earlier ones than the files written down there: several processes follow
# them at the same time.
SECTIONED = ("docs/cli.md",)

# Those whose commands take more than a second and a half of a processor, and the pages of claims, which are alike.
HEAVY = {
    "docs/adding-a-claim.md", "docs/api.md", "docs/audit.md", "docs/ci.md", "docs/cli.md: Checking",
    "docs/cli.md: Bundles", "docs/engineer.md", "docs/faq.md", "docs/inputs.md", "docs/laws-and-training.md",
    "docs/paper.md", "docs/recipes.md", "docs/report.md", "docs/showcase.md", "docs/sweep.md", "docs/testing.md",
    "docs/threat-model.md", "docs/tutorial.md", *(page for page in PAGES if page.startswith("docs/claims/")),
}  # fmt: skip

RUN = ("console", "python", "yaml", "toml", "ebnf")
# What every other kind of block is for, and what is tested of it.
NOT_RUN = {
    "sh": "usage lines, and what takes the reader's machine (installing, an hour of arithmetic, a whole gallery): that"
    " its programs and options exist; what the README does after the installation is run",
    "text": "trees of folders, grammars, formulas, and output of Coq, which takes minutes: nothing",
    "py": "what a library outside the extras prints: nothing",
}

# A page that changes the package: it is followed in a clone that has the sources too, by `python -m certattn`.
WITH_SOURCES = ("docs/adding-a-claim.md",)

_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>\w+)\n(?P<body>.*?)^(?P=fence)[ ]*$", re.DOTALL | re.MULTILINE)
_SAVED = re.compile(r"# (?P<name>[\w./-]+\.\w+)(?: \((?P<verdict>\w+)\))?\n")
# Steps of a GitHub workflow, which are read by others than certattn and in all of YAML.
# Pictures of claims are made by a command of the page that shows them.
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*_static/claims/(?P<name>[\w.-]+)\)")
_WORKFLOW = re.compile(r"^\s*- uses: ", re.MULTILINE)
_PROMPT, _CONTINUED = "$ ", "> "


@dataclass
class Command:
    """A command of a console block and what the page says that it prints."""

    text: str
    shown: str


@dataclass(frozen=True)
class Stretch:
    """What is followed in one folder: a page, or a section of one of `SECTIONED`."""

    page: str
    earlier: str  # the page up to here
    text: str

    def __str__(self) -> str:
        heading = self.text.partition("\n")[0]
        return f"{self.page}: {heading.strip('# ').replace('`', '')}" if self.page in SECTIONED else self.page


# -- reading pages


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(text: str) -> Iterator[re.Match[str]]:
    """The fenced blocks that name a language, in order."""
    return _FENCE.finditer(text)


def stretches(page: str) -> Iterator[Stretch]:
    """All of a page, in pieces that are followed each in a folder of its own."""
    text = read(page)
    fences = [block.span() for block in blocks(text)]
    headings = [heading.start() for heading in re.finditer("^## ", text, re.MULTILINE)] if page in SECTIONED else []
    cuts = [at for at in headings if not any(start < at < end for start, end in fences)]
    for start, end in pairwise([0, *cuts, len(text)]):
        yield Stretch(page, text[:start], text[start:end])


def commands(body: str) -> list[Command]:
    """The commands of a console block; lines that begin with `> ` carry one on."""
    found: list[Command] = []
    for line in body.splitlines(keepends=True):
        if line.startswith(_PROMPT):
            found.append(Command(line.removeprefix(_PROMPT), ""))
        elif line.startswith(_CONTINUED) and found and not found[-1].shown:
            found[-1].text += line.removeprefix(_CONTINUED)
        elif found:
            found[-1].shown += line
        else:
            raise ValueError(f"a console block that begins with output: {line!r}")
    return found


# -- comparing


@cache
def gallery_digests() -> frozenset[str]:
    """The digests that a page may rely on: array files of the gallery and its statements."""
    files = sorted(GALLERY.rglob("*.yaml"))
    known = {digest for path in files for digest in re.findall(r"\b[0-9a-f]{64}\b", path.read_text())}
    return frozenset(known | {certattn.load(path).digest for path in files})


def normalise(text: str, folder: Path) -> str:
    """Without what differs from run to run and from machine to machine."""
    # Where a line is broken depends on how long the times on it are.
    text = " ".join(text.split())
    text = text.replace(str(folder.resolve()), "FOLDER").replace(str(folder), "FOLDER")
    text = re.sub(r"\b\d+(\.\d+)?(e[+-]?\d+)? (s|ms)\b", "TIME", text)
    text = re.sub(r'("(?:parsing|reading|marshalling|arithmetic|total)": )\d+', r"\1TIME", text)
    text = re.sub(r'\btime="[\d.]+"', 'time="TIME"', text)
    text = re.sub(r"\bcertattn \d+(\.\d+)*(\.?\w+)?", "certattn VERSION", text)
    text = re.sub(r'"certattn": "\d[\w.]*"', '"certattn": "VERSION"', text)
    text = re.sub(r"\bFLINT [\d.]+\d", "FLINT VERSION", text)
    # Whoever changes the kernel changes these: they are figures of docs/trust.md, and not of every page.
    text = re.sub(r"\brests on [\d,]+ files, [\d,]+ lines", "rests on FILES, LINES", text)
    text = re.sub(r'"(files|lines)": \d+', r'"\1": NUMBER', text)
    # Files written by numpy on this machine; those of the gallery are the same everywhere.
    return re.sub(r"\b[0-9a-f]{64}\b", lambda m: m[0] if m[0] in gallery_digests() else "DIGEST", text)


def agrees(shown: str, printed: str, folder: Path) -> bool:
    """Whether a page shows what was printed; `...` in the page stands for anything."""
    parts = [re.escape(part) for part in normalise(shown, folder).split("...")]
    return re.fullmatch(".*".join(parts), normalise(printed, folder), re.DOTALL) is not None


# -- running


def fresh_folder(parent: Path, page: str) -> Path:
    """A folder as a clone begins: the gallery, the licence, nothing made; sources for a page that needs them."""
    folder = parent / "clone"
    folder.mkdir()
    shutil.copytree(GALLERY, folder / "certificates")
    if page in WITH_SOURCES:
        shutil.copytree(ROOT / "certattn", folder / "certattn", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "LICENSE", folder)
    return folder


def run(command: str, folder: Path, status: int = 0) -> tuple[str, int]:
    """What a command prints on both streams, and its exit status. `$?` is that of the one before."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment |= {"COLUMNS": "80", "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["bash", "-c", f"(exit {status})\n{command}"],
        cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
    )  # fmt: skip
    return done.stdout, done.returncode


def run_python(source: str, page: str, line: int, namespace: dict[str, object]) -> None:
    """Run a block; a doctest where it has prompts."""
    if ">>> " not in source:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile("\n" * line + source, page, "exec"), namespace)
        return
    test = doctest.DocTestParser().get_doctest(source, namespace, page, page, line)
    told = io.StringIO()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    runner = doctest.DocTestRunner(optionflags=flags)
    runner.run(test, out=told.write, clear_globs=False)
    namespace.update(test.globs)
    assert runner.summarize(verbose=False).failed == 0, told.getvalue()


def keep(block: re.Match[str], folder: Path) -> re.Match[str] | None:
    """Save a block that names a file: its first line, or None where it names none."""
    named = _SAVED.match(block["body"]) if block["language"] in ("yaml", "python") else None
    if named is not None:
        path = folder / named["name"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block["body"], encoding="utf-8")
    return named


def save(block: re.Match[str], page: str, folder: Path) -> bool:
    """Save a block that names a file; check it where it is a certificate."""
    named, body = keep(block, folder), block["body"]
    if named is None:
        return False
    path = folder / named["name"]
    if re.search(r"^certattn:", body, re.MULTILINE):
        report = certattn.check(path)
        assert report.verdict.value == (named["verdict"] or "verified"), f"{page}: {named['name']}: {report.reason}"
    return True


def converse(body: str, place: str, folder: Path) -> tuple[str, list[str]]:
    """A console block as it should be, and where it is not so."""
    status, lines, differences = 0, [], []
    for command in commands(body):
        printed, status = run(command.text, folder, status)
        if not agrees(command.shown, printed, folder):
            differences.append(f"{place}\n$ {command.text}--- the page\n{command.shown}--- now\n{printed}")
            command.shown = printed
        first, *rest = command.text.splitlines()
        lines += [_PROMPT + first, *(_CONTINUED + part for part in rest), *command.shown.splitlines()]
    return "\n".join(lines).rstrip("\n") + "\n", differences


def follow(stretch: Stretch, folder: Path) -> tuple[str, list[str]]:
    """Do all that it says, in order: its text as it should be, and where it is not so."""
    page, text, differences, pieces, position = stretch.page, stretch.text, [], [], 0
    namespace: dict[str, object] = {"__name__": "page"}
    for block in blocks(stretch.earlier):
        keep(block, folder)
    for block in blocks(text):
        language, body = block["language"], block["body"]
        line = (stretch.earlier + text[: block.start("body")]).count("\n")
        if language == "console":
            written, found = converse(body, f"{page}:{line}", folder)
            differences += found
            pieces += [text[position : block.start("body")], written]
            position = block.end("body")
        elif save(block, page, folder):
            continue
        elif language == "yaml" and _WORKFLOW.search(body):
            yaml.safe_load(body)
        elif language == "yaml":
            parse_tree(body, f"{page}:{line}", certattn.Limits())
        elif language == "toml":
            tomllib.loads(body)
        elif language == "python":
            run_python(body, page, line, namespace)
    differences += [
        f"{page}: no command of the page writes {name}" for name in pictures(text, folder) if not name.exists()
    ]
    return "".join(pieces) + text[position:], differences


def pictures(text: str, folder: Path) -> list[Path]:
    """Where the pictures that a page shows of its claim lie, once its commands have run."""
    return [folder / picture["name"] for picture in _PICTURE.finditer(text)]


# -- the pages


FOLLOWED = [each for page in PAGES for each in stretches(page) if any(blocks(each.text))]


@pytest.mark.parametrize(
    "stretch",
    [pytest.param(each, marks=[pytest.mark.heavy] if str(each) in HEAVY else []) for each in FOLLOWED],
    ids=map(str, FOLLOWED),
)
def test_a_page_shows_what_happens(stretch: Stretch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fresh_folder(tmp_path, stretch.page)
    monkeypatch.chdir(folder)
    _, differences = follow(stretch, folder)
    assert not differences, "\n".join(differences) + "\n`python tests/test_docs.py` writes today's output"


def test_what_is_said_to_be_heavy_is_there() -> None:
    assert HEAVY - set(map(str, FOLLOWED)) == set()


def test_the_readme_begins_with_the_installation() -> None:
    first, second, *_ = blocks(read("README.md"))
    assert first["language"] == "sh"
    assert first["body"].split(" && ") == ["python3 -m venv .venv", ". .venv/bin/activate", "pip install .\n"]
    assert second["language"] == "console"


def test_every_block_is_run_or_of_a_kind_that_is_not() -> None:
    kinds = {page: {block["language"] for block in blocks(read(page))} - {*RUN, *NOT_RUN} for page in PAGES}
    assert {page: unknown for page, unknown in kinds.items() if unknown} == {}
    directive = re.compile(r"^(`{3,})\{[\w-]+\}.*?^\1$", re.DOTALL | re.MULTILINE)
    rest = {page: directive.sub("", _FENCE.sub("", read(page))) for page in PAGES}
    assert [page for page, text in rest.items() if "```" in text] == [], "a block that names no language"


def described() -> Iterator[tuple[str, list[str]]]:
    """(page, words) of every command in a block for the reader's machine."""
    for page in PAGES:
        for block in blocks(read(page)):
            if block["language"] == "sh":
                for line in re.split(r"\n|&&", block["body"].replace("\\\n", " ")):
                    yield page, shlex.split(line.replace("[OPTIONS]", "").replace("[NAME]", ""))


def program(folder: Path) -> list[Path]:
    """The modules of a folder that Python runs."""
    return sorted(folder.rglob("*.py")) if (folder / "__main__.py").is_file() else []


def test_commands_that_are_not_run_are_real_ones() -> None:
    from certattn.cli.main import cli

    seen = 0
    for page, words in described():
        if words and Path(words[0]).name == "certattn" and words[1] != "COMMAND":
            command: click.Command = cli
            arguments = words[1 : words.index(">")] if ">" in words else words[1:]
            with click.Context(cli) as context:
                while isinstance(command, click.Group):
                    found = command.get_command(context, arguments[0])
                    assert found is not None, f"{page}: there is no command {' '.join(words)}"
                    command, arguments = found, arguments[1:]
                # Raises click.NoSuchOption.
                command.make_parser(context).parse_args(args=arguments)
            seen += 1
        elif words[:1] == ["python"] and (scripts := [word for word in words if word.startswith("tools/")]):
            place = ROOT / scripts[0]
            sources = "".join(
                path.read_text(encoding="utf-8") for path in ([place] if place.is_file() else program(place))
            )
            options = [word for word in words[words.index(scripts[0]) :] if word.startswith("--")]
            assert sources, f"{page}: {words}"
            assert all(f'"{word}"' in sources for word in options), f"{page}: {words}"
            seen += 1
    assert seen >= 15


def test_links_lead_somewhere() -> None:
    lost = []
    for page in PAGES:
        prose = re.sub(r"(\$\$?).+?\1", "", _FENCE.sub("", read(page)), flags=re.DOTALL)
        targets = [target for target in re.findall(r"\]\(([^)\s]+)\)", prose) if not re.match(r"[a-z]+:|#", target)]
        folder = (ROOT / page).parent
        lost += [f"{page}: {target}" for target in targets if not (folder / target.partition("#")[0]).exists()]
    assert lost == []


# -- nothing is left out


def kinds(kind: Kind[object]) -> Iterator[Kind[object]]:
    """A kind and every kind inside it."""
    yield kind
    inner: list[Kind[object]] = []
    if isinstance(kind, Record):
        inner = [field.kind for field in kind.fields.values()]
    elif isinstance(kind, Variant | ByKey):
        inner = list(kind.forms.values())
    elif isinstance(kind, Listing):
        inner = [kind.item]
    for each in inner:
        yield from kinds(each)


def fields(kind: Kind[object]) -> set[str]:
    records = [each for each in kinds(kind) if isinstance(each, Record)]
    described: list[Field[object]] = [field for record in records for field in record.fields.values()]
    return {field.name for field in described}


# Claims that are given and asserted what another is, and say so.
AS_FOR = {"selection-basins": "selection-direction", "selection-counterexample": "selection-direction"}


def pages_of(claim: str) -> Iterator[str]:
    """The page of a claim, one that goes on from there, and those of the claim that it refers to."""
    for name in (claim, AS_FOR.get(claim)):
        if name is not None:
            yield from (page for page in PAGES if re.match(rf"docs/claims/\w+/{name}[.-]", page))


@pytest.mark.parametrize("name", certattn.CLAIMS)
def test_every_field_of_a_claim_is_on_its_page(name: str) -> None:
    text, claim = "".join(map(read, pages_of(name))), certattn.CLAIMS[name]
    for kind in (claim.given, claim.asserts, claim.witness):
        for field in fields(kind):
            assert re.search(rf"[`.]{field}[`.]", text), f"the page of {name} does not describe the field {field}"


def test_every_certificate_of_the_gallery_is_listed(tool: Tool) -> None:
    text = tool("pages.gallery_page").page()
    assert [path for path in GALLERY.rglob("*.yaml") if f"**{path.name}**: " not in text] == []


def test_what_the_docs_build_writes_has_its_place() -> None:
    marks = {page: re.findall(r"<!-- generated: (\w+) -->", read(page)) for page in PAGES}
    assert {page: found for page, found in marks.items() if found} == {
        "docs/cli.md": ["commands"], "docs/codes.md": ["codes"], "docs/contributing.md": ["tools"],
        "docs/gallery.md": ["gallery"], "docs/trust.md": ["lines"],
    }  # fmt: skip


def every_option() -> Iterator[tuple[str, str]]:
    """(command, option) for the whole command line."""
    from certattn.cli.main import cli

    waiting: list[tuple[str, click.Command]] = [("certattn", cli)]
    while waiting:
        name, command = waiting.pop()
        for parameter in command.params:
            yield from ((name, option) for option in parameter.opts if option.startswith("-"))
        if isinstance(command, click.Group):
            with click.Context(command) as context:
                inner = {each: command.get_command(context, each) for each in command.list_commands(context)}
            waiting += [(f"{name} {each}", found) for each, found in inner.items() if found is not None]


def test_every_command_and_option_is_in_the_reference(tool: Tool) -> None:
    reading, page = tool("pages.commands_page").READING, tool("pages.commands_page").page()
    sections = dict(re.findall(r"^## `(certattn[^`]*)`\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    for command, option in every_option():
        if command != "certattn" and option not in reading:
            assert f"`{option}" in sections[command], f"`{command}` does not describe {option}"
    assert all(f"`{option}" in sections["certattn check"] for option in reading)


def test_every_word_of_a_json_report_is_explained() -> None:
    section = re.search(r"^### JSON\n(.*?)(?=^##)", read("docs/cli.md"), re.DOTALL | re.MULTILINE)
    assert section is not None
    tree = certattn.check(GALLERY / "prompts" / "output-tail" / "atoms.yaml", detail=True).to_dict()
    words = {*tree, *tree["obligations"][0], *(part.value for part in Part), *RESULTS}
    for word in words:
        assert f"`{word}`" in section[1], f"docs/cli.md does not explain {word}"
    for result, mark in MARKS.items():
        assert f"| `{result}` ({mark}) |" in section[1]
    assert set(tree["counts"]) == set(RESULTS) == set(MARKS)
    assert "`unproved`" in read("docs/trust.md")


def test_every_limit_is_in_the_format_reference() -> None:
    for name in certattn.Limits.__dataclass_fields__:
        assert f"`{name}`" in read("docs/format.md")


def test_every_tool_is_listed(tool: Tool) -> None:
    tools, page = ROOT / "tools", tool("pages.tools_page").page()
    folders = {path.parent for path in tools.rglob("__main__.py")}  # each is one program
    alone = {path for path in tools.rglob("*.py") if path.name != "__init__.py" and folders.isdisjoint(path.parents)}
    assert [path for path in folders | alone if f"`{path.relative_to(ROOT).as_posix()}`" not in page] == []


def test_every_public_name_is_on_the_api_page() -> None:
    for name in certattn.__all__:
        assert f"certattn.{name}\n" in read("docs/api.md"), name


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == certattn.__version__
    assert citation["license"] == "Apache-2.0"
    assert citation.get("repository-code", "") == SOURCE


def test_the_changelog_has_this_version() -> None:
    assert f"\n## [{certattn.__version__}]" in read("CHANGELOG.md")


def main() -> None:
    """Write today's output into the pages named, or into all, and the pictures of claims that their commands make."""
    for page in sys.argv[1:] or PAGES:
        text, differences = "", 0
        for stretch in stretches(page):
            with tempfile.TemporaryDirectory() as parent:
                folder = fresh_folder(Path(parent), page)
                with contextlib.chdir(folder):
                    written, found = follow(stretch, folder)
                for made in pictures(stretch.text, folder):
                    (ROOT / "docs/_static/claims").mkdir(exist_ok=True)
                    shutil.copy(made, ROOT / "docs/_static/claims")
            text, differences = text + written, differences + len(found)
        (ROOT / page).write_text(text, encoding="utf-8")
        print(f"{page}: {f'{differences} outputs written' if differences else 'as it was'}")


if __name__ == "__main__":
    main()
