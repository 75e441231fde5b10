"""The command line: exit codes, what goes to which stream, and what wrong usage is told.

Most of it needs no rule about torch: an unused suppression is a warning, broken bytes an error.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import gradlint
from gradlint import __version__
from gradlint.cli import app, main
from gradlint.model import Report
from gradlint.rules import all_rules

UNUSED = "x = 1  # gradlint: ignore[GL001]\n"
BROKEN = b"x = '\xff'\n"
NUL = b"x = 1\x00\n"
FOLDER = Path(gradlint.__file__).parent.parent


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    try:
        runner = CliRunner(mix_stderr=False)  # type: ignore[call-arg]  # click before 8.2
    except TypeError:
        runner = CliRunner()
    return runner.invoke(app, arguments, input=stdin, catch_exceptions=False)


def process(
    *arguments: str, code: str | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs gradlint (or `code`) in a process of its own."""
    command = ["-c", code] if code else ["-m", "gradlint"]
    environ = {**os.environ, "PYTHONPATH": str(FOLDER), **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, *command, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        env=environ,
        **options,
    )


def save(files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


# ------------------------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("files", "arguments", "code"),
    [
        ({"a.py": "x = 1\n"}, [], 0),
        ({}, [], 0),
        ({"a.py": UNUSED}, [], 1),
        ({"a.py": UNUSED}, ["--fail-on", "error"], 0),
        ({"a.py": UNUSED}, ["--fail-on", "warning"], 1),
        ({"a.py": UNUSED}, ["--exit-zero"], 0),
        ({"a.py": UNUSED}, ["--ignore", "GL001"], 0),
        ({"a.py": UNUSED}, ["--select", "GL0"], 1),
        ({"a.py": BROKEN}, [], 1),
        ({"a.py": NUL}, ["--fail-on", "error"], 1),
        ({"a.py": BROKEN}, ["--exit-zero"], 0),
        ({"a.py": BROKEN}, ["--ignore", "GL", "--fail-on", "error"], 1),
        ({"a.py": UNUSED}, ["absent.py"], 2),
        ({"a.py": UNUSED}, ["absent.py", "--exit-zero"], 2),
        ({"a.py": UNUSED, "gradlint.toml": "fail-on = 'error'"}, [], 0),
        ({"a.py": UNUSED, "gradlint.toml": "fail-on = 'error'"}, ["--fail-on", "warning"], 1),
        ({"a.py": UNUSED, "gradlint.toml": "fail-on = 'error'"}, ["--isolated"], 1),
        ({"a.py": UNUSED, "gradlint.toml": "severity = {GL001 = 'error'}"}, ["--fail-on=error"], 1),
        ({"a.py": UNUSED, "gradlint.toml": "per-file-ignores = {'a.py' = ['GL001']}"}, [], 0),
        ({"a.py": UNUSED, "gradlint.toml": "extend-exclude = ['a.py']"}, [], 0),
        ({"a.py": UNUSED, "gradlint.toml": "extend-exclude = ['a.py']"}, ["a.py"], 1),
        (
            {"a.py": UNUSED, "gradlint.toml": "extend-exclude = ['a.py']"},
            ["a.py", "--force-exclude"],
            0,
        ),
        ({"a.py": UNUSED, "other.toml": "ignore = ['GL001']"}, ["--config", "other.toml"], 0),
    ],
)
def test_exit_codes(files: dict[str, str | bytes], arguments: list[str], code: int) -> None:
    save(files)
    assert run("check", *arguments).exit_code == code


def test_each_file_is_judged_by_its_own_settings() -> None:
    save({"a/a.py": UNUSED, "b/b.py": UNUSED, "b/gradlint.toml": "fail-on = 'error'"})
    assert run("check", "b").exit_code == 0
    assert run("check", "a", "b").exit_code == 1


# ---------------------------------------------------------------------------------- streams


def test_stdout_carries_only_the_report() -> None:
    save({"b.py": UNUSED, "a.py": BROKEN, "clean.py": "x = 1\n"})
    paths = ("absent.py", "clean.py", "b.py", "a.py", "b.py", "./b.py")
    done = run("check", "--output-format", "concise", *paths)
    assert [line.split(": ")[0] for line in done.stdout.splitlines()] == ["a.py:1:6", "b.py:1:27"]
    assert done.stderr.startswith("error: ") and "absent.py" in done.stderr
    assert (done.stderr.count("\n"), done.exit_code) == (1, 2)


def test_full_ends_with_a_summary() -> None:
    save({"b.py": UNUSED, "a.py": BROKEN, "clean.py": "x = 1\n"})
    done = run("check")
    assert done.stdout.splitlines()[-1] == "Found 1 error and 1 warning in 2 files (3 checked)."
    assert (
        "    1 | x = 1  # gradlint: ignore[GL001]\n      |                           ^^^^^"
        in done.stdout
    )
    assert run("check", "clean.py").stdout == "All clear: 1 file checked.\n"


def test_quiet() -> None:
    save({"b.py": UNUSED})
    assert run("check", "--quiet").stdout.endswith("from the comment\n\n")
    (nothing := Path("empty")).mkdir()
    assert run("check", "empty").stderr == "warning: no Python files found\n"
    assert run("check", "empty", "--quiet").output == ""
    assert nothing.is_dir()


def test_output_file() -> None:
    save({"b.py": UNUSED})
    done = run("check", "--output-file", "report.txt")
    assert (done.output, done.exit_code) == ("", 1)
    assert Path("report.txt").read_text() == run("check").stdout


def test_an_output_file_that_cannot_be_written_loses_no_finding() -> None:
    save({"b.py": UNUSED})
    done = run("check", "--output-file", "absent/report.txt", "--output-format", "concise")
    assert done.stdout.startswith("b.py:1:27: GL001 ")
    assert done.stderr.startswith("error: absent/report.txt: cannot be written")
    assert done.exit_code == 2


def test_statistics() -> None:
    save({"b.py": UNUSED, "a.py": UNUSED})
    text = run("check", "--statistics")
    assert text.stdout.splitlines()[-1] == "2 GL001 unused-suppression"
    machine = run("check", "--statistics", "--output-format", "json")
    assert json.loads(machine.stdout)["summary"]["findings"] == 2
    assert machine.stderr == "2 GL001 unused-suppression\n"


def test_json() -> None:
    save({"pkg/b.py": UNUSED, "a.py": "x = 1\n"})
    document = json.loads(run("check", "--output-format", "json").stdout)
    assert document["summary"] == {
        "files": 2,
        "findings": 1,
        "errors": 0,
        "warnings": 1,
        "fixable": 0,
    }
    (found,) = document["findings"]
    assert (found["path"], found["code"], found["line"], found["column"]) == (
        "pkg/b.py",
        "GL001",
        1,
        27,
    )
    assert len(found["fingerprint"]) == 64


def test_paths_outside_the_working_directory_are_absolute(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save({"in/a.py": UNUSED, "b.py": UNUSED})
    monkeypatch.chdir("in")
    done = run("check", "--output-format", "concise", "..", "a.py")
    paths = [line.rsplit(":", 3)[0] for line in done.stdout.splitlines()]
    assert paths == sorted([(folder / "b.py").as_posix(), "a.py"])


def test_a_working_directory_behind_a_link(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save({"real/a.py": UNUSED})
    (folder / "link").symlink_to(folder / "real")
    monkeypatch.chdir("real")
    done = run("check", "--output-format", "concise", str(folder / "link" / "a.py"))
    assert done.stdout.startswith("a.py:1:27:")


# ---------------------------------------------------------------------------- standard input


def test_stdin() -> None:
    done = run("check", "-", "--output-format", "concise", stdin=UNUSED)
    assert done.stdout.startswith("<stdin>:1:27: GL001 ") and done.exit_code == 1
    named = run("check", "-", "--stdin-filename", "pkg/x.py", "--output-format=json", stdin=UNUSED)
    assert json.loads(named.stdout)["findings"][0]["path"] == "pkg/x.py"


def test_stdin_has_the_settings_of_its_name() -> None:
    save({"pkg/gradlint.toml": "ignore = ['GL001']\nextend-exclude = ['old.py']"})
    given = ("check", "-", "--stdin-filename")
    assert run(*given, "pkg/x.py", stdin=UNUSED).exit_code == 0
    assert run(*given, "x.py", stdin=UNUSED).exit_code == 1
    broken = run(*given, "pkg/old.py", stdin=BROKEN)
    assert broken.exit_code == 1 and "GL000" in broken.stdout
    assert run(*given, "pkg/old.py", "--force-exclude", stdin=BROKEN).exit_code == 0


# ------------------------------------------------------------------------------- wrong usage


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["check", "--output-format", "jsno"], "'jsno' is none of concise, full, github, json"),
        (["check", "--output-format", "jsno"], "did you mean 'json'?"),
        (["check", "--min-confidence", "lwo"], "did you mean 'low'?"),
        (["check", "--fail-on", "warn"], "did you mean 'warning'?"),
        (["check", "--select", "GL001,GL999"], "no rule is called `GL999`; did you mean `GL"),
        (["check", "--ignore", "unused-supression"], "did you mean `unused-suppression`?"),
        (["check", "--extend-select", "x"], "`gradlint rules` lists them all."),
        (["check", "--ignore", "GL000"], "GL000 cannot be ignored"),
        (["check", "--config", "absent.toml"], "absent.toml: cannot be read"),
        (["check", "--config", "bad.toml"], "bad.toml: selct: unknown key; did you mean `select`?"),
        (["check", "--config", "x", "--isolated"], "--config and --isolated exclude each other."),
        (["check", "bad"], "gradlint.toml: fail-on: must be one of error, warning"),
        (["check", "--jobs", "0"], "0 is not in the range"),
        (["check", "--verify"], "No such option"),
        (["check", "--fix"], "No such option"),
        (["explain", "GL999"], "no rule is called `GL999`"),
        (["explain", "GL0"], "`GL0` stands for several rules"),
        (["rules", "--output-format", "jsn"], "did you mean 'json'?"),
        (["chek"], "No such command 'chek'"),
    ],
)
def test_wrong_usage_is_explained(arguments: list[str], expected: str) -> None:
    save({"bad.toml": "selct = []", "bad/gradlint.toml": "fail-on = 'x'", "bad/a.py": "x = 1\n"})
    done = run(*arguments)
    assert expected in " ".join(done.stderr.replace("│", "").split())
    assert (done.stdout, done.exit_code) == ("", 2)


# --------------------------------------------------------------------------- other commands


def test_explain() -> None:
    by_code, by_name = run("explain", "GL001"), run("explain", "unused-suppression")
    assert by_code.stdout == by_name.stdout
    assert by_code.stdout.startswith(
        "GL001 unused-suppression (warning, high confidence)\n\nA suppression comment"
    )
    assert "\nBad:\n    def forward" in by_code.stdout
    assert by_code.exit_code == 0


def test_rules() -> None:
    lines = run("rules").stdout.splitlines()
    assert lines[0].split()[:3] == ["GL000", "not-analysed", "error"]
    assert lines == sorted(lines)
    document = json.loads(run("rules", "--output-format", "json").stdout)
    assert document["version"] == 1
    assert document["rules"][1] == {
        "code": "GL001",
        "rule": "unused-suppression",
        "severity": "warning",
        "confidence": "high",
        "pedantic": False,
        "title": "A suppression comment silences nothing.",
    }
    assert len(document["rules"]) == len(lines)


def test_version() -> None:
    assert run("--version").stdout == f"gradlint {__version__}\n"


# ---------------------------------------------------------------------------------- processes


def test_python_m_gradlint() -> None:
    save({"a.py": UNUSED})
    done = process("check", "--output-format", "concise")
    assert done.stdout.startswith("a.py:1:27: GL001 ")
    assert (done.stderr, done.returncode) == ("", 1)
    assert process("check", "--select", "GL999").returncode == 2
    assert process("--version").returncode == 0


LOADED = """
import sys
from gradlint.cli import main
try:
    main({arguments})
except SystemExit as end:
    heavy = {{"libcst", "torch", "gradlint.engine", "gradlint.rules", "pathspec"}}
    print(sorted(heavy & set(sys.modules)), end.code, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("arguments", "loaded"),
    [
        (["--version"], "[] 0"),
        (["--help"], "[] 0"),
        (["check", "--help"], "[] 0"),
        (["rules"], "['gradlint.rules'] 0"),
        (["check", "a.py"], "['gradlint.engine', 'gradlint.rules', 'pathspec'] 1"),
    ],
)
def test_nothing_heavy_is_imported_in_vain(arguments: list[str], loaded: str) -> None:
    save({"a.py": UNUSED + "import torch\nprint(torch.randn(3))\n"})
    done = process(code=LOADED.format(arguments=arguments))
    assert done.stderr.strip() == loaded


def test_stdout_that_cannot_print_a_character() -> None:
    save({"a.py": "x = '日本é'  # gradlint: ignore[GL001]\n"})
    done = process("check", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 1
    assert "x = '\\u65e5\\u672c\\xe9'  # gradlint" in done.stdout and done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_closed_pipe_leaves_no_traceback() -> None:
    save({f"{number}.py": UNUSED for number in range(300)})
    command = f"{sys.executable} -m gradlint check | head -n 1"
    environ = {**os.environ, "PYTHONPATH": str(FOLDER)}
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, env=environ, timeout=60
    )
    assert done.stdout.startswith("0.py:1:27: warning[GL001]") and done.stderr == ""


INTERRUPTED = """
import signal, sys, time
from gradlint import cli
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
cli._check = lambda options: (print("ready", flush=True), time.sleep(30))
cli.main(["check"])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_an_interrupt_ends_the_run_cleanly() -> None:
    environ = {**os.environ, "PYTHONPATH": str(FOLDER)}
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 130
        assert running.stderr.read().strip() == "Interrupted: the check is not complete."


def fails(error: BaseException) -> Callable[..., int]:
    def check(options: object) -> int:
        raise error

    return check


def test_a_crash_outside_the_rules_is_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gradlint.cli._check", fails(ValueError("no")))
    with pytest.raises(SystemExit) as ended:
        main(["check"])
    assert ended.value.code == 2
    assert "gradlint crashed: ValueError('no'). Please report it." in capsys.readouterr().err


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    save({"a.py": UNUSED, "b.py": UNUSED})
    monkeypatch.setattr("gradlint.output._PATIENCE", 0.0)
    assert "files checked\r" not in run("check").stderr
    monkeypatch.setattr("gradlint.output.is_terminal", lambda stream: stream is sys.stderr)
    assert "/2 files checked" in run("check").stderr
    assert run("check", "--quiet").stderr == ""


# ------------------------------------------------------------------------- with a real rule

DISCARDED = """\
import torch
from torch import nn

encoder = nn.Linear(8, 4)
features = encoder(torch.randn(3, 8))
features.detach()
"""


def test_a_rule_about_torch_works_without_torch() -> None:
    save({"a.py": DISCARDED, "b.py": "import torch\nx = torch.randn(1).detach(\n"})
    code = "import sys; sys.modules['torch'] = None\nfrom gradlint.cli import main; main()"
    done = process("check", "--output-format", "concise", code=code)
    assert [line.split(" ")[:2] for line in done.stdout.splitlines()] == [
        ["a.py:6:1:", "GL203"],
        ["b.py:2:26:", "GL000"],
    ]
    assert (done.stderr, done.returncode) == ("", 1)


def test_a_rule_that_crashes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(unit: object) -> Iterator[Report]:
        raise ValueError("no facts")

    rules = dict(all_rules())
    rules["GL301"] = replace(rules["GL301"], check=crash)
    monkeypatch.setattr("gradlint.rules.all_rules", lambda: rules)
    save({"a.py": DISCARDED})
    done = run("check", "--output-format", "concise", "--exit-zero")
    assert done.stdout.startswith("a.py:6:1: GL203 ")
    assert done.stderr.startswith("error: a.py: rule GL301 crashed: ValueError: no facts")
    assert done.exit_code == 2


# ------------------------------------------------------------------------ files that go away


def discovering(path: Path, unreadable: bool) -> Callable[..., Iterator[Path]]:
    def discover(
        paths: list[Path], *, on_unreadable: Callable[[Path, OSError], None], **rest: object
    ) -> Iterator[Path]:
        if unreadable:
            on_unreadable(path, PermissionError(13, "Permission denied"))
        else:
            yield path

    return discover


def test_a_file_that_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = discovering(Path("gone.py"), unreadable=False)
    monkeypatch.setattr("gradlint.sources.files.discover", found)
    done = run("check", "--output-format", "concise")
    assert done.stdout.startswith("gone.py:1:1: GL000 the file cannot be read: No such file")
    assert (done.stderr, done.exit_code) == ("", 1)


def test_a_folder_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found = discovering(Path("secret"), unreadable=True)
    monkeypatch.setattr("gradlint.sources.files.discover", found)
    done = run("check")
    assert done.stderr == "error: secret cannot be read: Permission denied\n"
    assert done.exit_code == 2


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_a_file_that_may_not_be_read() -> None:
    save({"a.py": UNUSED, "b.py": UNUSED})
    Path("a.py").chmod(0)
    done = run("check", "--output-format", "concise")
    assert done.stdout.startswith("a.py:1:1: GL000 ") and "\nb.py:1:27: GL001" in done.stdout
