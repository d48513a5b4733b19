# SPDX-License-Identifier: BSD-3-Clause
"""Quantities as people write them, into bytes per second, seconds and bytes. All raise ValueError, which says what is allowed."""

import re

from nezha_bench.errors import BenchUsage
from nezha_bench.sizes import parse_size

_NUMBER = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z/]*)\s*")
_BITS = {"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "tbit": 1e12}
_BYTES = {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
LEAST_RATE, MOST_RATE, MOST_SECONDS = 1.0, 1e15, 1000
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


def rate(value):
    """'25gbit' or '3GB', with or without /s: bytes per second. These are powers of ten."""
    allowed = "a rate of 1B/s to 1000TB/s with its unit is allowed, as 25gbit, 200mbit or 3GB/s"
    number, unit = _parts(value, allowed)
    unit = unit.removesuffix("/s")
    factor = _BYTES[unit] if unit in _BYTES else _BITS.get(unit.lower(), 0) / 8
    if not LEAST_RATE <= number * factor <= MOST_RATE:
        raise ValueError(allowed)
    return number * factor


def seconds(value):
    """'15us': seconds."""
    allowed = "a time of 0s to 1000s with its unit is allowed, as 15us, 300ns or 2ms"
    number, unit = _parts(value, allowed)
    if unit not in _SECONDS or number * _SECONDS[unit] > MOST_SECONDS:
        raise ValueError(allowed)
    return number * _SECONDS[unit]


def size(value):
    """'128K' or a whole number: bytes."""
    try:
        return 0 if value == 0 and not isinstance(value, bool) else parse_size(str(value))
    except BenchUsage:
        raise ValueError("a number of bytes is allowed, as 4096, 128K or 32M") from None


def _parts(value, allowed):
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(allowed)
    return float(match[1]), match[2]


def rate_text(bytes_per_second):
    bits = 8 * bytes_per_second
    for unit, factor in (("Gbit/s", 1e9), ("Mbit/s", 1e6)):
        if bits >= factor:
            return f"{bits / factor:.3g} {unit}"
    return f"{bits / 1e3:.3g} kbit/s"


def time_text(value):
    """Seconds as people read them."""
    us = value * 1e6
    return f"{us:.1f} us" if us < 1000 else f"{us / 1000:.2f} ms" if us < 1e6 else f"{us / 1e6:.2f} s"
