"""What every format prints: exact texts, and nothing that breaks a terminal, a log or a program."""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gradlint import __version__
from gradlint.engine import Result
from gradlint.model import Confidence, Edit, Finding, Fix, Related, Severity, Span
from gradlint.output import Progress, is_terminal, wants_colour, write, write_file
from gradlint.report import Look, formats, renderer
from gradlint.report._statistics import statistics
from gradlint.report.full import summary

MODEL = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

        self.layer1 = nn.Linear(10, 20)

    def forward(self, x):
        x = self.layer1(x)
        with torch.no_grad():
            x = self.layer3(x)
        return x
"""

FINDING = Finding(
    code="GL301",
    rule="no-grad-cuts-output",
    severity=Severity.ERROR,
    confidence=Confidence.HIGH,
    path="model.py",
    span=Span(14, 13, 14, 31),
    message="`self.layer3` runs under no_grad: no parameter of `Model` can train",
    why="forward returns only this value, so layer1 and layer3 get no gradient",
    help="to freeze layer1: self.layer1.requires_grad_(False)",
    symbol="Model.forward",
    label="the returned value has no grad_fn",
    parameters=("layer1", "layer3"),
    related=(
        Related("model.py", Span(9, 9, 9, 20), "trainable parameters start here"),
        Related("model.py", Span(13, 14, 13, 29), "gradient recording stops here"),
    ),
    fingerprint="abc",
)


def result(*findings: Finding, source: str = MODEL, files: int = 1) -> Result:
    sources = {(finding.path, finding.cell): source for finding in findings}
    return Result(findings, files=files, sources=sources)


def render(name: str, found: Result, look: Look | None = None) -> list[str]:
    return list(renderer(name)(found, look or Look(summary=False)))


def excerpt(
    source: str, span: Span, label: str = "", related: tuple[Related, ...] = ()
) -> list[str]:
    """The lines of source and underlines that `full` shows for one finding."""
    found = replace(FINDING, span=span, label=label, related=related, why="", help="")
    lines = render("full", result(found, source=source))
    assert lines[-1] == ""
    return lines[1:-1]


def test_formats_are_found() -> None:
    assert {"full", "concise", "json", "github"} <= set(formats())
    for name in formats():
        assert render(name, Result()) == render(name, Result()), "renders a result without findings"


# ------------------------------------------------------------------------------------ full


def test_full() -> None:
    assert (
        "\n".join(render("full", result(FINDING)))
        == """\
model.py:14:13: error[GL301] `self.layer3` runs under no_grad: no parameter of `Model` can train
    9 |         self.layer1 = nn.Linear(10, 20)
      |         ----------- trainable parameters start here
   13 |         with torch.no_grad():
      |              --------------- gradient recording stops here
   14 |             x = self.layer3(x)
      |             ^^^^^^^^^^^^^^^^^^ the returned value has no grad_fn
  why: forward returns only this value, so layer1 and layer3 get no gradient
  fix: to freeze layer1: self.layer1.requires_grad_(False)
"""
    )


def test_advice_of_several_lines_is_aligned() -> None:
    found = replace(FINDING, help="write\ny = x.detach()\n")
    assert render("full", result(found))[-3:] == ["  fix: write", "       y = x.detach()", ""]


def test_colour() -> None:
    lines = render("full", result(FINDING), Look(colour=True))
    assert lines[0].startswith("\x1b[1mmodel.py:14:13:\x1b[0m \x1b[1;31merror[GL301]\x1b[0m `self")
    assert any("\x1b[1;31m^^^^^^^^^^^^^^^^^^ the returned" in line for line in lines)
    uncoloured = [line for line in render("full", result(FINDING), Look()) if "\x1b" in line]
    assert uncoloured == []


def test_far_lines_are_parted() -> None:
    lines = [f"line{number}" for number in range(1, 40)]
    notes = (
        Related("model.py", Span(1, 1, 1, 6), "a"),
        Related("model.py", Span(11, 1, 11, 7), "b"),
    )
    assert excerpt("\n".join(lines), Span(22, 1, 22, 3), "c", notes) == [
        "    1 | line1",
        "      | ----- a",
        "   11 | line11",
        "      | ------ b",
        "  ...",
        "   22 | line22",
        "      | ^^ c",
    ]


def test_marks_on_one_line_and_on_the_same_place() -> None:
    notes = (
        Related("model.py", Span(1, 1, 1, 2), "left"),
        Related("model.py", Span(1, 5, 1, 6), ""),
    )
    assert excerpt("a = b + c", Span(1, 5, 1, 10), "right", notes) == [
        "    1 | a = b + c",
        "      | - left",
        "      |     ^^^^^ right",
        "      |     -",
    ]


def test_spans_of_several_lines() -> None:
    source = "x = f(\n    a,\n\n    b,\n)\ny"
    assert excerpt(source, Span(1, 5, 5, 2), "this") == [
        "    1 | x = f(",
        "      |     ^^",
        "  ...",
        "    5 | )",
        "      | ^ this",
    ]
    assert excerpt(source, Span(1, 5, 3, 1), "this") == [
        "    1 | x = f(",
        "      |     ^^",
        "    2 |     a,",
        "      |     ^^ this",
    ]
    assert excerpt(source, Span(2, 5, 4, 7), "this") == [
        "    2 |     a,",
        "      |     ^^",
        "    3 |",
        "    4 |     b,",
        "      |     ^^ this",
    ]


def test_tabs_wide_and_combining_characters_are_aligned() -> None:
    assert excerpt("\tx = '日本' + y", Span(1, 13, 1, 14), "here") == [
        "    1 |     x = '日本' + y",
        "      |                  ^ here",
    ]
    assert excerpt("ab\tc\u0301 = y", Span(1, 9, 1, 10), "here") == [
        "    1 | ab  c\u0301 = y",
        "      |         ^ here",
    ]
    assert excerpt("x = '日本'", Span(1, 6, 1, 8)) == ["    1 | x = '日本'", "      |      ^^^^"]


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert excerpt("'\x1b[2J\u202e\u2028' + y", Span(1, 12, 1, 13)) == [
        "    1 | '?[2J?' + y",
        "      |           ^",
    ]
    found = replace(FINDING, path="a\nb\x1b.py", message="x\x1b[2J", why="", help="", related=())
    for name in ("full", "concise"):
        text = "\n".join(render(name, result(found)))
        assert "\x1b" not in text and text.startswith("a?b?.py:14:13: ") and "x?[2J" in text


@pytest.mark.parametrize(
    ("start", "shown", "marked"),
    [
        (1, "0123456789" * 10 + "...", 0),
        (151, "..." + "1" + "23456789" + "0123456789" * 9 + "0" + "...", 23),
        (295, "..." + "0123456789" * 10, 97),
    ],
)
def test_long_lines_are_clipped_around_the_mark(start: int, shown: str, marked: int) -> None:
    source = "0123456789" * 30
    lines = excerpt(source, Span(1, start, 1, start + 3), "x")
    assert lines[1] == "      | " + " " * marked + "^^^ x"
    assert len(lines[0]) <= 8 + 106
    text = lines[0][8:]
    assert text[marked : marked + 3] == source[start - 1 : start + 2]
    assert text.startswith("...") is (start > 1) and text.endswith("...") is (start < 200)
    assert len(text) == len(shown)


def test_a_mark_that_is_clipped_off_stays_at_the_edge() -> None:
    notes = (Related("model.py", Span(1, 290, 1, 295), "far"),)
    lines = excerpt("0123456789" * 30, Span(1, 1, 1, 4), "near", notes)
    assert lines[2] == "      | " + " " * 100 + "- far"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end: str) -> None:
    assert excerpt(f"a{end}bc{end}d", Span(2, 1, 2, 3)) == ["    2 | bc", "      | ^^"]


def test_form_feeds_and_the_like_end_no_line() -> None:
    assert excerpt("a\x0cb\x85\u2028\nc = d", Span(2, 1, 2, 2))[0] == "    2 | c = d"


def test_places_outside_the_source_are_left_out() -> None:
    assert excerpt("a", Span(7, 1, 7, 3)) == []
    assert excerpt("", Span(1, 1, 1, 2)) == ["    1 |", "      | ^"]
    assert excerpt("ab", Span(1, 2, 3, 9)) == ["    1 | ab", "      |  ^"]


def test_large_line_numbers_widen_the_gutter() -> None:
    assert excerpt("\n" * 12344 + "abc", Span(12345, 1, 12345, 4)) == [
        "  12345 | abc",
        "        | ^^^",
    ]


def test_places_in_another_file() -> None:
    found = replace(
        FINDING, why="", help="", related=(Related("layers.py", Span(2, 1, 2, 4), "made here"),)
    )
    one = Result((found,), sources={("model.py", None): MODEL, ("layers.py", None): "a\nbcd\n"})
    assert render("full", one)[3:] == [
        "  --> layers.py:2:1",
        "    2 | bcd",
        "      | --- made here",
        "",
    ]
    assert render("full", result(found))[3:] == ["  --> layers.py:2:1: made here", ""]


def test_cells_of_notebooks() -> None:
    found = replace(FINDING, path="a.ipynb", cell=2)
    assert render("concise", result(found)) == [f"a.ipynb:cell 2:14:13: GL301 {FINDING.message}"]
    assert "::cell 2: `self" in render("github", result(found))[0]
    assert "   14 |             x = self.layer3(x)" in render("full", result(found))


@pytest.mark.parametrize(
    ("severities", "files", "paths", "expected"),
    [
        ("", 12, 0, "All clear: 12 files checked."),
        ("", 1, 0, "All clear: 1 file checked."),
        ("e", 1, 1, "Found 1 error in 1 file (1 checked)."),
        ("ww", 2, 2, "Found 2 warnings in 2 files (2 checked)."),
        ("eeew", 12, 2, "Found 3 errors and 1 warning in 2 files (12 checked)."),
    ],
)
def test_summary(severities: str, files: int, paths: int, expected: str) -> None:
    found = [
        replace(
            FINDING,
            severity=Severity.ERROR if letter == "e" else Severity.WARNING,
            path=f"{index % paths}.py",
        )
        for index, letter in enumerate(severities)
    ]
    one = result(*found, files=files)
    assert render("full", one, Look())[-1] == summary(one) == expected


def test_a_crash_is_not_all_clear() -> None:
    assert summary(Result(problems=("x",), files=2)) == (
        "Found nothing, but the check is incomplete (2 files checked)."
    )


# ---------------------------------------------------------------------------- other formats


def test_concise() -> None:
    warning = replace(FINDING, code="GL101", severity=Severity.WARNING, span=Span(2, 1, 2, 2))
    assert render("concise", result(warning, FINDING), Look()) == [
        f"model.py:2:1: GL101 {FINDING.message}",
        f"model.py:14:13: GL301 {FINDING.message}",
    ]


def test_json_is_the_contract() -> None:
    fix = Fix(False, "drop it", (Edit(Span(14, 9, 14, 20), "x\n"),))
    other = replace(FINDING, code="GL101", severity=Severity.WARNING, fix=fix, cell=3, url="u")
    text = "\n".join(render("json", result(FINDING, other, files=3)))
    expected = {
        "code": "GL301",
        "rule": "no-grad-cuts-output",
        "severity": "error",
        "confidence": "high",
        "path": "model.py",
        "line": 14,
        "column": 13,
        "end_line": 14,
        "end_column": 31,
        "cell": None,
        "symbol": "Model.forward",
        "message": FINDING.message,
        "why": FINDING.why,
        "help": FINDING.help,
        "parameters": ["layer1", "layer3"],
        "related": [
            {"path": "model.py", "line": 9, "column": 9, "message": FINDING.related[0].message},
            {"path": "model.py", "line": 13, "column": 14, "message": FINDING.related[1].message},
        ],
        "fix": None,
        "fingerprint": "abc",
        "verdict": None,
        "url": None,
    }
    fixed = {
        "applicability": "unsafe",
        "message": "drop it",
        "edits": [{"line": 14, "column": 9, "end_line": 14, "end_column": 20, "content": "x\n"}],
    }
    document = json.loads(text)
    assert document == {
        "version": 1,
        "tool": {"name": "gradlint", "version": __version__},
        "findings": [
            expected,
            {
                **expected,
                "code": "GL101",
                "severity": "warning",
                "fix": fixed,
                "cell": 3,
                "url": "u",
            },
        ],
        "summary": {"files": 3, "findings": 2, "errors": 1, "warnings": 1, "fixable": 1},
    }
    assert list(document["findings"][0]) == list(expected), "the order of the contract"


def test_json_knows_safe_fixes_and_strange_paths() -> None:
    found = replace(FINDING, fix=Fix(True, "m", ()), path="\udcff\u65e5.py")
    text = "\n".join(render("json", result(found)))
    assert text.isascii()
    (read,) = json.loads(text)["findings"]
    assert read["fix"]["applicability"] == "safe" and read["path"] == "\udcff\u65e5.py"


def test_github() -> None:
    found = replace(
        FINDING, path="a,b:c%.py", message="100% of `x`\r", why="A.\nB.", help="do, it: so"
    )
    assert render("github", result(found)) == [
        "::error file=a%2Cb%3Ac%25.py,line=14,col=13,endLine=14,title=GL301 no-grad-cuts-output"
        "::100%25 of `x`%0D%0AA.%0AB.%0Afix: do, it: so"
    ]
    warning = replace(found, severity=Severity.WARNING, why="", help="", message="m")
    assert render("github", result(warning))[0].startswith("::warning file=")
    assert render("github", result(warning))[0].endswith("::m")


def test_statistics() -> None:
    found = [FINDING] * 10 + [replace(FINDING, code="GL101", rule="data-read")] * 2
    assert list(statistics(result(*found))) == [
        "10 GL301 no-grad-cuts-output",
        " 2 GL101 data-read",
    ]
    assert list(statistics(Result())) == []


# ------------------------------------------------------------------------------------ output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "on_terminal", "piped"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({"CLICOLOR": "0"}, False, False),
        ({"CLICOLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"CLICOLOR_FORCE": "1"}, True, True),
    ],
)
def test_colour_is_for_terminals(environ: dict[str, str], on_terminal: bool, piped: bool) -> None:
    assert wants_colour(Terminal(), environ) is on_terminal
    assert wants_colour(io.StringIO(), environ) is piped


def test_a_closed_stream_is_no_terminal() -> None:
    stream = io.StringIO()
    stream.close()
    assert not is_terminal(stream)


def test_what_the_encoding_lacks_is_escaped() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="latin-1", newline="")
    write(["é日\udcff"], stream)
    assert raw.getvalue() == b"\xe9\\u65e5\\udcff\n"


def test_standard_output_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    write(["a", "b"])
    assert capsys.readouterr().out == "a\nb\n"


def test_no_standard_output_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    read = []
    write(read.append(line) or line for line in ["a"])  # type: ignore[func-returns-value]
    assert read == []


@pytest.mark.skipif(sys.platform == "win32", reason="pipes close in another way")
def test_a_closed_pipe_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        write(["x" * 100_000], stream)
        write(["more"], stream)


def test_files_are_utf8(tmp_path: Path) -> None:
    write_file(["日\udcff", "b"], tmp_path / "report")
    assert (tmp_path / "report").read_bytes() == "日\\udcff\nb\n".encode()


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("gradlint.output.time.monotonic", lambda: now)
    stream = Terminal()
    with Progress(20, stream, shown=True) as progress:
        now = 100.9
        progress(3)
        assert stream.getvalue() == ""
        now = 101.0
        progress(4)
        now = 101.01
        progress(5)
        assert stream.getvalue() == "\r4/20 files checked"
        now = 101.2
        progress(12)
    assert stream.getvalue() == "\r4/20 files checked\r12/20 files checked\r" + " " * 19 + "\r"


def test_progress_that_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("gradlint.output.time.monotonic", lambda: now)
    stream = Terminal()
    with Progress(20, stream, shown=False) as progress:
        now = 200.0
        progress(3)
    assert stream.getvalue() == ""
