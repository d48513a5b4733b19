// SPDX-License-Identifier: BSD-3-Clause
/// Structures that are written down for other processes: numbers in the byte order of the wire, texts and blocks with their
/// length in front. The reader expects untrusted bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "util/bytes.h"

namespace nezha {

class ByteWriter {
 public:
  template <typename T>
  void number(T value) {
    bytes_.resize(bytes_.size() + sizeof(T));
    store_le(bytes_.data() + bytes_.size() - sizeof(T), value);
  }
  template <typename Byte, std::size_t N>
  void block(const std::array<Byte, N>& block) {
    for (const Byte byte : block) bytes_.push_back(static_cast<std::byte>(byte));
  }
  /// Its length u8, then at most `most` bytes of it.
  void text(std::string_view text, std::size_t most = 255) {
    short_bytes(std::as_bytes(std::span(text.data(), std::min(text.size(), most))));
  }
  /// Their number u8, then the bytes; at most 255.
  void short_bytes(std::span<const std::byte> bytes) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), 255);
    number(static_cast<std::uint8_t>(size));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads zeros once the bytes have run out, and remembers that they did.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T number() {
    const std::byte* at = take(sizeof(T));
    return at == nullptr ? T{0} : load_le<T>(at);
  }
  template <typename Byte, std::size_t N>
  void block(std::array<Byte, N>& out) {
    if (const std::byte* at = take(N)) std::memcpy(out.data(), at, N);
  }
  /// One that is longer than `most` is an error.
  std::string text(std::size_t most = 255) {
    const std::span<const std::byte> bytes = counted(most);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::vector<std::byte> short_bytes(std::size_t most) {
    const std::span<const std::byte> bytes = counted(most);
    return {bytes.begin(), bytes.end()};
  }
  bool good() const { return good_; }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> counted(std::size_t most) {
    const std::size_t size = number<std::uint8_t>();
    good_ = good_ && size <= most;
    const std::byte* at = take(size);
    return at == nullptr ? std::span<const std::byte>() : std::span(at, size);
  }
  const std::byte* take(std::size_t size) {
    if (size > bytes_.size()) {
      good_ = false;
      return nullptr;
    }
    const std::byte* at = bytes_.data();
    bytes_ = bytes_.subspan(size);
    return at;
  }

  std::span<const std::byte> bytes_;
  bool good_ = true;
};

}  // namespace nezha
