// SPDX-License-Identifier: BSD-3-Clause
/// All kernels of one level. Compiled once per level, with NEZHA_KERNEL_LEVEL naming the level and the compiler's flags
/// permitting its instructions. Everything here is local to the object file, and no header with inline functions is
/// included: the linker keeps one copy of those, and it could be one that this processor cannot run.
///
/// Vectors are spelled out (the compilers' vector extension) instead of left to the optimiser: whole and partial
/// vectors then take the same instructions, so the bits of a result do not depend on its place, on the level or on
/// the compiler's choices.
#include "reduce/kernels.h"

#include <cstdint>

namespace nezha {
namespace {

#if defined(__AVX512BW__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif

template <typename T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <typename T>
using Vector = typename VectorOf<T>::type;

// Each takes vectors only: scalars narrower than int would be promoted, and their product could overflow.
struct Sum {
  template <typename V>
  static V apply(V a, V b) { return a + b; }
};
struct Prod {
  template <typename V>
  static V apply(V a, V b) { return a * b; }
};
/// For floating point. Of two NaNs the processor keeps the first, but the compiler may swap the operands.
template <typename Op>
struct FirstNan {
  template <typename V>
  static V apply(V a, V b) { return a != a ? a + a : Op::apply(a, b); }
};
struct Min {
  template <typename V>
  static V apply(V a, V b) { return a < b ? a : b; }
};
struct Max {
  template <typename V>
  static V apply(V a, V b) { return a > b ? a : b; }
};
struct BitAnd {
  template <typename V>
  static V apply(V a, V b) { return a & b; }
};
struct BitOr {
  template <typename V>
  static V apply(V a, V b) { return a | b; }
};
struct BitXor {
  template <typename V>
  static V apply(V a, V b) { return a ^ b; }
};
/// 1 where `a` is not 0, 0 elsewhere.
template <typename V>
V truth(V a) { return a != 0 ? V{} + 1 : V{}; }

struct LogicalAnd {
  template <typename V>
  static V apply(V a, V b) { return truth(a) & truth(b); }
};
struct LogicalOr {
  template <typename V>
  static V apply(V a, V b) { return truth(a | b); }
};
struct LogicalXor {
  template <typename V>
  static V apply(V a, V b) { return truth(a) ^ truth(b); }
};

template <typename V, typename Op>
[[gnu::always_inline]] inline void reduce_vector(const char* a, const char* b, char* out) {
  V x, y;
  __builtin_memcpy(&x, a, sizeof(V));
  __builtin_memcpy(&y, b, sizeof(V));
  x = Op::apply(x, y);
  __builtin_memcpy(out, &x, sizeof(V));
}

/// The last bytes, fewer than a vector: the same operation on vectors filled up with zeros.
template <typename V, typename Op>
[[gnu::noinline]] void reduce_rest(const char* a, const char* b, char* out, std::size_t bytes) {
  char x[sizeof(V)] = {}, y[sizeof(V)] = {};
  __builtin_memcpy(x, a, bytes);
  __builtin_memcpy(y, b, bytes);
  reduce_vector<V, Op>(x, y, x);
  __builtin_memcpy(out, x, bytes);
}

/// An element is `parts` numbers of type T.
template <typename T, typename Op, std::size_t parts = 1>
void kernel(const void* left, const void* right, void* result, std::size_t count) {
  using V = Vector<T>;
  const char* a = static_cast<const char*>(left);
  const char* b = static_cast<const char*>(right);
  char* out = static_cast<char*>(result);
  const std::size_t bytes = count * parts * sizeof(T);
  std::size_t at = 0;
  for (; at + 4 * sizeof(V) <= bytes; at += 4 * sizeof(V)) {
    reduce_vector<V, Op>(a + at, b + at, out + at);
    reduce_vector<V, Op>(a + at + sizeof(V), b + at + sizeof(V), out + at + sizeof(V));
    reduce_vector<V, Op>(a + at + 2 * sizeof(V), b + at + 2 * sizeof(V), out + at + 2 * sizeof(V));
    reduce_vector<V, Op>(a + at + 3 * sizeof(V), b + at + 3 * sizeof(V), out + at + 3 * sizeof(V));
  }
  for (; at + sizeof(V) <= bytes; at += sizeof(V)) reduce_vector<V, Op>(a + at, b + at, out + at);
  if (at < bytes) reduce_rest<V, Op>(a + at, b + at, out + at, bytes - at);
}

template <typename T>
constexpr void add_order(ReduceKernel* row) {
  row[NEZHA_MIN] = kernel<T, Min>;
  row[NEZHA_MAX] = kernel<T, Max>;
}

/// What is the same for signed and unsigned integers of a size.
template <typename Unsigned>
constexpr void add_integer(ReduceKernel* row) {
  row[NEZHA_SUM] = kernel<Unsigned, Sum>;
  row[NEZHA_PROD] = kernel<Unsigned, Prod>;
  row[NEZHA_BAND] = kernel<Unsigned, BitAnd>;
  row[NEZHA_BOR] = kernel<Unsigned, BitOr>;
  row[NEZHA_BXOR] = kernel<Unsigned, BitXor>;
  row[NEZHA_LAND] = kernel<Unsigned, LogicalAnd>;
  row[NEZHA_LOR] = kernel<Unsigned, LogicalOr>;
  row[NEZHA_LXOR] = kernel<Unsigned, LogicalXor>;
}

template <typename Signed, typename Unsigned>
constexpr void add_integers(ReduceKernel* signed_row, ReduceKernel* unsigned_row) {
  add_integer<Unsigned>(signed_row);
  add_integer<Unsigned>(unsigned_row);
  add_order<Signed>(signed_row);
  add_order<Unsigned>(unsigned_row);
}

template <typename T>
constexpr void add_real(ReduceKernel* row) {
  row[NEZHA_SUM] = kernel<T, FirstNan<Sum>>;
  row[NEZHA_PROD] = kernel<T, FirstNan<Prod>>;
  add_order<T>(row);
}

constexpr KernelTable make_table() {
  KernelTable table{};
  auto& rows = table.kernels;
  add_integers<std::int8_t, std::uint8_t>(rows[NEZHA_INT8], rows[NEZHA_UINT8]);
  add_integers<std::int16_t, std::uint16_t>(rows[NEZHA_INT16], rows[NEZHA_UINT16]);
  add_integers<std::int32_t, std::uint32_t>(rows[NEZHA_INT32], rows[NEZHA_UINT32]);
  add_integers<std::int64_t, std::uint64_t>(rows[NEZHA_INT64], rows[NEZHA_UINT64]);
  add_real<float>(rows[NEZHA_FLOAT]);
  add_real<double>(rows[NEZHA_DOUBLE]);
  rows[NEZHA_COMPLEX_FLOAT][NEZHA_SUM] = kernel<float, FirstNan<Sum>, 2>;
  rows[NEZHA_COMPLEX_DOUBLE][NEZHA_SUM] = kernel<double, FirstNan<Sum>, 2>;
  return table;
}

}  // namespace

#define NEZHA_JOIN(a, b) a##b
#define NEZHA_TABLE_OF(level) NEZHA_JOIN(kernels_, level)
constexpr KernelTable NEZHA_TABLE_OF(NEZHA_KERNEL_LEVEL) = make_table();

}  // namespace nezha
