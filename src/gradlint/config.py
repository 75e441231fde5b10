"""What a file's settings are: its nearest configuration file, overridden by the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pathspec

from gradlint.model import Confidence, Severity
from gradlint.selection import NOT_ANALYSED, Layer, UnknownRule, enabled, nearest, selector

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from gradlint.rules import Rule

    Rules = Mapping[str, Rule]

_Choice = TypeVar("_Choice", bound=Enum)


class ConfigError(Exception):
    """Settings that make no sense; the text names the file (or option), the key and a remedy."""


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns as in .gitignore, relative to `root`."""

    root: Path
    spec: pathspec.GitIgnoreSpec

    @classmethod
    def of(cls, root: Path, lines: tuple[str, ...]) -> Patterns:
        """Raises: ValueError when a line is no pattern."""
        return cls(root, pathspec.GitIgnoreSpec.from_lines(lines))

    def match(self, path: Path) -> bool:
        """Whether a pattern covers `path`, be it a file or a folder."""
        try:
            relative = os.path.relpath(path, self.root)
        except ValueError:  # another drive
            relative = str(path)
        name = relative.replace(os.sep, "/")
        # `build/` is for folders. To take every path for one costs no stat and prunes the walk.
        return self.spec.match_file(name) or self.spec.match_file(f"{name}/")


@dataclass(frozen=True, slots=True)
class Options:
    """One configuration table, checked. `None` stands for a key that is not set."""

    layer: Layer = field(default_factory=Layer)
    per_file_ignores: tuple[tuple[Patterns, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    extend_exclude: tuple[str, ...] = ()
    min_confidence: Confidence | None = None
    fail_on: Severity | None = None
    severity: Mapping[str, Severity] = field(default_factory=dict)
    verify: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says; `None` leaves the configuration as it is."""

    layer: Layer = field(default_factory=Layer)
    min_confidence: Confidence | None = None
    fail_on: Severity | None = None
    pedantic: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a check needs to know about one file.

    `rules` are the rules that are on, before `per_file_ignores`.
    """

    rules: tuple[Rule, ...]
    min_confidence: Confidence = Confidence.MEDIUM
    fail_on: Severity = Severity.WARNING
    severity: Mapping[str, Severity] = field(default_factory=dict)
    per_file_ignores: tuple[tuple[Patterns, tuple[str, ...]], ...] = ()
    exclude: Patterns | None = None
    verify: Mapping[str, object] = field(default_factory=dict)

    def rules_for(self, path: Path) -> tuple[Rule, ...]:
        """The rules that are on for `path`."""
        ignored = tuple(
            code
            for patterns, codes in self.per_file_ignores
            if patterns.match(path)
            for code in codes
        )
        return tuple(
            rule
            for rule in self.rules
            if rule.code == NOT_ANALYSED or not rule.code.startswith(ignored)
        )

    def excludes(self, path: Path) -> bool:
        """Whether `exclude` or `extend-exclude` covers `path`."""
        return self.exclude is not None and self.exclude.match(path)


# ------------------------------------------------------------------------------- finding files


class Resolver:
    """The settings of each file, looked up once per folder.

    Raises (in all methods): ConfigError.
    """

    def __init__(
        self,
        rules: Rules,
        overrides: Overrides = Overrides(),
        config: Path | None = None,
        isolated: bool = False,
    ) -> None:
        self._rules = rules
        self._overrides = overrides
        self._folders: dict[Path, Settings] = {}
        self._defaults = self._settings(Options(), Path())
        self._fixed = self._defaults if isolated else None
        if config is not None:
            self._fixed = self._load(config, required=True)

    def settings(self, path: Path) -> Settings:
        """The settings of the file (or of the things in it) at `path`."""
        return self._fixed or self._in_folder(Path(os.path.abspath(path)).parent)

    def excludes(self, path: Path) -> bool:
        """Whether the configuration that governs `path` excludes it."""
        return self.settings(path).excludes(path)

    def _in_folder(self, folder: Path) -> Settings:
        if folder not in self._folders:
            self._folders[folder] = self._look_in(folder) or (
                self._defaults if folder.parent == folder else self._in_folder(folder.parent)
            )
        return self._folders[folder]

    def _look_in(self, folder: Path) -> Settings | None:
        for name in ("gradlint.toml", "pyproject.toml"):
            if (folder / name).is_file() and (found := self._load(folder / name)):
                return found
        return None

    def _load(self, file: Path, required: bool = False) -> Settings | None:
        table = _table(file, required)
        if table is None:
            return None
        root = Path(os.path.abspath(file)).parent
        return self._settings(_Reader(file, root, self._rules).options(table), root)

    def _settings(self, options: Options, root: Path) -> Settings:
        excluded = options.exclude + options.extend_exclude
        over = self._overrides
        return Settings(
            rules=enabled(self._rules, (options.layer, over.layer), over.pedantic),
            min_confidence=over.min_confidence or options.min_confidence or Confidence.MEDIUM,
            fail_on=over.fail_on or options.fail_on or Severity.WARNING,
            severity=options.severity,
            per_file_ignores=options.per_file_ignores,
            exclude=Patterns.of(root, excluded) if excluded else None,
            verify=options.verify,
        )


def _table(file: Path, required: bool) -> Mapping[str, object] | None:
    """The table of settings in `file`; None where a pyproject.toml speaks of other tools only."""
    try:
        data = file.read_bytes()
        # Another tool's broken pyproject.toml (in test data, say) is none of our business.
        if file.name == "pyproject.toml" and b"gradlint" not in data and not required:
            return None
        document: dict[str, object] = tomllib.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: is not valid TOML: {error}") from error
    if file.name != "pyproject.toml":
        return document
    tool = document.get("tool")
    table = tool.get("gradlint") if isinstance(tool, dict) else None
    if table is None and required:
        raise ConfigError(f"{file}: has no [tool.gradlint] table")
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{file}: [tool.gradlint] must be a table")
    return table


# ------------------------------------------------------------------------------- reading tables


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one table. Every method of a key raises ConfigError on a value that it can't take."""

    file: Path
    root: Path
    rules: Rules

    def options(self, table: Mapping[str, object]) -> Options:
        keys: dict[str, Callable[[str, object], Any]] = {
            "select": self.selectors,
            "extend-select": self.selectors,
            "ignore": self.ignored,
            "per-file-ignores": self.per_file_ignores,
            "exclude": self.patterns,
            "extend-exclude": self.patterns,
            "min-confidence": partial(self.choice, Confidence),
            "fail-on": partial(self.choice, Severity),
            "severity": self.severities,
            "baseline": self.baseline,
            "verify": self.verify,
        }
        values = {key: self.known(key, keys, "")(key, value) for key, value in table.items()}
        layer = Layer(
            values.pop("select", None),
            values.pop("extend-select", ()),
            values.pop("ignore", ()),
        )
        return Options(layer, **{key.replace("-", "_"): value for key, value in values.items()})

    def error(self, key: str, text: str) -> ConfigError:
        return ConfigError(f"{self.file}: {key}: {text}")

    def known(
        self, key: str, keys: Mapping[str, Callable[[str, object], Any]], inside: str
    ) -> Callable[[str, object], Any]:
        if key in keys:
            return keys[key]
        raise self.error(inside + key, f"unknown key; did you mean `{inside}{nearest(key, keys)}`?")

    def strings(self, key: str, value: object) -> tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise self.error(key, f"must be a list of strings, not {value!r}")

    def table(self, key: str, value: object) -> Mapping[str, object]:
        if isinstance(value, dict):
            return value
        raise self.error(key, f"must be a table, not {value!r}")

    def selectors(self, key: str, value: object) -> tuple[str, ...]:
        return tuple(self.selector(key, word) for word in self.strings(key, value))

    def selector(self, key: str, word: str) -> str:
        try:
            return selector(word, self.rules)
        except UnknownRule as error:
            raise self.error(key, str(error)) from None

    def ignored(self, key: str, value: object) -> tuple[str, ...]:
        codes = self.selectors(key, value)
        if NOT_ANALYSED in codes:
            raise self.error(key, CANNOT_IGNORE)
        return codes

    def patterns(self, key: str, value: object) -> tuple[str, ...]:
        lines = self.strings(key, value)
        self.spec(key, lines)
        return lines

    def spec(self, key: str, lines: tuple[str, ...]) -> Patterns:
        try:
            return Patterns.of(self.root, lines)
        except ValueError as error:
            raise self.error(key, f"is not a pattern as in .gitignore: {error}") from error

    def per_file_ignores(
        self, key: str, value: object
    ) -> tuple[tuple[Patterns, tuple[str, ...]], ...]:
        return tuple(
            (self.spec(f"{key}.{glob!r}", (glob,)), self.ignored(f"{key}.{glob!r}", codes))
            for glob, codes in self.table(key, value).items()
        )

    def choice(self, kind: type[_Choice], key: str, value: object) -> _Choice:
        names = [item.value for item in kind]
        if isinstance(value, str) and value in names:
            return kind(value)
        guess = nearest(value, names) if isinstance(value, str) else names[0]
        text = f"must be one of {', '.join(names)}, not {value!r}; did you mean {guess!r}?"
        raise self.error(key, text)

    def severities(self, key: str, value: object) -> Mapping[str, Severity]:
        found = {}
        for word, severity in self.table(key, value).items():
            code = self.selector(f"{key}.{word}", word)
            if code not in self.rules:
                raise self.error(f"{key}.{word}", "must be the code or name of one rule")
            found[code] = self.choice(Severity, f"{key}.{word}", severity)
        return found

    def baseline(self, key: str, value: object) -> None:
        raise self.error(key, "is reserved and not yet supported; remove it")

    def verify(self, key: str, value: object) -> Mapping[str, object]:
        keys: dict[str, Callable[[str, object], Any]] = {
            "cases": self.strings,
            "frozen": self.strings,
            "steps": partial(self.positive, int),
            "timeout": partial(self.positive, (int, float)),
            "memory": partial(self.positive, int),
        }
        return {
            name: self.known(name, keys, f"{key}.")(f"{key}.{name}", item)
            for name, item in self.table(key, value).items()
        }

    def positive(self, kind: type | tuple[type, ...], key: str, value: object) -> object:
        is_number = isinstance(value, kind) and not isinstance(value, bool)
        if is_number and value > 0:  # type: ignore[operator]
            return value
        noun = "whole number" if kind is int else "number"
        raise self.error(key, f"must be a {noun} above 0, not {value!r}")


CANNOT_IGNORE = (
    f"{NOT_ANALYSED} cannot be ignored, as a file that is not analysed must not look clean; "
    "exclude the file instead"
)
