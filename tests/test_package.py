"""The sdist and the wheel: what they hold, and that they are the same when they are built again."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from collections.abc import Callable
from email.parser import HeaderParser
from pathlib import Path
from types import ModuleType

import pytest

import certattn

ROOT = Path(__file__).resolve().parent.parent
Tool = Callable[[str], ModuleType]
DIST_INFO = f"certattn-{certattn.__version__}.dist-info"
# What a checkout collects, and no package may hold.
STRAY = ("head.yaml", "certattn/kernel/__pycache__/old.cpython-311.pyc", "docs/_build/html/index.html", ".venv/bin/x")
PACKAGED = (
    "*.py", "*.v", "*.sh", "py.typed", "templates/*", "*.sty", "*.bib", "codes/**/*.yaml", "cli/*.yaml", "*/*/*.yaml",
)  # fmt: skip
TOP = ("certattn", "certificates", "docs", "tests", "tools", "pyproject.toml", ".gitignore")
FILES = ("CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with what lies about after some work."""
    folder = tmp_path_factory.mktemp("sources")
    for name in (*TOP, *FILES):
        path = ROOT / name
        if path.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "_build", ".*", "*.vo", "*.glob")
            shutil.copytree(path, folder / name, ignore=ignored)
        else:
            shutil.copy(path, folder)
    for name in STRAY:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("stray")
    return folder


@pytest.fixture(scope="module")
def built(tool: Tool, sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sdist and wheel, which the sdist builds again byte for byte."""
    out = tmp_path_factory.mktemp("dist")
    made = tool("build_package").build_twice(sources, out)
    assert len(made) == 2
    return out


def wheel_of(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.mark.heavy
def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    with wheel_of(built) as wheel:
        names = set(wheel.namelist())
    package = {path.relative_to(ROOT).as_posix() for pattern in PACKAGED for path in (ROOT / "certattn").rglob(pattern)}
    information = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    # The second checker is a tool, and goes along for `check --strict`.
    second = {
        f"certattn/{path.relative_to(ROOT / 'tools').as_posix()}" for path in (ROOT / "tools/recheck").rglob("*.py")
    }
    assert names == package | second | {f"{DIST_INFO}/{name}" for name in information}


def test_the_metadata_says_what_it_is(built: Path) -> None:
    with wheel_of(built) as wheel:
        metadata = HeaderParser().parsestr(wheel.read(f"{DIST_INFO}/METADATA").decode())
        assert wheel.read(f"{DIST_INFO}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert metadata["Version"] == certattn.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().lstrip().startswith("# certattn")
    # There is no public place to point to yet; a link that leads nowhere is worse than none.
    assert "Project-URL" not in metadata


def test_the_sdist_holds_the_tests_and_the_gallery_and_nothing_stray(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers()}
    assert {name.partition("/")[0] for name in names} == {*TOP, *FILES, "PKG-INFO"}
    assert {p.relative_to(ROOT).as_posix() for p in (ROOT / "certificates").rglob("*.yaml")} <= names
    assert "tests/test_package.py" in names
    assert not names.intersection(STRAY)


def test_a_build_that_depends_on_its_folder_is_noticed(
    tool: Tool, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tool("build_package")

    def with_its_folder(source: Path, out: Path) -> dict[str, bytes]:
        out.mkdir(exist_ok=True)
        with tarfile.open(out / "certattn-0.tar.gz", "w:gz") as archive:
            archive.add(source / "LICENSE", "certattn-0/LICENSE")
        return {"certattn-0.tar.gz": b"", "certattn-0.whl": str(source).encode()}

    monkeypatch.setattr(package, "build", with_its_folder)
    with pytest.raises(package.PackageError, match=r"certattn-0\.whl differs"):
        package.build_twice(sources, tmp_path / "dist")


def test_a_folder_with_older_packages_is_refused(tool: Tool, tmp_path: Path, sources: Path) -> None:
    package = tool("build_package")
    (tmp_path / "certattn-0.0.1.tar.gz").write_text("old")
    with pytest.raises(package.PackageError, match="is not empty"):
        package.build_twice(sources, tmp_path)


def test_sources_that_cannot_be_built_are_said_to_be_so(tool: Tool, tmp_path: Path) -> None:
    package = tool("build_package")
    with pytest.raises(package.PackageError, match="hatchling ended with"):
        package.build(tmp_path, tmp_path / "dist")


def test_a_command_of_the_trial_that_fails_is_noticed(tool: Tool, tmp_path: Path) -> None:
    package = tool("build_package")
    with pytest.raises(package.PackageError, match="exit status 1, expected 0"):
        package._run(["false"], tmp_path, 0)


def test_every_python_of_the_classifiers_is_at_least_the_least(built: Path) -> None:
    with wheel_of(built) as wheel:
        metadata = HeaderParser().parsestr(wheel.read(f"{DIST_INFO}/METADATA").decode())
    named = [line.rpartition(" ")[2] for line in metadata.get_all("Classifier") if "Python :: 3." in line]
    assert metadata["Requires-Python"] == f">={named[0]}"
    assert named == sorted(named, key=lambda version: int(version.partition(".")[2]))
