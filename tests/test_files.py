"""Which files are found, and how their bytes become text."""

from __future__ import annotations

import codecs
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from gradlint.sources import files
from gradlint.sources.errors import NotAnalysed
from gradlint.sources.files import MissingPath, decode, discover, read

posix_only = pytest.mark.skipif(os.name == "nt", reason="not on Windows")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(*names: str, text: str = "") -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def found(
    *paths: str | Path,
    excluded: Callable[[Path], bool] = lambda path: False,
    force_exclude: bool = False,
    respect_gitignore: bool = True,
    unreadable: list[Path] | None = None,
) -> list[str]:
    reported: list[Path] = [] if unreadable is None else unreadable
    names = [
        path.as_posix()
        for path in discover(
            map(Path, paths or ["."]),
            excluded=excluded,
            force_exclude=force_exclude,
            respect_gitignore=respect_gitignore,
            on_unreadable=lambda path, error: reported.append(path),
        )
    ]
    assert unreadable is not None or not reported
    return names


# -------------------------------------------------------------------------------- the walk


def test_python_files_in_the_order_of_names(tree: Path) -> None:
    write("b.py", "a/z.py", "a/c/d.pyi", "c.txt", "e.pyc", "a.py", "B.PY", "f.ipynb")
    assert found() == ["a/c/d.pyi", "a/z.py", "a.py", "b.py"]
    assert found("a", "b.py") == ["a/c/d.pyi", "a/z.py", "b.py"]


def test_other_suffixes_on_demand(tree: Path) -> None:
    write("a.py", "b.ipynb")
    paths = discover(
        [Path()],
        excluded=lambda path: False,
        force_exclude=False,
        on_unreadable=lambda path, error: None,
        suffixes=[".ipynb"],
    )
    assert list(paths) == [Path("b.ipynb")]


def test_folders_of_tools_are_skipped(tree: Path) -> None:
    write("a.py", "env/pyvenv.cfg", "env/lib/b.py")
    write(*(f"sub/{folder}/x.py" for folder in files.SKIPPED_FOLDERS))
    assert found() == ["a.py"]
    assert found("env", "sub/build") == ["env/lib/b.py", "sub/build/x.py"]


def test_each_file_once(tree: Path) -> None:
    write("a/b.py", "c.py")
    assert found("a", ".", "a/b.py", tree / "c.py", "a/../c.py") == ["a/b.py", "c.py"]


def test_named_files_of_any_suffix(tree: Path) -> None:
    write("tool", "build/x.py")
    assert found("tool", "build/x.py") == ["tool", "build/x.py"]


def test_a_missing_path_is_told_before_anything_is_walked(tree: Path) -> None:
    write("a.py")
    with pytest.raises(MissingPath) as caught:
        discover(
            [Path("a.py"), Path("no/such.py")],
            excluded=lambda path: False,
            force_exclude=False,
            on_unreadable=lambda path, error: None,
        )
    assert caught.value.path == Path("no/such.py")
    assert "no such file or folder: no" in str(caught.value)


def test_excluded_files_and_folders(tree: Path) -> None:
    write("a/b.py", "a/c.py", "d/e/f.py", "d/g.py")
    asked: list[str] = []

    def excluded(path: Path) -> bool:
        asked.append(path.as_posix())
        return path.as_posix() in ("a/c.py", "d/e")

    assert found(excluded=excluded) == ["a/b.py", "d/g.py"]
    assert "d/e/f.py" not in asked
    assert found("a/c.py", "d/e", excluded=excluded) == ["a/c.py", "d/e/f.py"]
    named = ("a/b.py", "a/c.py", "d/e", "d/e/f.py")
    assert found(*named, excluded=excluded, force_exclude=True) == ["a/b.py"]


def test_force_exclude_knows_skipped_folders_below_here_only(tree: Path) -> None:
    write("build/proj/a.py", "b.py", "other/c.py")
    assert found("build/proj/a.py", tree / "b.py", force_exclude=True) == [
        (tree / "b.py").as_posix()
    ]
    os.chdir("build/proj")
    assert found("a.py", tree / "other/c.py", force_exclude=True) == [
        "a.py",
        (tree / "other/c.py").as_posix(),
    ]


@posix_only
def test_links(tree: Path) -> None:
    write("a/b.py", "outside.txt", "z.py")
    Path("a/loop").symlink_to("..")
    Path("a/self.py").symlink_to("self.py")
    Path("a/dangling.py").symlink_to("nowhere.py")
    Path("a/to_z.py").symlink_to("../z.py")
    Path("linked").symlink_to("a")
    assert found() == ["a/b.py", "a/to_z.py"]
    assert found("linked") == ["linked/b.py", "linked/to_z.py"]
    with pytest.raises(MissingPath):
        found("a/dangling.py")


@posix_only
def test_pipes_are_not_files(tree: Path) -> None:
    os.mkfifo("pipe.py")
    assert found() == []
    assert found("pipe.py") == ["pipe.py"]


def test_unreadable_folders_are_reported(tree: Path) -> None:
    write("a/b.py", "c/d.py")
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "a":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    unreadable: list[Path] = []
    with mock.patch("os.scandir", refuse):
        assert found(unreadable=unreadable) == ["c/d.py"]
    assert unreadable == [Path("a")]


# ------------------------------------------------------------------------------- .gitignore


def test_gitignore_files_of_all_levels(tree: Path) -> None:
    write(".git/config", "a.py", "gen/b.py", "src/gen.py", "src/keep/c.py", "src/d_pb2.py")
    write("src/sub/e_pb2.py", "src/sub/f.py", "src/top.py", "top.py")
    write(".gitignore", text="gen/\n*_pb2.py\n/top.py\n")
    write("src/.gitignore", text="!d_pb2.py\nsub/f.py\n")
    expected = ["a.py", "src/d_pb2.py", "src/gen.py", "src/keep/c.py", "src/top.py"]
    assert found() == expected
    assert found("src") == expected[1:]
    assert found("src/sub") == []
    assert "gen/b.py" in found(respect_gitignore=False)


def test_gitignore_counts_from_the_root_of_the_repository(tree: Path) -> None:
    write("repo/.git/config", "repo/in/a.py", "repo/in/deep/a.py", "plain/a.py")
    write(".gitignore", "repo/.gitignore", text="a.py\n")
    assert found("repo/in/deep") == []
    assert found("repo") == []
    assert found("plain") == ["plain/a.py"]  # in no repository
    Path("repo/.gitignore").unlink()
    assert found("repo") == ["repo/in/a.py", "repo/in/deep/a.py"]


def test_named_paths_are_linted_though_ignored(tree: Path) -> None:
    write(".git/config", "out/a.py", "out/sub/b.py", "c.py")
    write(".gitignore", text="out/\nc.py\n")
    assert found() == []
    assert found("out", "c.py") == ["out/a.py", "out/sub/b.py", "c.py"]
    assert found("out", "c.py", "out/a.py", force_exclude=True) == []
    assert found("c.py", force_exclude=True, respect_gitignore=False) == ["c.py"]
    assert found(".", force_exclude=True) == []


def test_odd_lines_of_a_gitignore_spare_the_others(tree: Path) -> None:
    write("a.py", "b.py")
    write(".gitignore", text="!\n//\nb.py\n")
    assert found() == ["a.py"]


def test_an_unreadable_gitignore_is_reported(tree: Path) -> None:
    write("a.py")
    Path(".gitignore").mkdir()
    unreadable: list[Path] = []
    assert found(unreadable=unreadable) == ["a.py"]
    assert unreadable == [Path(".gitignore")]


def test_neither_libcst_nor_pathspec_is_needed(tree: Path) -> None:
    write("a.py", text="x = 1\n")
    program = (
        "import sys; sys.modules['libcst'] = sys.modules['pathspec'] = None\n"
        "from pathlib import Path; from gradlint.sources import files, gate\n"
        "report = lambda path, error: print(path, error)\n"
        "for path in files.discover([Path()], excluded=lambda path: False,\n"
        "                           force_exclude=False, on_unreadable=report):\n"
        "    print(path, repr(files.read(path)))\n"
    )
    source = str(Path(files.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": source},
    )
    assert done.stdout == "a.py 'x = 1\\n'\n"


# ----------------------------------------------------------------------------- bytes to text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"x = 1\r\ny\r", "x = 1\r\ny\r"),
        ("é = 1\n".encode(), "é = 1\n"),
        (codecs.BOM_UTF8 + "é\n".encode(), "é\n"),
        (b"# -*- coding: latin-1 -*-\n\xe9\n", "# -*- coding: latin-1 -*-\né\n"),
        (b"#!/x\n# vim: fileencoding=cp1252\n\x80\n", "#!/x\n# vim: fileencoding=cp1252\n€\n"),
        (codecs.BOM_UTF8 + b"# coding: utf-8\n", "# coding: utf-8\n"),
        (b"x = 'coding: nope'\n", "x = 'coding: nope'\n"),
        (b"\n\n# coding: nope\n", "\n\n# coding: nope\n"),
        ("# coding: gbk\nx = '中文'\n".encode("gbk"), "# coding: gbk\nx = '中文'\n"),
    ],
)
def test_decoding(data: bytes, text: str) -> None:
    assert decode(data) == text


@pytest.mark.parametrize(
    ("data", "words", "line", "column"),
    [
        (b"x = '\xe9'\n", "not UTF-8: byte 0xe9", 1, 6),
        (b"x = 1\r\ny = '\xc3\xa9\xff'\n", "not UTF-8: byte 0xff", 2, 7),
        (b"# coding\nx = '\xe9'\n", "not UTF-8: byte 0xe9", 2, 6),
        (b"# coding: utf-8\nx = '\xe9'\n", "not UTF-8: byte 0xe9", 2, 6),
        (b"# coding: ascii\nx = '\xe9'\n", "not ascii: byte 0xe9", 2, 6),
        (b"# coding: nope\nx\n", "encoding nope", 1, 1),
        (b"# coding: hex\nx\n", "encoding hex", 1, 1),
        (b"# coding: undefined\nx\n", "encoding undefined", 1, 1),
        (b"# coding: punycode\nx\n", "encoding punycode", 1, 1),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n\xe9\n", "not UTF-8", 2, 1),
        ("x = 1\n".encode("utf-16"), "UTF-16", 1, 1),
        ("x = 1\n".encode("utf-32"), "UTF-32", 1, 1),
        ("x = 1\n".encode("utf-16-le"), "NUL", 1, 2),
        (b"x = 1\ny = '\0'\n", "NUL", 2, 6),
    ],
)
def test_what_is_no_text_is_named(data: bytes, words: str, line: int, column: int) -> None:
    with pytest.raises(NotAnalysed) as caught:
        decode(data)
    assert words in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.help


def test_reading(tree: Path) -> None:
    Path("a.py").write_bytes(b"x = 1\r\n")
    assert read(Path("a.py")) == "x = 1\r\n"


def test_a_file_that_is_gone(tree: Path) -> None:
    with pytest.raises(NotAnalysed, match="cannot be read: No such file"):
        read(Path("gone.py"))


def test_a_folder_is_no_file(tree: Path) -> None:
    with pytest.raises(NotAnalysed):
        read(tree)


@posix_only
def test_pipes_and_devices_are_no_files(tree: Path) -> None:
    os.mkfifo("pipe.py")
    with pytest.raises(NotAnalysed, match="a pipe"):
        read(Path("pipe.py"))
    with pytest.raises(NotAnalysed, match="a device"):
        read(Path("/dev/null"))


def test_a_file_that_may_not_be_read(tree: Path) -> None:
    with (
        mock.patch("os.open", side_effect=PermissionError(13, "Permission denied")),
        pytest.raises(NotAnalysed, match="Permission denied"),
    ):
        read(Path("a.py"))


def test_a_huge_file(tree: Path) -> None:
    with open("a.py", "wb") as file:
        file.truncate(40 << 20)
    with pytest.raises(NotAnalysed, match="40 MiB"):
        read(Path("a.py"))


def test_a_notebook_is_not_read_as_python(tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text('{"cells": []}')
    with pytest.raises(NotAnalysed, match="notebooks are not read yet"):
        read(path)
