"""The project's own files agree: what is required, what is pinned, what the hooks run."""

from __future__ import annotations

import importlib.metadata
import itertools
import re
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from pre_commit import clientlib

import gradlint

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
REQUIREMENTS = [
    requirement
    for text in [*PROJECT["project"]["dependencies"], *itertools.chain(*EXTRAS.values())]
    if (requirement := Requirement(text)).name != PROJECT["project"]["name"]
]
LINES = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
PINS = {
    canonicalize_name(name): Version(version)
    for name, _, version in (line.partition("==") for line in LINES if not line.startswith("#"))
}


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_requirement_is_pinned_for_the_tests_only(requirement: Requirement) -> None:
    assert {specifier.operator for specifier in requirement.specifier} == {">="}
    assert PINS[canonicalize_name(requirement.name)] in requirement.specifier


def test_everything_installed_here_is_pinned() -> None:
    """All of it that the tests could use: an unpinned package makes two runs differ."""
    ours = {"torch-gradlint", "pip", "setuptools", "wheel"}
    wanted = {requirement.name for requirement in REQUIREMENTS}
    seen: set[str] = set()
    while wanted:
        name = canonicalize_name(wanted.pop())
        seen.add(name)
        try:
            texts = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        needs = [Requirement(text) for text in texts]
        wanted |= {n.name for n in needs if not n.marker or n.marker.evaluate({"extra": ""})} - seen
    installed = {canonicalize_name(d.name) for d in importlib.metadata.distributions()}
    assert (seen & installed) - ours <= set(PINS)


def test_the_version_is_the_one_in_the_source() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", gradlint.__version__)
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/gradlint/__init__.py"
    assert gradlint.__version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_hooks_are_as_pre_commit_wants_them() -> None:
    (hook,) = clientlib.load_manifest(ROOT / ".pre-commit-hooks.yaml")
    assert hook["id"] == "gradlint"
    assert "--force-exclude" in hook["entry"]
    assert hook["require_serial"]
    config = clientlib.load_config(ROOT / ".pre-commit-config.yaml")
    hooks = [hook["id"] for repo in config["repos"] for hook in repo["hooks"]]
    assert hooks == ["ruff-check", "ruff-format", "mypy", "gradlint"]
    assert {repo["repo"] for repo in config["repos"]} == {"local"}


def test_the_default_hook_runs_no_code_of_the_user() -> None:
    (hook,) = clientlib.load_manifest(ROOT / ".pre-commit-hooks.yaml")
    assert hook["entry"].split()[:2] == ["gradlint", "check"]
    assert "verify" not in hook["entry"]


def test_nothing_lies_at_the_top_that_does_not_belong_there() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    names = {p.name for p in ROOT.iterdir() if not any(p.match(i.rstrip("/")) for i in ignored)}
    assert names - {".git"} <= {
        ".ci",
        ".gitignore",
        ".pre-commit-config.yaml",
        ".pre-commit-hooks.yaml",
        "CHANGELOG.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "constraints.txt",
        "docs",
        "examples",
        "pyproject.toml",
        "src",
        "tests",
    }
