# SPDX-License-Identifier: BSD-3-Clause
"""What is too large for a word of a command line, compressed to one word or a few that no shell or launcher changes.

The kernel takes words of 128 KiB at most (MAX_ARG_STRLEN), so what is longer even then becomes several.
"""

import base64
import json
import lzma

from .errors import CommandError

_LETTERS = b"._"  # in place of base64's + and /; with - a word could look like an option
_WORD = 96 << 10
_MOST = 64 << 20  # bytes unpacked: some 16384 nodes with 16 rails each take half of it
_MEMORY = 128 << 20


def pack(value):
    """The words for `value` (anything of JSON's), at least one."""
    text = base64.b64encode(lzma.compress(json.dumps(value).encode()), _LETTERS).decode()
    return [text[at:at + _WORD] for at in range(0, len(text), _WORD)]


def unpack(words):
    """The value that pack() made these words of. Raises CommandError where they are not such, or too large."""
    try:
        reader = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MEMORY)
        text = reader.decompress(base64.b64decode("".join(words), _LETTERS, validate=True), _MOST + 1)
    except (ValueError, lzma.LZMAError) as error:
        raise CommandError(f"{_beginning(words)} is nothing that nezha has packed ({error})") from None
    if len(text) > _MOST:
        raise CommandError(f"{_beginning(words)} unpacks to more than the {_MOST} bytes that are allowed")
    if not reader.eof or reader.unused_data:
        raise CommandError(f"{_beginning(words)}, {len(words)} words, is cut off or has something behind it: was each word "
                           "passed on by the launcher?")
    try:
        return json.loads(text)
    except ValueError as error:
        raise CommandError(f"{_beginning(words)} holds no JSON ({error})") from None


def _beginning(words):
    text = "".join(words)
    return f"'{text[:20]}{'...' if len(text) > 20 else ''}'"
