"""The HTML page: what it says, that nothing in it is a stranger's markup, and that it loads nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from certattn.kernel.decide.proof import Verdict
from certattn.report.page.content import FEW, Content
from certattn.report.page.entry import Entry
from certattn.report.page.html import article, as_html

from .conftest import HOSTILE, obligation

Make = Callable[..., Entry]
PICTURE = """<?xml version="1.0"?><!DOCTYPE svg>
<svg xmlns:xlink="http://www.w3.org/1999/xlink" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10">
 <script>alert(1)</script><g id="a"><path d="M 0 0 L 1 0.001 L 2 0" style="fill: none; stroke: #1f4e79" onclick="x()"/>
 <use xlink:href="https://example.org/#x" style="background: url(https://example.org)"/>
 <image xlink:href="https://example.org/x.png"/><foreignObject><b>no</b></foreignObject></g></svg>"""


def content(folder: Path, *entries: Entry, **options: Any) -> Content:
    return Content(entries, folder, "today", **options)


def test_it_says_verdict_statement_margins_base_time_digest_and_file(tmp_path: Path, entry: Make, page: Any) -> None:
    found = entry(
        "runs/a b.yaml",
        digest="d" * 64,
        statement="T is near T_inf: |T - T_inf| <= 1.",
        findings=("the worst query is 7, at [0.75 +/- 1e-9]",),
        obligations=(obligation("bound", "[0.75 +/- 1e-9]", "<=", "1"),),
        counts={"proved": 1},
        nanoseconds={"total": 2_000_000_000},
        provenance={"note": "of yesterday"},
    )
    read = page(as_html(content(tmp_path, found)))
    for said in (
        "1 of 1 certificates verified",
        "T is near",
        "the worst query is 7, at between 0.749999 and 0.750001",
        "bound in words",
        "at most 0.750001 ≤ 1",
        "24 %",
        "1 of 1 obligations proved",
        "Arb, 64 bits",
        "2.00 s",
        "d" * 64,
        "of yesterday",
    ):
        assert said in read.text
    assert {"href": "runs/a%20b.yaml"} in read.named("a")
    assert read.named("math")


def test_what_is_not_verified_says_why_and_stands_before_what_is(tmp_path: Path, entry: Make, page: Any) -> None:
    found = [entry("a.yaml"), entry("b.yaml", Verdict.REFUTED, reason="2 <= 1 is false")]
    text = as_html(content(tmp_path, *found))
    assert "2 &lt;= 1 is false" in text
    assert text.index('id="row-c1"') < text.index('id="row-c0"')
    assert "1 of 2 certificates verified" in page(text).text


def test_texts_of_strangers_are_no_markup(tmp_path: Path, entry: Make, page: Any) -> None:
    found = entry(
        "x" + HOSTILE.replace("/", ""),
        Verdict.REJECTED,
        claim=HOSTILE,
        statement=HOSTILE,
        reason=HOSTILE,
        findings=(HOSTILE,),
        arithmetic=HOSTILE,
        digest=HOSTILE,
        provenance={HOSTILE: HOSTILE, "place": "layer 1 head 2"},
        figures={HOSTILE: "1"},
        obligations=(obligation(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE),),
        without_picture=HOSTILE,
    )
    other = entry("layer0-head1.yaml", claim=HOSTILE, figures={HOSTILE: "2"})
    text = as_html(content(tmp_path, found, other, source=HOSTILE, missing=(HOSTILE,)))
    read = page(text)
    assert len(read.named("script")) == 1
    assert not read.named("img")
    assert not [attributes for _, attributes in read.elements if any(key.startswith("on") for key in attributes)]
    assert not [a for a in read.named("a") if ":" in a["href"]]
    assert "alert(2)" in read.text
    assert "\u202e" not in text


@pytest.mark.parametrize(
    "name", ["javascript:alert(1).yaml", "//example.org/a.yaml", "data:text,a.yaml", "\udcff.yaml"]
)
def test_a_name_is_never_another_address(tmp_path: Path, entry: Make, page: Any, name: str) -> None:
    read = page(as_html(content(tmp_path, entry(name))))
    (link,) = [a["href"] for a in read.named("a") if not a["href"].startswith("#")]
    assert re.fullmatch(r"[\w./%-]+", link)
    assert not link.startswith("//")


def test_it_loads_nothing(tmp_path: Path, entry: Make, page: Any) -> None:
    read = page(as_html(content(tmp_path, entry(picture=PICTURE))))
    for _, attributes in read.elements:
        for key in ("src", "href", "xlink:href", "action", "style"):
            assert not re.match(r"(?i)\s*(https?:|//|javascript:)", attributes.get(key, "")), attributes
    (policy,) = [meta["content"] for meta in read.named("meta") if "http-equiv" in meta]
    assert "default-src 'none'" in policy
    assert "http" not in as_html(content(tmp_path, entry(picture=PICTURE))).replace("http-equiv", "")


def test_a_picture_is_made_of_known_elements(tmp_path: Path, entry: Make, page: Any) -> None:
    read = page(as_html(content(tmp_path, entry(picture=PICTURE))))
    assert not read.named("foreignobject")
    assert len(read.named("script")) == 1
    assert {"d": "M0 0 2 0", "class": "s0"} in read.named("path")
    assert read.named("image") == [{}]


@pytest.mark.parametrize("picture", ["<svg", "<p>no</p>", '<!DOCTYPE svg [<!ENTITY a "b">]><svg>&a;</svg>'])
def test_what_is_no_picture_is_left_out(tmp_path: Path, entry: Make, page: Any, picture: str) -> None:
    assert not page(as_html(content(tmp_path, entry(picture=picture)))).named("figure")


def test_reports_of_others_are_said_to_be(tmp_path: Path, entry: Make, page: Any) -> None:
    read = page(as_html(content(tmp_path, entry(checked=False), source="reports.json")))
    assert "Nothing was checked by this run" in read.text
    assert "verified, as reported" in read.text
    assert "This run did not check this certificate" in read.text


def test_many_obligations_are_there_when_asked_for(tmp_path: Path, entry: Make, page: Any) -> None:
    many = tuple(obligation(f"bound[{i}]", f"[0.{i}5 +/- 1e-9]", "<=", "1") for i in range(9))
    read = page(as_html(content(tmp_path, entry(obligations=many))))
    assert f"{9 - FEW} more" in read.text
    assert read.text.index("bound[8]") < read.text.index("bound[7]") < read.text.index("bound[0]")


def test_a_part_for_a_notebook_has_its_styles_and_no_script(tmp_path: Path, entry: Make, page: Any) -> None:
    (shown,) = content(tmp_path, entry(provenance={"note": HOSTILE})).shown
    read = page(article(shown))
    assert read.named("style")
    assert not read.named("script")
    assert "T is near." in read.text
