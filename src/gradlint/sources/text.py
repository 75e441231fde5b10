"""From bytes to text, as Python itself would read them."""

from __future__ import annotations

import codecs
import io

from gradlint.sources.errors import NotAnalysed

_WIDE = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
#: Codecs that no source is written in, and that may take quadratic time.
_NOT_FOR_SOURCE = frozenset({"idna", "punycode"})


def decode(data: bytes) -> str:
    """Return the text of a Python source, without a byte order mark and with its own line ends.

    The encoding is UTF-8 unless a comment on one of the first two lines names another (PEP 263).
    Raises NotAnalysed with the place of the first byte that does not fit.
    """
    for mark, name in _WIDE.items():
        if data.startswith(mark):
            raise NotAnalysed(f"the file is {name}, which Python does not read", "save it as UTF-8")
    encoding = _encoding_of(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise _undecodable(encoding, error) from None
    except (LookupError, ValueError):
        raise _unknown(encoding) from None
    before, found, _ = text.partition("\0")
    if found:
        raise NotAnalysed(
            "the file holds NUL bytes: it is not Python source",
            "save it as UTF-8, or exclude it",
            *_end_of(before),
        )
    return text


def _encoding_of(data: bytes) -> str:
    """Return the name of the codec. The rare case is left to the standard library."""
    first_lines = b"\n".join(data[:1_000].splitlines()[:2])
    if b"coding" not in first_lines:
        return "utf-8-sig"
    import tokenize

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        _, _, name = str(error).partition("unknown encoding: ")
        if name:
            raise _unknown(name) from None
        return "utf-8-sig"
    if encoding in _NOT_FOR_SOURCE:
        raise _unknown(encoding)
    return encoding


def _unknown(encoding: str) -> NotAnalysed:
    return NotAnalysed(
        f"the file claims the encoding {encoding}, which this Python cannot read text with",
        "save it as UTF-8, and correct or remove its coding comment",
    )


def _undecodable(encoding: str, error: UnicodeDecodeError) -> NotAnalysed:
    name = "UTF-8" if encoding.startswith("utf-8") else encoding
    data = error.object  # without the byte order mark
    return NotAnalysed(
        f"the file is not {name}: byte 0x{data[error.start]:02x} does not fit",
        "save it as UTF-8, or name its encoding on the first line: # -*- coding: latin-1 -*-",
        *_end_of(data[: error.start].decode(encoding, "replace")),
    )


def _end_of(text: str) -> tuple[int, int]:
    """Return the line and column (from 1) just after `text`."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return len(lines), len(lines[-1]) + 1
