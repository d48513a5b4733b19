// SPDX-License-Identifier: BSD-3-Clause
/// Two processes in one with rails of libfabric, for rail_contract.h.
#pragma once

#include <poll.h>

#include <memory>
#include <utility>

#include "rail/message/message_transport.h"
#include "rail/ofi/ofi.h"
#include "rail_contract.h"

namespace nezha::test {

inline InterfaceList words(const char* text) {
  InterfaceList list;
  EXPECT_TRUE(parse(text, list).ok());
  return list;
}

/// Over the rail of that name.
template <const char* kName>
struct OfiWorld final : RailWorld {
  OfiWorld() : RailWorld(first, second, {.most_queued = 8 * 1024 * 1024}) {
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
  }
  Nanoseconds now() const override { return clock.now(); }
  bool step() override { return static_cast<int>(progress(a)) + static_cast<int>(progress(b)) != 0; }
  bool step_a() override { return progress(a); }
  bool there() const override { return a.transport && b.transport; }
  static bool progress(Side& side) { return side.transport && side.transport->progress(Watch::all); }
  bool rest() override {
    poll(nullptr, 0, 1);
    clock.advance(kMillisecond);
    return true;
  }

  HandClock clock;
  MessageOptions options = ofi_options(0);
  Side first{11}, second{22};
};

}  // namespace nezha::test
