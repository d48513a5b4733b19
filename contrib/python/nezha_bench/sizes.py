# SPDX-License-Identifier: BSD-3-Clause
"""Message sizes as people write them: 4, 64K, 1M; lists with commas; ranges of powers of two."""

import re

from .errors import BenchUsage

MOST = 1 << 48  # bytes; matplotlib has no axis for whole numbers from 2^63 on
QUICK_SIZES = "4,1K,16K,64K,256K,1M,4M,16M"

_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30}
_SIZE = re.compile(r"([1-9][0-9]{0,14})([KMG]?)", re.IGNORECASE)


def parse_size(text):
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise BenchUsage(f"size '{text}': a number of up to 15 digits with nothing, K, M or G after it is allowed")
    size = int(match[1]) << _SHIFTS[match[2].upper()]
    if size > MOST:
        raise BenchUsage(f"size '{text}': up to {size_text(MOST)} is allowed")
    return size


def parse_sizes(text):
    """'4:64M' are the powers of two times 4 up to 64M; '4,1K,3000' is what it says. Ascending, each once."""
    if ":" not in text:
        return sorted({parse_size(word) for word in text.split(",")})
    low, high = (parse_size(word) for word in text.split(":", 1))
    if low > high:
        raise BenchUsage(f"sizes '{text}': the first is larger than the second")
    sizes = []
    while low <= high:
        sizes.append(low)
        low *= 2
    return sizes


def check_powers_of_two(sizes, why):
    odd = [size for size in sizes if size & (size - 1)]
    if odd:
        raise BenchUsage(f"size {odd[0]}: powers of two are allowed, {why}")


def size_text(size):
    for unit in "GMK":
        if size >= 1 << _SHIFTS[unit] and size % (1 << _SHIFTS[unit]) == 0:
            return f"{size >> _SHIFTS[unit]}{unit}"
    return str(size)
