"""The kept findings of real packages are well-formed and reviewed, and the program that keeps them
loses no review. Nothing here is downloaded; `make ecosystem` does that.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pytest

from ecosystem import Stopped
from ecosystem.__main__ import HERE, main
from ecosystem.found import Found, lint
from ecosystem.kept import DATA, FINDINGS, OPEN, DataUses, Mark, Review, Reviewed, data_uses
from ecosystem.marks import reviewed
from ecosystem.packages import Package, fetch, pinned, unpack

RIGHT = Review(Mark.RIGHT, "a | reason: `with` signs")
WRONG = Review(Mark.WRONG, "a teacher")
TEXTS = {file.name: (HERE / file.name).read_text("utf-8") for file in (FINDINGS, DATA)}


def found(line: int, text: str = "self.enc(x)", code: str = "GL301", symbol: str = "M.f") -> Found:
    return Found("pkg/model.py", line, code, symbol, text)


def enough_are_right(lines: Iterable[Reviewed]) -> bool:
    """Whether of ten findings about detach and no_grad that were reviewed nine are right."""
    ours = [line.review.mark for line in lines if line.found.code.startswith(("GL2", "GL3"))]
    right, wrong = ours.count(Mark.RIGHT), ours.count(Mark.WRONG)
    return right >= 9 * wrong


# ------------------------------------------------------------------------------ the kept files


def test_the_kept_files_are_as_the_program_writes_them() -> None:
    """So they can be read, are sorted, and each line has its mark."""
    findings, data = TEXTS[FINDINGS.name], TEXTS[DATA.name]
    assert FINDINGS.text(FINDINGS.parse(findings)) == findings
    assert DATA.text(DATA.parse(data)) == data
    for uses in chain(*DATA.parse(data).values()):
        assert list(uses.lines) == sorted(uses.lines)


def test_each_pinned_package_is_kept_and_no_other() -> None:
    packages = pinned((HERE / "packages.txt").read_text("utf-8"))
    titles = [package.title for package in packages]
    assert titles == sorted(titles)
    assert len({package.name for package in packages}) == len(packages)
    assert list(FINDINGS.parse(TEXTS[FINDINGS.name])) == titles
    assert list(DATA.parse(TEXTS[DATA.name])) == titles


def test_at_least_nine_of_ten_are_right() -> None:
    assert enough_are_right(chain(*FINDINGS.parse(TEXTS[FINDINGS.name]).values()))


@pytest.mark.parametrize(("right", "enough"), [(9, True), (8, False)])
def test_what_is_enough(right: int, enough: bool) -> None:
    lines = [Reviewed(found(n), RIGHT) for n in range(right)]
    lines += [Reviewed(found(20, code="GL201"), WRONG), Reviewed(found(21), OPEN)]
    lines += [Reviewed(found(22, code="GL601"), review) for review in (RIGHT, WRONG)]
    assert enough_are_right(lines) is enough


# ------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize("review", [RIGHT, WRONG, OPEN, Review(Mark.OPEN, "was right: x")], ids=str)
@pytest.mark.parametrize("symbol", ["Model.forward", ""])
@pytest.mark.parametrize("text", ["x | y, 'z: open'", ""])
def test_a_line_is_read_as_it_was_written(text: str, symbol: str, review: Review) -> None:
    line = Reviewed(Found("a b/model.py", 12, "GL201", symbol, text), review)
    assert Reviewed.parse(str(line)) == line


def test_how_a_line_looks() -> None:
    line = str(Reviewed(found(12), WRONG))
    assert line == "pkg/model.py:12 GL301 M.f `self.enc(x)` | wrong: a teacher"


def test_a_file_is_sorted() -> None:
    lines = [Reviewed(found(100), OPEN), Reviewed(found(20), RIGHT), Reviewed(found(3, "b"), OPEN)]
    text = FINDINGS.text({"two 1.0": lines, "one 2.0": []})
    heading, one, two = text.rsplit("\n\n", 2)
    assert all(line.startswith("#") for line in heading.splitlines())
    assert one == "one 2.0"
    assert two.splitlines() == ["two 1.0", *(f"  {line}" for line in reversed(lines))]


TITLE = "timm 1.0"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("  a.py:3 GL301 f `x` right: y", "a finding is `path:line CODE symbol"),
        ("  a.py GL301 f `x` | right: y", "a finding is `path:line CODE symbol"),
        ("  a.py:3 GL301 f `x` | maybe: y", "right, wrong or open"),
        ("  a.py:3 GL301 f `x` | wrong", "`wrong` needs a reason"),
        ("  a.py:3 GL301 f `x` | right: ", "a finding is"),
        ("  a.py:3 GL103 f `x` | open", "GL103 belongs into data_findings.txt"),
        (" a.py:3 GL301 f `x` | open", "two spaces in"),
        ("timm", "a title is `name version`"),
        (TITLE, "has a section already"),
    ],
)
def test_what_cannot_be_read_is_named(line: str, words: str) -> None:
    with pytest.raises(Stopped) as caught:
        FINDINGS.parse(f"# heading\n\n{TITLE}\n{line}\n")
    assert str(caught.value).startswith("findings.txt:4: ")
    assert words in str(caught.value)
    assert repr(line) in str(caught.value)


def test_a_line_before_the_first_title_is_named() -> None:
    with pytest.raises(Stopped, match=r"data_findings\.txt:1: a title, `name version`, comes"):
        DATA.parse("  a.py GL101 3\n")


@pytest.mark.parametrize("line", ["a.py GL101 ", "a.py GL301 3", "a.py GL101 3, 4", "a.py 3"])
def test_malformed_data_lines_are_named(line: str) -> None:
    with pytest.raises(Stopped, match=r"data_findings\.txt:2: a line is `path CODE line,line"):
        DATA.parse(f"{TITLE}\n  {line}\n")


def test_data_findings_are_kept_by_file_and_code() -> None:
    many = [found(30, code="GL103"), found(9, code="GL103"), found(9, code="GL101"), found(1)]
    many.append(Found("pkg/a.py", 5, "GL103", "", ""))
    assert list(map(str, data_uses(many))) == [
        "pkg/a.py GL103 5",
        "pkg/model.py GL101 9",
        "pkg/model.py GL103 9,30",
    ]
    assert DataUses.parse("pkg/model.py GL103 9,30") in data_uses(many)


# ------------------------------------------------------------------------- whose review is it


def marks(
    now: Iterable[Found], before: Iterable[Reviewed], same_version: bool
) -> list[tuple[int, str]]:
    """The line and review of each finding, in order."""
    lines = sorted(reviewed(now, before, same_version))
    return [(line.found.line, str(line.review)) for line in lines]


def test_a_review_moves_with_its_line() -> None:
    before = [Reviewed(found(10), RIGHT), Reviewed(found(20), WRONG)]
    assert marks([found(32), found(15)], before, same_version=False) == [
        (15, str(RIGHT)),
        (32, str(WRONG)),
    ]


def test_in_the_same_version_another_line_is_another_finding() -> None:
    before = [Reviewed(found(10), RIGHT), Reviewed(found(20), WRONG)]
    assert marks([found(10), found(30)], before, same_version=True) == [
        (10, str(RIGHT)),
        (30, "open: was wrong: a teacher"),
    ]


def test_in_another_version_it_is_unclear_which_of_the_equal_ones_is_gone() -> None:
    before = [Reviewed(found(10), RIGHT), Reviewed(found(20), WRONG)]
    assert marks([found(20)], before, same_version=False) == [(20, f"open: was {RIGHT}")]


@pytest.mark.parametrize("same_version", [True, False])
def test_a_new_finding_is_open_and_a_vanished_one_gone(same_version: bool) -> None:
    before = [Reviewed(found(10), RIGHT), Reviewed(found(40, symbol="M.gone"), WRONG)]
    now = [found(10), found(20, symbol="M.g"), found(30, code="GL201")]
    assert marks(now, before, same_version) == [(10, str(RIGHT)), (20, "open"), (30, "open")]


@pytest.mark.parametrize("same_version", [True, False])
def test_a_review_of_another_text_is_recalled_only(same_version: bool) -> None:
    before = [Reviewed(found(10), WRONG)]
    once = reviewed([found(10, "self.enc(x, y)")], before, same_version)
    assert [str(line.review) for line in once] == ["open: was wrong: a teacher"]
    again = reviewed([found(10, "self.enc(y)"), found(11, "z")], once, same_version)
    assert [str(line.review) for line in again] == ["open: was wrong: a teacher", "open"]


def test_findings_about_data_need_no_review() -> None:
    assert reviewed([found(10, code="GL101")], [], same_version=True) == []


# ---------------------------------------------------------------------------- packages.txt


def test_a_pin_is_read() -> None:
    (package,) = pinned(f"# heading\n\na-b==1.0.post1 --hash=sha256:{'0' * 64}  # why\n")
    assert package == Package("a-b", "1.0.post1", "0" * 64)
    assert package.title == "a-b 1.0.post1"


@pytest.mark.parametrize("line", ["timm", "timm>=1", "timm==1.0", "Timm==1 --hash=sha256:0"])
def test_a_malformed_pin_is_named(line: str) -> None:
    with pytest.raises(Stopped, match=r"packages\.txt:2: a package is `name==version --hash"):
        pinned(f"\n{line}\n")


def wheel(folder: Path, name: str = "tiny_package") -> Package:
    """A wheel that holds a module, data, and a file that would lie outside."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/model.py", "x = 1\n")
        archive.writestr(f"{name}/weights.bin", "0")
        archive.writestr("../outside.py", "x = 1\n")
        information = f"{name}-1.0.dist-info"
        archive.writestr(
            f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        )
        archive.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{information}/RECORD", "")
    return Package("tiny-package", "1.0", hashlib.sha256(path.read_bytes()).hexdigest())


def test_of_a_wheel_the_sources_are_unpacked_and_nothing_lands_outside(tmp_path: Path) -> None:
    wheel(tmp_path)
    unpack(next(tmp_path.glob("*.whl")), tmp_path / "in")
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert files == {
        "in/tiny_package/model.py",
        "in/outside.py",
        "tiny_package-1.0-py3-none-any.whl",
    }


def test_pip_brings_what_is_pinned_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    package, directory = wheel(tmp_path), tmp_path / "sources"
    other = Package(package.name, package.version, "0" * 64)
    with pytest.raises(Stopped, match=r"(?s)pip could not download what packages\.txt pins:.*hash"):
        fetch([other], directory)
    assert not any(directory.iterdir())
    fetch([package], directory)
    assert (directory / "tiny-package-1.0" / "tiny_package" / "model.py").is_file()
    next(tmp_path.glob("*.whl")).unlink()
    fetch([package], directory)


# ------------------------------------------------------------------------------- the linter

MODEL = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.first.weight.data.zero_()

    def forward(self, x):
        return self.first(
            x,
        ).detach()
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder of a package that holds one file."""
    folder = tmp_path / "one-1.0"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL, "utf-8")
    return folder


def test_lint_says_what_is_flagged(package: Path) -> None:
    data, cut = lint(package)
    assert (data.code, data.line) == ("GL103", 9)
    line = "model.py:12 GL201 Model.forward `self.first( x, ).detach()` | open"
    assert str(Reviewed(cut, OPEN)) == line
    assert "detach" in cut.message


def test_a_file_that_gradlint_cannot_read_is_a_finding_without_text(package: Path) -> None:
    (package / "model.py").write_bytes(b"x = '\xff'\n")
    (unread,) = lint(package)
    assert (unread.code, unread.text) == ("GL000", "")


def test_a_failing_linter_is_no_clean_package(package: Path) -> None:
    with pytest.raises(Stopped, match=r"gradlint failed on nothing-1\.0:\n.*nothing-1\.0"):
        lint(package.parent / "nothing-1.0")


# ------------------------------------------------------------------------------ the commands

DATA_USE = found(9, code="GL103")
CUT = found(15)
LINE = "  pkg/model.py:15 GL301 M.f `self.enc(x)`"


class Checkout:
    """A folder with packages.txt and the kept files, beside `sources`, and what is found there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: dict[str, list[Found]] = {}
        self.release("one 1.0", "two 1.0")

    def release(self, *titles: str) -> None:
        """Pins these packages, as if each had been downloaded."""
        pins = (f"{title.replace(' ', '==')} --hash=sha256:{'0' * 64}\n" for title in titles)
        (self.folder / "packages.txt").write_text("".join(pins), "utf-8")
        for title in titles:
            package = title.replace(" ", "-")
            (self.folder / "sources" / package).mkdir(parents=True, exist_ok=True)
            self.found.setdefault(package, [DATA_USE, CUT])

    def run(self, command: str, *names: str) -> int:
        arguments = [command, str(self.folder / "sources"), *names]
        return main(arguments, self.folder, lambda folder: self.found[folder.name])

    @property
    def findings(self) -> str:
        return (self.folder / FINDINGS.name).read_text("utf-8")

    def review(self, old: str, new: str) -> None:
        """Edits findings.txt, as a reviewer does."""
        assert old in self.findings
        (self.folder / FINDINGS.name).write_text(self.findings.replace(old, new), "utf-8")


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_check_shows_what_differs_and_writes_nothing(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    new = Found("pkg/model.py", 20, "GL301", "M.g", "y", "what gradlint says")
    checkout.found["two-1.0"].append(new)
    assert checkout.run("check") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines.count(f"+{LINE} | open") == 2
    assert lines.count("+  pkg/model.py GL103 9") == 2
    assert "two-1.0/pkg/model.py:20: GL301 what gradlint says" in lines
    assert lines[-1].startswith("2 packages: 2 findings about .data, ")
    assert not (checkout.folder / FINDINGS.name).exists()


def test_what_was_updated_is_as_it_is_kept(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checkout.run("update") == 0
    checkout.review(f"one 1.0\n{LINE} | open", f"one 1.0\n{LINE} | {RIGHT}")
    capsys.readouterr()
    assert checkout.run("check") == 0
    (summary,) = capsys.readouterr().out.splitlines()
    assert summary.endswith("1 right, 0 wrong, 1 open")


@pytest.mark.parametrize(
    ("gone", "line"), [(CUT, f"-{LINE} | open"), (DATA_USE, "-  pkg/model.py GL103 9")]
)
def test_what_is_not_found_any_more_is_shown_with_its_package(
    checkout: Checkout, capsys: pytest.CaptureFixture[str], gone: Found, line: str
) -> None:
    checkout.run("update")
    checkout.found["one-1.0"].remove(gone)
    capsys.readouterr()
    assert checkout.run("check") == 1
    _, _, header, shown, _ = capsys.readouterr().out.splitlines()
    assert header.endswith("@@ one 1.0")
    assert shown == line
    assert checkout.run("update") == 0
    assert checkout.run("check") == 0


def test_a_review_survives_a_new_version(checkout: Checkout) -> None:
    checkout.run("update")
    checkout.review("| open", f"| {WRONG}")
    checkout.release("one 1.1", "two 1.0")
    checkout.found["one-1.1"] = [found(16)]
    assert checkout.run("update") == 0
    (moved,) = FINDINGS.parse(checkout.findings)["one 1.1"]
    assert moved == Reviewed(found(16), WRONG)
    assert "one 1.0" not in checkout.findings


def test_some_packages_alone(checkout: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    checkout.run("update")
    before = checkout.findings
    checkout.found = {"one-1.0": [], "two-1.0": []}
    assert checkout.run("update", "two") == 0
    assert checkout.findings == before.replace(f"two 1.0\n{LINE} | open\n", "two 1.0\n")
    assert checkout.run("check", "two") == 0
    assert checkout.run("check", "one") == 1
    assert checkout.run("check", "three") == 2
    assert "not in packages.txt: three" in capsys.readouterr().err


def test_a_kept_file_that_cannot_be_read_is_left_alone(
    checkout: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout.run("update")
    checkout.review(f"one 1.0\n{LINE} | open", f"one 1.0\n{LINE} | right")
    text = checkout.findings
    capsys.readouterr()
    assert checkout.run("update") == 2
    number = text.splitlines().index("one 1.0") + 2
    assert capsys.readouterr().err.startswith(f"error: findings.txt:{number}: `right` needs a")
    assert checkout.findings == text
