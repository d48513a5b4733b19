// SPDX-License-Identifier: BSD-3-Clause
/// Every kernel of every level against a scalar reference, bit for bit: so all levels agree with one another too.
#include "reduce/reduce.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace nezha {
namespace {

constexpr nezha_op_t kOps[] = {NEZHA_SUM, NEZHA_PROD, NEZHA_MIN,  NEZHA_MAX, NEZHA_BAND,
                               NEZHA_BOR, NEZHA_BXOR, NEZHA_LAND, NEZHA_LOR, NEZHA_LXOR};
constexpr std::size_t kGuard = 16;  // bytes on both sides of a result

std::vector<Level> levels() {
  std::vector<Level> result;
  for (const Level level : {Level::baseline, Level::avx2, Level::avx512}) {
    if (level <= best_level()) result.push_back(level);
  }
  return result;
}

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 1, std::uint8_t,
    std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template <typename T>
T made_quiet(T nan) {
  constexpr int kQuietBit = sizeof(T) == 4 ? 22 : 51;
  return std::bit_cast<T>(std::bit_cast<BitsOf<T>>(nan) | BitsOf<T>{1} << kQuietBit);
}

template <typename T>
T expected_real(nezha_op_t op, T a, T b) {
  if (op == NEZHA_MIN) return a < b ? a : b;
  if (op == NEZHA_MAX) return a > b ? a : b;
  if (std::isnan(a)) return made_quiet(a);
  if (std::isnan(b)) return made_quiet(b);
  const volatile T left = a, right = b;  // at run time, so that an invalid operation gives the processor's NaN
  return op == NEZHA_SUM ? left + right : left * right;
}

template <typename T>
T expected_integer(nezha_op_t op, T a, T b) {
  // Wide enough that nothing overflows, and unsigned, so that it would wrap.
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (op) {
    case NEZHA_SUM: return static_cast<T>(x + y);
    case NEZHA_PROD: return static_cast<T>(x * y);
    case NEZHA_MIN: return a < b ? a : b;
    case NEZHA_MAX: return a > b ? a : b;
    case NEZHA_BAND: return static_cast<T>(x & y);
    case NEZHA_BOR: return static_cast<T>(x | y);
    case NEZHA_BXOR: return static_cast<T>(x ^ y);
    case NEZHA_LAND: return a != 0 && b != 0;
    case NEZHA_LOR: return a != 0 || b != 0;
    case NEZHA_LXOR: return (a != 0) != (b != 0);
    default: ADD_FAILURE() << "no reference for operation " << op; return 0;
  }
}

template <typename T>
T expected(nezha_op_t op, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return expected_real(op, a, b);
  } else {
    return expected_integer(op, a, b);
  }
}

template <typename T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    const auto with_payload = [](T nan, unsigned payload) {
      return std::bit_cast<T>(static_cast<BitsOf<T>>(std::bit_cast<BitsOf<T>>(nan) + payload));
    };
    const T inf = Limits::infinity();
    return {T(0), -T(0), inf, -inf, with_payload(Limits::quiet_NaN(), 1), with_payload(-Limits::quiet_NaN(), 2),
            with_payload(inf, 3), Limits::denorm_min(), -Limits::min(), Limits::max(), T(0.1), T(-3)};
  } else {
    return {T(0), T(0), T(0), T(1), static_cast<T>(-1), Limits::min(), Limits::max()};
  }
}

/// Half special values, half any bits.
template <typename T>
std::vector<T> values(std::size_t count, std::mt19937_64& random) {
  const std::vector<T> special = special_values<T>();
  std::vector<T> result(count);
  for (T& value : result) {
    const std::uint64_t bits = random();
    value = bits & 1 ? special[(bits >> 1) % special.size()] : std::bit_cast<T>(static_cast<BitsOf<T>>(bits >> 8));
  }
  return result;
}

/// Memory of exactly this size, `offset` bytes away from an aligned address.
class Memory {
 public:
  Memory(std::size_t offset, std::size_t size) : bytes_(offset + size, std::byte{0xa5}), offset_(offset) {}
  template <typename T>
  Memory(std::size_t offset, const std::vector<T>& content) : Memory(offset, content.size() * sizeof(T)) {
    if (!content.empty()) std::memcpy(data(), content.data(), content.size() * sizeof(T));
  }
  std::byte* data() { return bytes_.data() + offset_; }
  bool operator==(const Memory&) const = default;

 private:
  std::vector<std::byte> bytes_;
  std::size_t offset_;
};

template <typename T>
void expect_bits(const std::byte* got, const std::vector<T>& wanted, const std::vector<T>& a, const std::vector<T>& b) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    T value;
    std::memcpy(&value, got + i * sizeof(T), sizeof(T));
    ASSERT_EQ(std::bit_cast<BitsOf<T>>(value), std::bit_cast<BitsOf<T>>(wanted[i]))
        << "element " << i << " of " << wanted.size() << ": " << +a[i] << " and " << +b[i];
  }
}

/// `count` elements of `parts` numbers each: into memory of its own, into the first operand, into the second.
template <typename T>
void check(ReduceKernel kernel, nezha_op_t op, std::size_t count, std::size_t parts, std::mt19937_64& random) {
  const std::size_t numbers = count * parts;
  const std::vector<T> a = values<T>(numbers, random), b = values<T>(numbers, random);
  std::vector<T> wanted(numbers);
  for (std::size_t i = 0; i < numbers; ++i) wanted[i] = expected(op, a[i], b[i]);

  Memory left(random() % 9, a), right(random() % 9, b);
  const Memory left_before = left, right_before = right;
  const std::size_t offset = random() % 9;
  Memory out(offset, numbers * sizeof(T) + 2 * kGuard), out_wanted = out;
  if (numbers > 0) std::memcpy(out_wanted.data() + kGuard, wanted.data(), numbers * sizeof(T));
  kernel(left.data(), right.data(), out.data() + kGuard, count);
  expect_bits(out.data() + kGuard, wanted, a, b);
  ASSERT_EQ(out, out_wanted) << "wrote beside the result";
  ASSERT_EQ(left, left_before);
  ASSERT_EQ(right, right_before);

  kernel(left.data(), right.data(), left.data(), count);
  expect_bits(left.data(), wanted, a, b);
  ASSERT_EQ(right, right_before);
  left = left_before;
  kernel(left.data(), right.data(), right.data(), count);
  expect_bits(right.data(), wanted, a, b);
  ASSERT_EQ(left, left_before);
}

/// Counts around every size of vector, and a long odd one.
template <typename T>
void check_all(nezha_type_t type, std::size_t parts = 1) {
  for (const Level level : levels()) {
    for (const nezha_op_t op : kOps) {
      const ReduceKernel kernel = find_kernel_at(level, type, op);
      if (kernel == nullptr) continue;
      SCOPED_TRACE(testing::Message() << "level " << static_cast<int>(level) << " operation " << op);
      std::mt19937_64 random(op);
      for (std::size_t count = 0; count <= 600 / (sizeof(T) * parts); ++count) {
        ASSERT_NO_FATAL_FAILURE(check<T>(kernel, op, count, parts, random));
      }
      ASSERT_NO_FATAL_FAILURE(check<T>(kernel, op, 16411, parts, random));
    }
  }
}

TEST(Reduce, Int8) { check_all<std::int8_t>(NEZHA_INT8); }
TEST(Reduce, Int16) { check_all<std::int16_t>(NEZHA_INT16); }
TEST(Reduce, Int32) { check_all<std::int32_t>(NEZHA_INT32); }
TEST(Reduce, Int64) { check_all<std::int64_t>(NEZHA_INT64); }
TEST(Reduce, Uint8) { check_all<std::uint8_t>(NEZHA_UINT8); }
TEST(Reduce, Uint16) { check_all<std::uint16_t>(NEZHA_UINT16); }
TEST(Reduce, Uint32) { check_all<std::uint32_t>(NEZHA_UINT32); }
TEST(Reduce, Uint64) { check_all<std::uint64_t>(NEZHA_UINT64); }
TEST(Reduce, Float) { check_all<float>(NEZHA_FLOAT); }
TEST(Reduce, Double) { check_all<double>(NEZHA_DOUBLE); }
TEST(Reduce, ComplexFloat) { check_all<float>(NEZHA_COMPLEX_FLOAT, 2); }
TEST(Reduce, ComplexDouble) { check_all<double>(NEZHA_COMPLEX_DOUBLE, 2); }

bool has_kernel(nezha_type_t type, nezha_op_t op) {
  if (type == NEZHA_TYPE_OTHER || op == NEZHA_OP_OTHER) return false;
  if (type == NEZHA_COMPLEX_FLOAT || type == NEZHA_COMPLEX_DOUBLE) return op == NEZHA_SUM;
  if (type == NEZHA_FLOAT || type == NEZHA_DOUBLE) return op <= NEZHA_MAX;
  return true;
}

TEST(Reduce, KernelsAreThereForExactlyWhatTheyCanDo) {
  for (int type = 0; type < NEZHA_TYPE_COUNT; ++type) {
    for (int op = 0; op < NEZHA_OP_COUNT; ++op) {
      const auto the_type = static_cast<nezha_type_t>(type);
      const auto the_op = static_cast<nezha_op_t>(op);
      for (const Level level : levels()) {
        EXPECT_EQ(find_kernel_at(level, the_type, the_op) != nullptr, has_kernel(the_type, the_op)) << type << " " << op;
      }
      EXPECT_EQ(find_kernel(the_type, the_op), find_kernel_at(best_level(), the_type, the_op));
    }
  }
  EXPECT_EQ(find_kernel(NEZHA_TYPE_COUNT, NEZHA_SUM), nullptr);
  EXPECT_EQ(find_kernel(NEZHA_INT8, NEZHA_OP_COUNT), nullptr);
}

}  // namespace
}  // namespace nezha
