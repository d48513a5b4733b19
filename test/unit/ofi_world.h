// SPDX-License-Identifier: BSD-3-Clause
/// Two processes in one with rails of libfabric, for rail_contract.h.
#pragma once

#include <poll.h>

#include <memory>
#include <utility>

#include "rail/message/message_transport.h"
#include "rail/ofi/ofi.h"
#include "tcp_pair.h"

namespace nezha::test {

inline InterfaceList words(const char* text) {
  InterfaceList list;
  EXPECT_TRUE(parse(text, list).ok());
  return list;
}

/// Over the rail of that name.
template <const char* kName>
struct OfiWorld {
  static constexpr bool kAuthenticates = true, kWakes = true;
  static constexpr std::size_t kMostQueued = 8 * 1024 * 1024;

  OfiWorld() {
    Status why;
    const OfiLibrary* library = OfiLibrary::load(why);
    if (library == nullptr) return;
    for (Side* side : {&a, &b}) {
      OfiDiscovery found;
      if (!discover_ofi(*library, words(kName), {}, found).ok() || found.chosen.empty()) return;
      const Log log(Side::write_line, side, 2);
      auto kind = make_ofi_kind(*library, std::move(found.chosen), log, &side->why);
      if (kind) side->transport = make_message_transport(std::move(kind), options, clock, log, *side, side->self, &side->why);
    }
    a.known = b.self, b.known = a.self;
    there = a.transport && b.transport;
  }
  Nanoseconds now() const { return clock.now(); }
  bool step() { return static_cast<int>(progress(a)) + static_cast<int>(progress(b)) != 0; }
  bool step_a() { return progress(a); }
  static bool progress(Side& side) { return side.transport && side.transport->progress(Watch::all); }
  bool rest() {
    poll(nullptr, 0, 1);
    clock.advance(kMillisecond);
    return true;
  }

  bool there = false;
  HandClock clock;
  MessageOptions options = ofi_options(0);
  Side a{11}, b{22};
};

}  // namespace nezha::test
