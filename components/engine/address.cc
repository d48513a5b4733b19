// SPDX-License-Identifier: BSD-3-Clause
/// Layout, little endian: magic u32, wire version u32, id u64, job rank u32, window u64, key 32 bytes, node text, number
/// of rails u8, and each as rail_address.h says; then the number of the loopback's network u64 and, unless it is 0, the loopback
/// as the rails; then the tree u64, the upstream text, the set of rails that are near u16 and the name of the acceptor 16
/// bytes. A text is its length u8 and its bytes.
#include "engine/address.h"

#include "trunk/wire.h"
#include "util/byte_stream.h"

namespace nezha {
namespace {

constexpr std::uint32_t kMagic = 0x5a48454e;  // "NEHZ"

Status bad(const std::string& what) { return {Code::bad_peer, "a peer's address is not understood: " + what}; }

}  // namespace

std::vector<std::byte> encode_address(const Address& address) {
  ByteWriter out;
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
  out.number(address.tree);
  out.text(address.upstream);
  out.number(address.near);
  out.block(address.acceptor);
  return out.take();
}

Status decode_address(std::span<const std::byte> bytes, Address& out) {
  ByteReader in(bytes);
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
  out.tree = in.number<std::uint64_t>();
  out.upstream = in.text();
  out.near = in.number<RailSet>();
  in.block(out.acceptor);
  if (!in.good() || !in.at_end()) return bad("its length is wrong");
  if (out.id == 0) return bad("it has no id");
  return {};
}

}  // namespace nezha
