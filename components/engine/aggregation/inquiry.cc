// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/inquiry.h"

#include <poll.h>

#include <utility>

#include "engine/aggregation/greeting.h"
#include "engine/aggregation/lookup.h"
#include "engine/engine.h"
#include "util/random.h"

namespace nezha {
namespace {

constexpr Nanoseconds kPatience = 3 * kSecond;

}  // namespace

AggregatorAnswer ask_aggregator(const AggregatorList::Entry& entry, const Secret& key, const std::string& node) {
  AggregatorAnswer answer;
  SocketAddress place;
  if (answer.status = look_up(entry, place); !answer.status.ok()) return answer;
  Address own;
  own.node = node;
  if (answer.status = random_id(own.id); !answer.status.ok()) return answer;
  Fd fd;
  if (answer.status = begin_connection(place, fd); !answer.status.ok()) return answer;
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
  return answer;
}

}  // namespace nezha
