// SPDX-License-Identifier: BSD-3-Clause
// What most sources include of the standard library: Makefile.am, "PRECOMPILED". What few of them need, or takes long to
// load, is not worth its place here.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
