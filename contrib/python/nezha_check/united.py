# SPDX-License-Identifier: BSD-3-Clause
"""Which sources can be one translation unit: templates of the standard library are then instantiated once for a dozen files,
which makes a build three times cheaper. It is for builds that are only to be tested; elsewhere each source compiles alone.

What files name for themselves must not meet in a unit. Those share one of which neither mentions a name that the other has in
an unnamed namespace, as a macro or as a test suite. That is told by the project's format: a namespace's content is not
indented.
"""

import dataclasses
import functools
import os
import re

MOST_LINES = 2500  # of a unit, so that each processor has some
INCLUDES = ("", "components", "components/include")  # where the project's headers are, in the checkout

_WORD = re.compile(r"[A-Za-z_]\w*")
_MEMBER = re.compile(r"(?:(?<!\.)\.|->)[A-Za-z_]\w*|\bstd::(?:\w+::)*\w+")  # an object's or the library's: only a macro is meant by it
_NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])*'", re.DOTALL)
_HEADER = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
_TYPE = re.compile(r"^(?:template <.*> )?(?:(?:struct|class|enum class|enum|union) ([A-Za-z_]\w*)|using (\w+) =)", re.MULTILINE)
_ENUMERATORS = re.compile(r"^enum[^{;]*\{([^}]*)\}", re.MULTILINE)
_DECLARED = re.compile(r"^(?!using |struct |class |enum |union |namespace |template |#)[A-Za-z_][^\n(={;]*?([A-Za-z_]\w*)"
                       r"(?:\[[^\n]*?\])?\s*[(={;]", re.MULTILINE)
_MACRO = re.compile(r"^\s*#\s*define (\w+)", re.MULTILINE)
_SUITE = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+)|^(?:TYPED|REGISTER_TYPED)_TEST_SUITE(?:_P)?\((\w+)", re.MULTILINE)
_INSTANCE = re.compile(r"^INSTANTIATE_\w+\((\w+), (\w+)", re.MULTILINE)
_MAIN = re.compile(r"^int main\(", re.MULTILINE)
_ALLOCATOR = re.compile(r"^void\* operator new", re.MULTILINE)
# System headers that cannot be included together.
_RIVALS = re.compile(r"<(?:linux|netinet)/tcp\.h>")


@dataclasses.dataclass(frozen=True)
class Source:
    path: str
    names: frozenset  # what nobody else may mention in its unit
    macros: frozenset  # what of that may not be anybody's word at all
    words: frozenset  # by which it may mean something of its own or of its headers
    headers: frozenset  # of the project, all that come with it
    suites: frozenset  # of googletest
    lines: int
    is_program: bool  # has a main()
    allocates: bool  # replaces operator new

    def spoils(self, other):
        """Whether a name of this one means something else in the other, or in a header that the other brings."""
        return not self.names.isdisjoint(other.words) or any(
            not self.names.isdisjoint(_mentioned_in(header)) or not self.macros.isdisjoint(_words_of(header))
            for header in {other.path, *other.headers} - self.headers)


def _code(text):
    return _NO_CODE.sub(" ", text)


@functools.cache
def _text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


@functools.cache
def _words_of(path):
    return frozenset(_WORD.findall(_code(_text_of(path))))


@functools.cache
def _mentioned_in(path):
    """The words by which something of the file's own, or of its headers, may be meant."""
    return frozenset(_WORD.findall(_MEMBER.sub(" ", _code(_text_of(path)))))


def _found(header, folder, top):
    places = (os.path.join(place, header) for place in (folder, *(os.path.join(top, name) for name in INCLUDES)))
    return next((os.path.normpath(place) for place in places if os.path.exists(place)), None)


@functools.cache
def _headers_of(path, top):
    found, left = set(), [path]
    while left:
        file = left.pop()
        for header in _HEADER.findall(_text_of(file)):
            place = _found(header, os.path.dirname(file), top)
            if place and place not in found:
                found.add(place)
                left.append(place)
    return frozenset(found)


def _suites_of(text):
    """Those that it defines, and those of headers that it instantiates."""
    return {first or second for first, second in _SUITE.findall(text)} | {suite for _, suite in _INSTANCE.findall(text)}


def _own_names(text):
    code = _code(text)
    names = {f"{prefix}{suite}" for prefix, suite in _INSTANCE.findall(code)}
    for region in map(_code, _UNNAMED.findall(text)):
        names |= {first or second for first, second in _TYPE.findall(region)} | set(_DECLARED.findall(region))
        for enumerators in _ENUMERATORS.findall(region):
            names |= set(_WORD.findall(re.sub(r"=[^,]*", "", enumerators)))
    return names


@functools.cache
def source(path, top):
    text = _text_of(path)
    suites = _suites_of(text)
    macros = frozenset(_MACRO.findall(_code(text)))
    names = _own_names(text) | suites | macros
    rivals = {_RIVALS.pattern} if _RIVALS.search(text) else set()
    return Source(path, frozenset(names | rivals), macros, _mentioned_in(path) | rivals, _headers_of(path, top), frozenset(suites),
                  text.count("\n"), bool(_MAIN.search(text)), bool(_ALLOCATOR.search(text)))


def units(groups, most=MOST_LINES):
    """Distributes groups of sources, each of which stays together, over units: a list of lists of groups."""
    made = []
    for group in groups:
        size = sum(file.lines for file in group)
        for unit in made:
            old = [file for member in unit for file in member]
            if sum(file.lines for file in old) + size <= most and not any(
                    a.spoils(b) or b.spoils(a) for a in group for b in old):
                unit.append(group)
                break
        else:
            made.append([group])
    return made
