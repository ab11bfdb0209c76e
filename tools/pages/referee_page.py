#!/usr/bin/env python3
"""Write the page on which referees check certificates in a browser, with the second checker in Pyodide.

    python tools/pages/referee_page.py docs/_build/html/referee

The page is static: `python -m http.server` is enough to serve it. Sphinx writes it with the docs (docs/conf.py), and
where Pyodide cannot be had, a page that says so.
"""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from certattn.kernel.decide.checker import CLAIMS  # noqa: E402
from certattn.kernel.theorems import CHAPTER_OF  # noqa: E402
from certattn.report.json_schema import json_schema  # noqa: E402
from tools.npm_packages import PINNED, UnavailableError, unpacked  # noqa: E402

SOURCES = Path(__file__).parent / "referee"
RECHECK = ROOT / "tools" / "recheck"
# What says which archives are sound, as certattn has it.
SHARED = (
    "certattn/bundle/container.py", "certattn/bundle/names.py", "certattn/kernel/document/quoting.py",
    "certattn/kernel/errors.py",
)  # fmt: skip
PYODIDE = (
    "pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json", "package.json",
)  # fmt: skip
EXAMPLE = (
    "attention/output-deviation/gaussian-prompt.yaml", "attention/output-deviation/data/gaussian-prompt.npz",
    "selection/max-margin/single-input.yaml", "spectrum/equivalent-law/gap.yaml",
)  # fmt: skip
_ARRAY = {"file", "array", "sha256", "dtype", "shape", "rows"}
_LEFT_OUT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Left out</title>
<p>This build of the docs has no page for referees: Pyodide could not be had when it was made.
<a href="../second-checker.html">The second checker</a> runs without it.</p></html>
"""


def write(out: Path) -> None:
    """The page, whole. Raises UnavailableError where Pyodide cannot be had."""
    python = unpacked("pyodide", PYODIDE)
    (out / "pyodide").mkdir(parents=True, exist_ok=True)
    for name, content in python.items():
        (out / "pyodide" / name).write_bytes(content)
    checker = {f"recheck/{p.relative_to(RECHECK).as_posix()}": p.read_bytes() for p in RECHECK.rglob("*.py")}
    checker |= {name: (ROOT / name).read_bytes() for name in SHARED}
    (out / "checker.zip").write_bytes(zipped({**checker, "referee.py": (SOURCES / "referee.py").read_bytes()}))
    gallery = ROOT / "certificates"
    (out / "example.zip").write_bytes(zipped({name: (gallery / name).read_bytes() for name in EXAMPLE}))
    (out / "words.json").write_text(json.dumps(words(), separators=(",", ":")), encoding="utf-8")
    lines = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in RECHECK.rglob("*.py"))
    said = {"LINES": f"{round(lines, -2):,}", "PYODIDE": PINNED["pyodide"][0], "UNCOVERED": uncovered()}
    page = (SOURCES / "index.html").read_text(encoding="utf-8")
    for key, text in said.items():
        page = page.replace(f"@{key}@", text)
    (out / "index.html").write_text(page, encoding="utf-8")
    for name in ("page.css", "page.js", "worker.js"):
        (out / name).write_bytes((SOURCES / name).read_bytes())


def write_or_say(out: Path) -> str:
    """The page, or one that says why there is none; this is returned, too."""
    try:
        write(out)
    except UnavailableError as error:
        out.mkdir(parents=True, exist_ok=True)
        (out / "index.html").write_text(_LEFT_OUT, encoding="utf-8")
        return f"the page for referees is left out: {error}"
    return ""


def zipped(members: dict[str, bytes]) -> bytes:
    """An archive of them, the same every time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(members.items()):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def words() -> dict[str, Any]:
    """What claims and their fields mean, as their schemas say it."""
    found = {}
    for schema in json_schema()["oneOf"]:
        own = schema["properties"]
        claim = own["claim"]["const"]
        fields = dict(described(own["given"], "given")) | dict(described(own["asserts"], "asserts"))
        found[claim] = {"title": own["claim"]["description"], "chapter": CHAPTER_OF[claim], "fields": fields}
    return found


def described(schema: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Fields by their paths, but for those inside references to arrays. Of two that share a path, the first counts."""
    found: dict[str, str] = {}
    for alternative in [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]:
        if alternative is not schema:
            found = dict(described(alternative, path)) | found
            continue
        for name, inner in alternative.get("properties", {}).items():
            if name not in _ARRAY or "sha256" not in alternative["properties"]:
                own = {f"{path}.{name}": inner["description"]} if inner.get("description") else {}
                found = dict(described(inner, f"{path}.{name}")) | own | found
        if isinstance(alternative.get("items"), dict):
            found = dict(described(alternative["items"], path)) | found
    yield from found.items()


def uncovered() -> str:
    """The claims that the second checker has no function for."""
    functions = {path.stem: path.read_text(encoding="utf-8") for path in RECHECK.rglob("*.py")}
    known = {claim for claim in CLAIMS if any(f"def {claim.replace('-', '_')}(" in text for text in functions.values())}
    names = [f"<code>{claim}</code>" for claim in sorted({*CLAIMS} - known)]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        write(Path(arguments[0]))
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
