// SPDX-License-Identifier: BSD-3-Clause
/// Layout, little endian: magic u32, wire version u32, id u64, job rank u32, window u64, key 32 bytes, node text, number
/// of rails u8, and for each: transport text, name text, family u8, address 16 bytes, prefix u8, port u16, speed u32; then the
/// number of the loopback's network u64 and, unless it is 0, the loopback as the rails; then the name of the door 16 bytes. A
/// text is its length u8 and its bytes.
#include "engine/address.h"

#include <algorithm>
#include <cstring>

#include "trunk/wire.h"
#include "util/bytes.h"

namespace nezha {
namespace {

constexpr std::uint32_t kMagic = 0x5a48454e;  // "NEHZ"

class Writer {
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
  void text(const std::string& text) {
    const std::size_t size = std::min<std::size_t>(text.size(), 255);
    number(static_cast<std::uint8_t>(size));
    for (std::size_t i = 0; i < size; ++i) bytes_.push_back(static_cast<std::byte>(text[i]));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads zeros once the bytes have run out, and remembers that they did.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T number() {
    const std::byte* at = take(sizeof(T));
    return at == nullptr ? T{0} : load_le<T>(at);
  }
  template <typename Byte, std::size_t N>
  void block(std::array<Byte, N>& out) {
    if (const std::byte* at = take(N)) std::memcpy(out.data(), at, N);
  }
  std::string text() {
    const std::size_t size = number<std::uint8_t>();
    const std::byte* at = take(size);
    return at == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(at), size);
  }
  bool good() const { return good_; }
  bool at_end() const { return bytes_.empty(); }

 private:
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

void write_rail(Writer& out, const RailAddress& rail) {
  out.text(rail.transport);
  out.text(rail.name);
  out.number(rail.family);
  out.block(rail.address);
  out.number(rail.prefix);
  out.number(rail.port);
  out.number(rail.speed_mbps);
}

RailAddress read_rail(Reader& in) {
  RailAddress rail;
  rail.transport = in.text();
  rail.name = in.text();
  rail.family = in.number<std::uint8_t>();
  in.block(rail.address);
  rail.prefix = in.number<std::uint8_t>();
  rail.port = in.number<std::uint16_t>();
  rail.speed_mbps = in.number<std::uint32_t>();
  return rail;
}

Status bad(const std::string& what) { return {Code::bad_peer, "a peer's address is not understood: " + what}; }

}  // namespace

std::vector<std::byte> encode_address(const Address& address) {
  Writer out;
  out.number(kMagic);
  out.number(kWireVersion);
  out.number(address.id);
  out.number(address.job_rank);
  out.number(address.window);
  out.block(address.key);
  out.text(address.node);
  out.number(static_cast<std::uint8_t>(address.rails.size()));
  for (const RailAddress& rail : address.rails) write_rail(out, rail);
  out.number(address.loopback.network);
  if (address.loopback.network != 0) write_rail(out, address.loopback.address);
  out.block(address.door);
  return out.take();
}

Status decode_address(std::span<const std::byte> bytes, Address& out) {
  Reader in(bytes);
  if (in.number<std::uint32_t>() != kMagic) return bad("it was not written by Nezha");
  const auto version = in.number<std::uint32_t>();
  if (version != kWireVersion)
    return bad("wire version " + std::to_string(version) + " instead of " + std::to_string(kWireVersion));
  out = Address{};
  out.id = in.number<std::uint64_t>();
  out.job_rank = in.number<std::uint32_t>();
  out.window = in.number<std::uint64_t>();
  in.block(out.key);
  out.node = in.text();
  const std::size_t rails = in.number<std::uint8_t>();
  if (rails > kMaxRails) return bad(std::to_string(rails) + " rails");
  for (std::size_t i = 0; i < rails; ++i) out.rails.push_back(read_rail(in));
  out.loopback.network = in.number<std::uint64_t>();
  if (out.loopback.network != 0) out.loopback.address = read_rail(in);
  in.block(out.door);
  if (!in.good() || !in.at_end()) return bad("its length is wrong");
  if (out.id == 0) return bad("it has no id");
  return {};
}

}  // namespace nezha
