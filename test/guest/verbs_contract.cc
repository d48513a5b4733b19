// SPDX-License-Identifier: BSD-3-Clause
/// The contract of rails, kept by verbs over a real device: the first one of the network namespace. For a machine, or a guest, that has one.
#include <poll.h>

#include <memory>
#include <utility>
#include <vector>

#include "rail/message/message_transport.h"
#include "rail/verbs/verbs.h"
#include "../unit/rail_contract.h"

namespace nezha::test {
namespace {

/// Two processes in one, whose pairs go from the device to itself. `kLends`: payloads are read from where they lie.
template <bool kLends>
struct VerbsWorld final : RailWorld {
  VerbsWorld() : RailWorld(first, second, {.most_queued = 8 * 1024 * 1024}) {
    if (kLends) options.lend_from = options.least_lent = 1;
    for (Side* side : {&a, &b}) open(*side);
    a.known = b.self, b.known = a.self;
  }
  void open(Side& side) {
    const VerbsLibrary* const library = load_verbs(side.why);
    if (library == nullptr) return;
    std::vector<std::unique_ptr<VerbsDevice>> chosen;
    for (auto& device : open_verbs_devices(*library))
      if (chosen.empty() && device->look().ok()) chosen.push_back(std::move(device));
    const Log log(Side::write_line, &side, 2);
    VerbsOptions verbs;
    verbs.slot = options.slot;
    auto kind = make_verbs_kind(verbs, std::move(chosen), clock, log, side.why);
    if (kind) side.transport = make_message_transport(std::move(kind), options, clock, log, side, side.self, &side.why);
  }
  Nanoseconds now() const override { return clock.now(); }
  bool step() override { return static_cast<int>(progress(a)) + static_cast<int>(progress(b)) != 0; }
  bool there() const override { return a.transport && b.transport; }
  bool step_a() override { return progress(a); }
  static bool progress(Side& side) { return side.transport && side.transport->progress(Watch::all); }
  bool rest() override {
    ::poll(nullptr, 0, 1);
    clock.advance(kMillisecond);
    return true;
  }

  HandClock clock;
  MessageOptions options;
  Side first{11}, second{22};
};

INSTANTIATE_TEST_SUITE_P(Verbs, RailContract, testing::Values(made<VerbsWorld<false>>));
INSTANTIATE_TEST_SUITE_P(VerbsInPlace, RailContract, testing::Values(made<VerbsWorld<true>>));

}  // namespace
}  // namespace nezha::test
