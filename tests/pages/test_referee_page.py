"""The referee's page in a real browser: what it says of certificates, and that it asks nobody else.

A module's tests share one window, for Python takes seconds to load there.
"""

from __future__ import annotations

import re
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from click.testing import CliRunner

import certattn
from certattn.cli.main import cli

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

GALLERY = Path(__file__).resolve().parents[2] / "certificates"
HOSTILE = "<img src=x onerror=alert(1)>"
SMOKE = (
    "arithmetic/binary64-exponential/exponential-with-tail.yaml", "attention/softmax-mean/gaussian-prompt.yaml",
    "prompts/infinite-prompt-operator/gaussian-d1.yaml", "selection/max-margin/single-input.yaml",
    "spectrum/equivalent-law/gap.yaml", "training/regression-risk/plane-start.yaml",
)  # fmt: skip
ARRAYS = "attention/softmax-mean/data/gaussian-prompt.npz"
TABLE = "arithmetic/binary64-exponential/exponential-table.npy"
SLOW = "attention/attention-error/dropped-key.yaml"
pytestmark = pytest.mark.heavy

Answers = dict[str, dict[str, Any]]


class Window:
    """The page, and everything that it has asked for or complained about."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.asked: list[str] = []
        self.errors: list[str] = []
        page.context.on("request", lambda request: self.asked.append(request.url))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: self.errors.append(dialog.message))
        # Choosers reach the driver only while somebody listens. It does not wait until the browser knows: a key that is
        # pressed in a test's own `expect_file_chooser` may come first, and nothing opens.
        page.on("filechooser", lambda _: None)
        page.goto(address)
        page.wait_for_function("() => ready", timeout=120_000)

    def choose(self, *files: Path) -> None:
        """Files, or one folder, as a person chooses them."""
        folder = len(files) == 1 and files[0].is_dir()
        self.page.set_input_files("#folder" if folder else "#files", files[0] if folder else list(files))

    def answers(self, *files: Path) -> Answers:
        """What the page says in the end, by names of certificates."""
        self.page.evaluate("() => { entries = []; at('results').hidden = true; }")
        self.choose(*files)
        self.page.wait_for_function(
            "() => !at('results').hidden && !entries.some((e) => ['waiting', 'checking'].includes(e.state))",
            timeout=120_000,
        )
        found = self.page.evaluate("() => entries.map((e) => ({...e, item: e.item.innerText}))")
        return {answer["name"]: answer for answer in found}

    def states(self, *files: Path) -> dict[str, str]:
        return {name: answer["state"] for name, answer in self.answers(*files).items()}

    @property
    def problems(self) -> str:
        return "\n".join(self.page.locator(".problem:visible").all_inner_texts())


@pytest.fixture(scope="module")
def built(
    tool: Callable[[str], ModuleType], from_npm: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The page, written."""
    from_npm("pyodide")
    folder = tmp_path_factory.mktemp("page")
    tool("pages.referee_page").write(folder)
    return folder


@pytest.fixture(scope="module")
def shared(built: Path, chromium: Browser, tool: Callable[[str], ModuleType]) -> Iterator[Window]:
    with tool("browser").served(built) as address:
        context = chromium.new_context()
        yield Window(context.new_page(), address)
        context.close()


@pytest.fixture
def window(shared: Window) -> Iterator[Window]:
    """The page; whatever a test does, it asks no other site and complains about nothing."""
    shared.page.fill("#seconds", "60")
    yield shared
    assert [url for url in shared.asked if not url.startswith((shared.address, f"blob:{shared.address}"))] == []
    assert shared.errors == []


def zipped(path: Path, members: dict[Any, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content, zipfile.ZIP_DEFLATED)
    return path


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    """A folder with two certificates and arrays."""
    folder = tmp_path / "paper"
    (folder / "data").mkdir(parents=True)
    shutil.copy(GALLERY / SMOKE[1], folder / "means.yaml")
    shutil.copy(GALLERY / SMOKE[3], folder / "margin.yaml")
    shutil.copy(GALLERY / ARRAYS, folder / "data")
    return folder


@pytest.fixture
def bundle(paper: Path) -> Path:
    """The same as an archive, made by `certattn bundle`."""
    made = CliRunner().invoke(cli, ["bundle", str(paper), "-o", str(paper.parent / "paper.zip")])
    assert made.exit_code == 0, made.output
    return paper.parent / "paper.zip"


# -- verdicts


def test_certificates_of_every_chapter_are_verified(window: Window, tmp_path: Path) -> None:
    for name in SMOKE:
        (tmp_path / "gallery" / name).parent.mkdir(parents=True)
        shutil.copy(GALLERY / name, tmp_path / "gallery" / name)
    (tmp_path / "gallery" / ARRAYS).parent.mkdir()
    for name in (ARRAYS, TABLE):
        shutil.copy(GALLERY / name, tmp_path / "gallery" / name)
    found = window.answers(tmp_path / "gallery")
    assert {name: answer["state"] for name, answer in found.items()} == dict.fromkeys(
        (f"gallery/{name}" for name in SMOKE), "verified"
    )
    for name, answer in found.items():
        assert answer["digest"] == certattn.load(tmp_path / name).digest
        assert answer["digest"] in answer["item"]
        assert f"States {answer['claim']}: " in answer["item"]
    assert window.page.inner_text("#counts") == f"{len(SMOKE)} certificates: {len(SMOKE)} verified"


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (SMOKE[3], "at_least: 1.00498756211208", "at_least: 1.1"),
        (SMOKE[3], "[-10/101, 100/101]", "[-10/101, 101/101]"),
        (SMOKE[4], "value: 0.75", "value: 0.7500001"),
    ],
)
def test_a_false_one_is_refused(window: Window, tmp_path: Path, name: str, old: str, new: str) -> None:
    text = (GALLERY / name).read_text()
    assert old in text
    (tmp_path / "false.yaml").write_text(text.replace(old, new, 1))
    (tmp_path / "true.yaml").write_text(text)
    assert window.states(tmp_path / "false.yaml", tmp_path / "true.yaml") == {
        "false.yaml": "not proved",
        "true.yaml": "verified",
    }


def test_what_is_no_certificate_is_rejected(window: Window, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("certattn: 1\nclaim: no-such-claim\ngiven: {}\nasserts: {}\n")
    (tmp_path / "b.yaml").write_bytes(b"\xff\x00")
    assert window.states(tmp_path / "a.yaml", tmp_path / "b.yaml") == {"a.yaml": "rejected", "b.yaml": "rejected"}


def test_a_claim_without_a_second_method_is_not_covered(window: Window) -> None:
    found = window.answers(next((GALLERY / "selection/selection-counterexample").glob("*.yaml")))
    (answer,) = found.values()
    assert answer["state"] == "not covered"
    assert "says nothing against it" in answer["item"]
    assert len(answer["digest"]) == 64


def test_the_last_files_count(window: Window, tmp_path: Path) -> None:
    """Of two choices at once, with certificates of one name, no answer about the first is taken for the second."""
    text = (GALLERY / SMOKE[3]).read_text()
    for folder, content in (("true", text), ("false", text.replace("at_least: 1.00498756211208", "at_least: 1.1"))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.yaml").write_text(content)
    window.page.evaluate("() => { entries = []; at('results').hidden = true; }")
    window.choose(tmp_path / "true" / "a.yaml")
    assert window.states(tmp_path / "false" / "a.yaml") == {"a.yaml": "not proved"}
    window.choose(tmp_path / "false" / "a.yaml")
    assert window.states(tmp_path / "true" / "a.yaml") == {"a.yaml": "verified"}


# -- array files


def test_array_files_are_asked_for_and_found_by_their_hash(window: Window, paper: Path, tmp_path: Path) -> None:
    assert window.states(paper / "means.yaml") == {"means.yaml": "missing"}
    assert "data/gaussian-prompt.npz" in window.page.inner_text("#certificates")
    renamed = tmp_path / "renamed.npz"
    shutil.copy(GALLERY / ARRAYS, renamed)
    assert window.states(paper / "means.yaml", renamed) == {"means.yaml": "verified"}


def test_other_arrays_are_refused(window: Window, paper: Path) -> None:
    path = paper / "data" / "gaussian-prompt.npz"
    arrays = dict(np.load(path))
    arrays["tokens"][0, 0] += 1
    np.savez(path, **arrays)
    assert window.states(paper) == {"paper/margin.yaml": "verified", "paper/means.yaml": "rejected"}


# -- archives


def test_a_bundle_of_several(window: Window, bundle: Path) -> None:
    found = window.answers(bundle)
    inside = "paper.zip/certificates/"
    assert {name: answer["state"] for name, answer in found.items()} == dict.fromkeys(
        (f"{inside}margin.yaml", f"{inside}means.yaml"), "verified"
    )
    assert "names the same digest" in found[f"{inside}margin.yaml"]["item"]
    assert window.problems == ""


def test_a_promise_that_is_not_kept(window: Window, bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    text = members["certificates/margin.yaml"].replace(b"1.00498756211208", b"1.0049875621120")
    del members["certificates/means.yaml"]
    zipped(bundle, {**members, "certificates/margin.yaml": text, "certificates/new.yaml": text})
    found = window.answers(bundle)
    assert "promises another statement" in found["paper.zip/certificates/margin.yaml"]["item"]
    assert "does not promise this certificate" in found["paper.zip/certificates/new.yaml"]["item"]
    assert "promises certificates/means.yaml, which is not in the archive" in window.problems


def test_arrays_may_lie_elsewhere_in_an_archive_and_nowhere_else(window: Window, tmp_path: Path) -> None:
    text = (GALLERY / SMOKE[1]).read_bytes().replace(b"file: data/", b"file: ../data/")
    members = {"proofs/a.yaml": text, "data/gaussian-prompt.npz": (GALLERY / ARRAYS).read_bytes()}
    assert window.states(zipped(tmp_path / "a.zip", members)) == {"a.zip/proofs/a.yaml": "verified"}
    members["proofs/a.yaml"] = text.replace(b"file: ../data/", b"file: ../../files/")
    other = tmp_path / "gaussian-prompt.npz"
    other.write_bytes(members["data/gaussian-prompt.npz"])
    assert set(window.states(zipped(tmp_path / "a.zip", members), other).values()) == {"rejected"}


def link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("link.yaml")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"../up.yaml": b"x"}, "paths that lead down"),
        ({"/root.yaml": b"x"}, "paths that lead down"),
        ({"A.yaml": b"x", "a.yaml": b"x"}, "no two names for one place"),
        ({link(): b"/etc/passwd"}, "a link or no file"),
        ({f"{i}.npz": bytes(2**25) for i in range(4)}, "at most 100 times its size"),
        ({}, "an empty archive"),
    ],
    ids=["upwards", "absolute", "two names", "a link", "a bomb", "nothing"],
)
def test_a_hostile_archive_is_refused_whole(
    window: Window, tmp_path: Path, members: dict[Any, bytes], said: str
) -> None:
    good = (GALLERY / SMOKE[3]).read_bytes()
    assert window.answers(zipped(tmp_path / "bad.zip", {**members, **({"good.yaml": good} if members else {})})) == {}
    assert said in window.problems


def test_a_damaged_archive_is_refused_whole(window: Window, bundle: Path) -> None:
    data = bytearray(bundle.read_bytes())
    data[data.index(b"certattn: 1") + 20] ^= 1
    bundle.write_bytes(data)
    assert window.answers(bundle) == {}
    assert "broken" in window.problems
    bundle.write_bytes(b"PK no archive")
    assert window.answers(bundle) == {}


# -- what strangers write


def test_what_files_say_is_text(window: Window, tmp_path: Path) -> None:
    text = (GALLERY / SMOKE[3]).read_text()
    (tmp_path / f"{HOSTILE}.yaml").write_text(text.replace("note: the", f"note: {HOSTILE} the"))
    (tmp_path / "b.yaml").write_text(text.replace("claim: max-margin", f"claim: '{HOSTILE}'"))
    found = window.answers(tmp_path / f"{HOSTILE}.yaml", tmp_path / "b.yaml")
    assert found[f"{HOSTILE}.yaml"]["state"] == "verified"
    assert window.page.locator("#results img, #results script").count() == 0
    assert HOSTILE in window.page.inner_text("#certificates")


def test_no_other_site_can_be_asked(window: Window, built: Path, tool: Callable[[str], ModuleType]) -> None:
    with tool("browser").served(built) as elsewhere:
        asking = f"fetch('{elsewhere}index.html').then(() => 'asked', () => 'refused')"
        assert window.page.evaluate(f"() => {asking}") == "refused"
        in_worker = """(code) => new Promise((told) => {
          const url = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
          new Worker(url, {type: "module"}).onmessage = (event) => told(event.data);
        })"""
        assert window.page.evaluate(in_worker, f"{asking}.then(postMessage)") == "refused"
    assert all("Content Security Policy" in error or "CSP" in error for error in window.errors), window.errors
    window.errors.clear()
    window.asked[:] = [url for url in window.asked if not url.startswith(elsewhere)]


# -- time, keyboard, and where the page cannot work


def test_one_that_takes_too_long_does_not_hold_up_the_others(window: Window, tmp_path: Path) -> None:
    folder = tmp_path / "both"
    shutil.copytree(GALLERY / SLOW.rpartition("/")[0] / "data", folder / "data")
    shutil.copy(GALLERY / SLOW, folder / "a.yaml")
    shutil.copy(GALLERY / SMOKE[3], folder / "b.yaml")
    window.page.fill("#seconds", "2")
    assert window.states(folder) == {"both/a.yaml": "late", "both/b.yaml": "verified"}


def test_stop(window: Window, tmp_path: Path) -> None:
    folder = tmp_path / "both"
    shutil.copytree(GALLERY / SLOW.rpartition("/")[0] / "data", folder / "data")
    shutil.copy(GALLERY / SLOW, folder / "a.yaml")
    window.page.evaluate("() => { at('results').hidden = true; }")
    window.choose(folder)
    window.page.get_by_role("button", name="Stop").click(timeout=60_000)
    assert "1 stopped" in window.page.inner_text("#counts")
    assert window.states(GALLERY / SMOKE[3]) == {"single-input.yaml": "verified"}


def test_everything_is_reached_by_the_keyboard(window: Window) -> None:
    window.page.evaluate("() => { document.activeElement.blur(); at('certificates').replaceChildren(); }")
    window.page.locator("a").first.focus()
    reached = []
    for _ in range(4):
        window.page.keyboard.press("Tab")
        reached.append(window.page.evaluate("() => document.activeElement.id"))
    assert reached == ["files", "folder", "example", "seconds"]
    window.page.locator("#files").focus()
    with window.page.expect_file_chooser() as chooser:
        window.page.keyboard.press("Enter")
    chooser.value.set_files(GALLERY / SMOKE[3])
    window.page.wait_for_selector("#certificates > li.verified", timeout=120_000)


def test_dropped_files(window: Window) -> None:
    window.page.evaluate("() => { at('results').hidden = true; at('certificates').replaceChildren(); }")
    window.page.evaluate(
        """(text) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([text], "dropped.yaml"));
          at("drop").dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true, cancelable: true}));
        }""",
        (GALLERY / SMOKE[3]).read_text(),
    )
    window.page.wait_for_selector("#certificates > li.verified", timeout=120_000)
    assert "dropped.yaml" in window.page.inner_text("#certificates")


def test_files_that_are_none_are_said_at_once(window: Window, tmp_path: Path) -> None:
    (tmp_path / "notes.pdf").write_bytes(b"%PDF")
    window.choose(tmp_path / "notes.pdf")
    assert "No certificates among this file" in window.page.inner_text("#problem")


@pytest.mark.parametrize("width", [390, 500])
def test_nothing_is_wider_than_a_narrow_window(window: Window, bundle: Path, width: int) -> None:
    window.page.set_viewport_size({"width": width, "height": 800})
    window.answers(bundle)
    for summary in window.page.locator("summary").all():
        summary.click()
    assert window.page.evaluate("() => document.documentElement.scrollWidth") <= width
    window.page.set_viewport_size({"width": 1366, "height": 768})


def test_opened_from_a_disk_it_says_what_to_do(built: Path, chromium: Browser) -> None:
    page = chromium.new_page()
    page.goto((built / "index.html").as_uri())
    assert "python3 -m http.server" in page.inner_text("#problem")
    page.close()


# -- how it is written


def test_without_pyodide_a_page_says_so(
    tool: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tool("pages.referee_page")

    def unavailable(*_: object) -> None:
        raise module.UnavailableError("pyodide: npm is not installed")

    monkeypatch.setattr(module, "unpacked", unavailable)
    assert "npm is not installed" in module.write_or_say(tmp_path / "referee")
    assert [file.name for file in (tmp_path / "referee").iterdir()] == ["index.html"]
    assert "Pyodide could not be had" in (tmp_path / "referee" / "index.html").read_text()
    assert module.main([str(tmp_path)]) == 1


def test_the_page_says_how_long_the_second_checker_is(built: Path) -> None:
    lines = sum(len(p.read_text().splitlines()) for p in (GALLERY.parent / "tools" / "recheck").rglob("*.py"))
    (said,) = re.findall(r"\(([0-9,]+) lines of Python", (built / "index.html").read_text())
    assert abs(int(said.replace(",", "")) - lines) <= 50
    assert "@" not in re.sub(r"<[^>]*>", "", (built / "index.html").read_text())
