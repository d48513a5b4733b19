// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/inquiry.h"

#include <poll.h>

#include <utility>
#include <vector>

#include "engine/aggregation/greeting.h"
#include "engine/aggregation/lookup.h"
#include "engine/engine.h"
#include "util/random.h"

namespace nezha {
namespace {

constexpr Nanoseconds kPatience = 3 * kSecond;

/// False: nothing listens there.
bool ask_at(const SocketAddress& place, const Secret& key, const Address& own, AggregatorAnswer& answer) {
  Fd fd;
  if (answer.status = begin_connection(place, fd); !answer.status.ok()) return false;
  const SystemClock clock;
  const Nanoseconds began = clock.now();
  Greeting greeting(Greeting::Side::rank, std::move(fd), key, own, began + kPatience);
  Greeting::State state;
  while ((state = greeting.step(clock.now())) == Greeting::State::pending) {
    pollfd ready{greeting.fd(), static_cast<short>(greeting.wants_write() ? POLLOUT : POLLIN), 0};
    poll(&ready, 1, static_cast<int>((began + kPatience - clock.now()) / kMillisecond) + 1);
  }
  answer.took = clock.now() - began;
  if (state == Greeting::State::failed)
    answer.status = greeting.why();
  else
    answer.address = greeting.peer();
  return greeting.connected();
}

}  // namespace

AggregatorAnswer ask_aggregator(const AggregatorList::Entry& entry, const Secret& key, const std::string& node) {
  AggregatorAnswer answer;
  std::vector<SocketAddress> places;
  if (answer.status = look_up(entry, places); !answer.status.ok()) return answer;
  Address own;
  own.node = node;
  if (answer.status = random_id(own.id); !answer.status.ok()) return answer;
  for (const SocketAddress& place : places)
    if (ask_at(place, key, own, answer)) break;
  return answer;
}

}  // namespace nezha
