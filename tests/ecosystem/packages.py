"""Which packages are linted, and how their sources come onto this machine."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ecosystem import Stopped

_PIN = re.compile(r"([a-z0-9-]+)==(\S+) --hash=sha256:([0-9a-f]{64})(?: +#.*)?")
_PIP = (
    *("-m", "pip", "--disable-pip-version-check", "--quiet", "download"),
    *("--no-deps", "--require-hashes", "--only-binary", ":all:"),
    # The same wheel on every system and Python: it is read, never run.
    *("--platform", "manylinux2014_x86_64", "--ignore-requires-python"),
)


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """One pinned wheel."""

    name: str
    version: str
    sha256: str

    @property
    def title(self) -> str:
        """How the kept files call it."""
        return f"{self.name} {self.version}"

    @property
    def folder(self) -> str:
        """The name of the folder that holds its sources: no Python can import from it."""
        return f"{self.name}-{self.version}"

    @property
    def requirement(self) -> str:
        """Its line in a requirements file."""
        return f"{self.name}=={self.version} --hash=sha256:{self.sha256}"


def pinned(text: str) -> list[Package]:
    """The packages of packages.txt. Raises Stopped with the line that cannot be read."""
    packages = []
    for number, line in enumerate(text.split("\n"), 1):
        if line and not line.startswith("#"):
            if not (parts := _PIN.fullmatch(line)):
                form = "name==version --hash=sha256:... with the name in lower case"
                raise Stopped(f"packages.txt:{number}: a package is `{form}`, not {line!r}")
            packages.append(Package(parts[1], parts[2], parts[3]))
    return packages


def fetch(packages: Iterable[Package], directory: Path) -> None:
    """Puts the `.py` files of each package that is not there yet into its folder of `directory`.

    Raises Stopped when pip cannot download one, or its hash is not the pinned one.
    """
    missing = [package for package in packages if not (directory / package.folder).is_dir()]
    if not missing:
        return
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory) as name:
        wheels = _download(missing, Path(name))
        for package in missing:
            unpacked = Path(name, package.folder)
            unpack(wheels[package.sha256], unpacked)
            unpacked.rename(directory / package.folder)


def _download(packages: list[Package], scratch: Path) -> dict[str, Path]:
    """The wheels, by their SHA-256."""
    print(f"Downloading {len(packages)} packages to lint them", file=sys.stderr, flush=True)
    requirements = scratch / "requirements.txt"
    requirements.write_text("\n".join(package.requirement for package in packages), "utf-8")
    command = [sys.executable, *_PIP, "--dest", str(scratch), "--requirement", str(requirements)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Stopped(f"pip could not download what packages.txt pins:\n{done.stderr.strip()}")
    return {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in scratch.glob("*.whl")}


def unpack(wheel: Path, folder: Path) -> None:
    """Writes the `.py` files of `wheel` into `folder`, which is made."""
    folder.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.endswith(".py")])
