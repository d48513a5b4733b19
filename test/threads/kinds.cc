// SPDX-License-Identifier: BSD-3-Clause
#include "kinds.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

namespace nezha::test {
namespace {

/// Where tests are optimised little, a third of their time would go into calls of its functions.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  [[gnu::always_inline]] std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [0.5, 1.5) or the negative of it: products neither vanish nor overflow, sums depend on their order.
  [[gnu::always_inline]] double real() {
    const double value = 0.5 + static_cast<double>(next() >> 11) * 0x1p-53;
    return (next() & 1) != 0 ? -value : value;
  }

 private:
  std::uint64_t state_;
};

// ---- data -----------------------------------------------------------------------------------------------------------

template <typename T>
[[gnu::always_inline]] inline T make_value(Random& random) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(random.real());
  } else {
    const std::uint64_t bits = random.next();
    return bits % 8 == 0 ? T{0} : static_cast<T>(bits >> 3);  // zeros are what logical operations are about
  }
}

/// An element is `parts` numbers of type T.
template <typename T, std::size_t parts>
void fill(std::byte* out, std::size_t count, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t i = 0; i < count * parts; ++i) {
    const T value = make_value<T>(random);
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
}

// ---- operations on one number ---------------------------------------------------------------------------------------

template <typename T>
T sum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a + b;
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <typename T>
T prod(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a * b;
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
template <typename T>
T least(T a, T b) { return a < b ? a : b; }
template <typename T>
T most(T a, T b) { return a > b ? a : b; }
template <typename T>
T band(T a, T b) { return static_cast<T>(a & b); }
template <typename T>
T bor(T a, T b) { return static_cast<T>(a | b); }
template <typename T>
T bxor(T a, T b) { return static_cast<T>(a ^ b); }
template <typename T>
T land(T a, T b) { return static_cast<T>(a != 0 && b != 0); }
template <typename T>
T lor(T a, T b) { return static_cast<T>(a != 0 || b != 0); }
template <typename T>
T lxor(T a, T b) { return static_cast<T>((a != 0) != (b != 0)); }
/// A user's operation: commutative, and inexact, so that its order shows.
template <typename T>
T length(T a, T b) { return std::sqrt(a * a + b * b); }

// ---- and on vectors -------------------------------------------------------------------------------------------------

template <typename E, E (*op)(E, E)>
void fold(const std::byte* a, const std::byte* b, std::byte* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    E x, y;
    std::memcpy(&x, a + i * sizeof(E), sizeof(E));
    std::memcpy(&y, b + i * sizeof(E), sizeof(E));
    x = op(x, y);
    std::memcpy(out + i * sizeof(E), &x, sizeof(E));
  }
}

template <typename T>
struct Two {
  T re, im;
};
template <typename T>
Two<T> complex_sum(Two<T> a, Two<T> b) { return {a.re + b.re, a.im + b.im}; }
template <typename T>
Two<T> complex_prod(Two<T> a, Two<T> b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

struct Located {
  std::int32_t value, at;
};
Located most_located(Located a, Located b) {
  if (a.value != b.value) return a.value > b.value ? a : b;
  return {a.value, std::min(a.at, b.at)};
}

/// A sum modulo 2^24 in three bytes: elements that no power of two divides.
struct Three {
  std::uint8_t bytes[3];
};
Three sum_of_three(Three a, Three b) {
  std::uint32_t carry = 0;
  for (int i = 0; i < 3; ++i) {
    carry += a.bytes[i] + b.bytes[i];
    a.bytes[i] = static_cast<std::uint8_t>(carry);
    carry >>= 8;
  }
  return a;
}

/// A derived type of 512 doubles.
struct Row {
  double values[512];
};
Row sum_of_rows(Row a, Row b) {
  for (std::size_t i = 0; i < 512; ++i) a.values[i] += b.values[i];
  return a;
}

// ---- the list -------------------------------------------------------------------------------------------------------

template <typename T, T (*op)(T, T)>
Kind number(const std::string& type_name, const char* op_name, nezha_type_t type, nezha_op_t which) {
  return {type_name + "_" + op_name, type, which, sizeof(T), fill<T, 1>, {fold<T, op>, alignof(T)}};
}

template <typename T>
void add_order(std::vector<Kind>& list, const std::string& name, nezha_type_t type) {
  list.push_back(number<T, sum<T>>(name, "sum", type, NEZHA_SUM));
  list.push_back(number<T, prod<T>>(name, "prod", type, NEZHA_PROD));
  list.push_back(number<T, least<T>>(name, "min", type, NEZHA_MIN));
  list.push_back(number<T, most<T>>(name, "max", type, NEZHA_MAX));
}

template <typename T>
void add_integer(std::vector<Kind>& list, const std::string& name, nezha_type_t type) {
  add_order<T>(list, name, type);
  list.push_back(number<T, band<T>>(name, "band", type, NEZHA_BAND));
  list.push_back(number<T, bor<T>>(name, "bor", type, NEZHA_BOR));
  list.push_back(number<T, bxor<T>>(name, "bxor", type, NEZHA_BXOR));
  list.push_back(number<T, land<T>>(name, "land", type, NEZHA_LAND));
  list.push_back(number<T, lor<T>>(name, "lor", type, NEZHA_LOR));
  list.push_back(number<T, lxor<T>>(name, "lxor", type, NEZHA_LXOR));
}

template <typename T>
void add_complex(std::vector<Kind>& list, const std::string& name, nezha_type_t type) {
  using E = Two<T>;
  list.push_back({name + "_sum", type, NEZHA_SUM, sizeof(E), fill<T, 2>, {fold<E, complex_sum<T>>, alignof(T)}});
  list.push_back({name + "_prod", type, NEZHA_PROD, sizeof(E), fill<T, 2>, {fold<E, complex_prod<T>>, alignof(T)}});
}

void add_host_only(std::vector<Kind>& list) {
  list.push_back({"float_length", NEZHA_FLOAT, NEZHA_OP_OTHER, sizeof(float), fill<float, 1>,
                  {fold<float, length<float>>, alignof(float)}});
  list.push_back({"located_max", NEZHA_TYPE_OTHER, NEZHA_OP_OTHER, sizeof(Located), fill<std::int32_t, 2>,
                  {fold<Located, most_located>, alignof(Located)}});
  list.push_back({"three_sum", NEZHA_TYPE_OTHER, NEZHA_SUM, sizeof(Three), fill<std::uint8_t, 3>,
                  {fold<Three, sum_of_three>, 1}});
  list.push_back({"row_sum", NEZHA_TYPE_OTHER, NEZHA_OP_OTHER, sizeof(Row), fill<double, 512>,
                  {fold<Row, sum_of_rows>, alignof(double)}});
}

std::vector<Kind> make_kinds() {
  std::vector<Kind> list;
  add_integer<std::int8_t>(list, "int8", NEZHA_INT8);
  add_integer<std::int16_t>(list, "int16", NEZHA_INT16);
  add_integer<std::int32_t>(list, "int32", NEZHA_INT32);
  add_integer<std::int64_t>(list, "int64", NEZHA_INT64);
  add_integer<std::uint8_t>(list, "uint8", NEZHA_UINT8);
  add_integer<std::uint16_t>(list, "uint16", NEZHA_UINT16);
  add_integer<std::uint32_t>(list, "uint32", NEZHA_UINT32);
  add_integer<std::uint64_t>(list, "uint64", NEZHA_UINT64);
  add_order<float>(list, "float", NEZHA_FLOAT);
  add_order<double>(list, "double", NEZHA_DOUBLE);
  add_complex<float>(list, "complex_float", NEZHA_COMPLEX_FLOAT);
  add_complex<double>(list, "complex_double", NEZHA_COMPLEX_DOUBLE);
  add_host_only(list);
  return list;
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> list = make_kinds();
  return list;
}

const Kind& kind(std::string_view name) {
  for (const Kind& kind : kinds())
    if (kind.name == name) return kind;
  throw std::invalid_argument("no kind " + std::string(name));
}

std::vector<std::byte> make_vector(const Kind& kind, std::size_t count, std::uint64_t seed) {
  std::vector<std::byte> vector(count * kind.element);
  kind.fill(vector.data(), count, seed);
  return vector;
}

std::vector<std::byte> ring_result(const Kind& kind, std::span<const std::vector<std::byte>> vectors) {
  const std::size_t blocks = vectors.size();
  std::vector<std::byte> result(vectors[0].size());
  const std::size_t count = result.size() / kind.element;
  std::size_t first = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t elements = count / blocks + (block < count % blocks ? 1 : 0);
    const std::size_t at = first * kind.element;
    std::copy_n(vectors[block].begin() + static_cast<std::ptrdiff_t>(at), elements * kind.element,
                result.begin() + static_cast<std::ptrdiff_t>(at));
    for (std::size_t step = 1; step < blocks; ++step)
      kind.host.fold(result.data() + at, vectors[(block + step) % blocks].data() + at, result.data() + at, elements);
    first += elements;
  }
  return result;
}

std::vector<std::byte> tree_result(const Kind& kind, std::span<const std::vector<std::byte>> vectors) {
  const std::size_t count = vectors[0].size() / kind.element;
  std::size_t power = 1;
  while (2 * power <= vectors.size()) power *= 2;
  const std::size_t extra = vectors.size() - power;
  std::vector<std::vector<std::byte>> sums;
  for (std::size_t at = 0; at < vectors.size(); ++at) {  // the first ones pair up
    sums.push_back(vectors[at]);
    if (at >= 2 * extra) continue;
    kind.host.fold(vectors[at].data(), vectors[at + 1].data(), sums.back().data(), count);
    ++at;
  }
  for (; sums.size() > 1;) {
    std::vector<std::vector<std::byte>> next;
    for (std::size_t at = 0; at < sums.size(); at += 2) {
      kind.host.fold(sums[at].data(), sums[at + 1].data(), sums[at].data(), count);
      next.push_back(std::move(sums[at]));
    }
    sums = std::move(next);
  }
  return sums[0];
}

std::vector<std::byte> halving_result(const Kind& kind, std::span<const std::vector<std::byte>> vectors) {
  const std::size_t blocks = vectors.size();
  std::vector<std::byte> result(vectors[0].size());
  const std::size_t count = result.size() / kind.element;
  std::size_t at = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t elements = count / blocks + (block < count % blocks ? 1 : 0);
    std::vector<std::vector<std::byte>> sums;  // by distance from the block's position, backwards
    for (std::size_t back = 0; back < blocks; ++back) {
      const auto from = vectors[(block + blocks - back) % blocks].begin() + static_cast<std::ptrdiff_t>(at);
      sums.emplace_back(from, from + static_cast<std::ptrdiff_t>(elements * kind.element));
    }
    while (sums.size() > 1) {
      const std::size_t distance = (sums.size() + 1) / 2;
      for (std::size_t i = 0; i + distance < sums.size(); ++i)
        kind.host.fold(sums[i + distance].data(), sums[i].data(), sums[i].data(), elements);
      sums.resize(distance);
    }
    std::copy(sums[0].begin(), sums[0].end(), result.begin() + static_cast<std::ptrdiff_t>(at));
    at += elements * kind.element;
  }
  return result;
}

const Sums& ring_sums(const Kind& kind, std::size_t count, const std::vector<int>& order) {
  constexpr std::size_t kMostKnown = 4;
  using Asked = std::tuple<const Kind*, std::size_t, std::vector<int>>;
  thread_local std::map<Asked, Sums> known;
  const Asked asked{&kind, count, order};
  if (const auto found = known.find(asked); found != known.end()) return found->second;
  if (known.size() == kMostKnown) known.clear();
  Sums sums;
  sums.vectors.resize(static_cast<std::size_t>(*std::max_element(order.begin(), order.end())) + 1);
  std::vector<std::vector<std::byte>> ordered;
  for (const int rank : order) {
    ordered.push_back(make_vector(kind, count, static_cast<std::size_t>(rank)));
    sums.vectors[static_cast<std::size_t>(rank)] = ordered.back();
  }
  sums.result = ring_result(kind, ordered);
  return known.emplace(asked, std::move(sums)).first->second;
}

nezha_call_t make_call(const Kind& kind, std::size_t count, const std::byte* send, std::byte* recv) {
  return {NEZHA_ALLREDUCE, send, recv, count, kind.element, kind.type, kind.op, const_cast<HostOperation*>(&kind.host), nullptr, 0, 0};
}

}  // namespace nezha::test
