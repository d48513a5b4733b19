// SPDX-License-Identifier: BSD-3-Clause
#include "engine/aggregation/lookup.h"

#include <netdb.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "engine/detached_thread.h"

namespace nezha {

Status look_up(const AggregatorList::Entry& entry, std::vector<SocketAddress>& places) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(entry.host.c_str(), std::to_string(entry.port).c_str(), &hints, &found);
  if (error != 0) return {Code::io, gai_strerror(error)};
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    SocketAddress& place = places.emplace_back();
    place.size = std::min<socklen_t>(each->ai_addrlen, sizeof place.storage);
    std::memcpy(&place.storage, each->ai_addr, place.size);
  }
  freeaddrinfo(found);
  return {};
}

struct Lookup::State {
  AggregatorList::Entry entry;
  std::atomic<bool> over = false;
  Status status;
  std::vector<SocketAddress> places;

  void run() {
    status = look_up(entry, places);
    over.store(true, std::memory_order_release);
  }
};

void Lookup::begin(const AggregatorList::Entry& entry) {
  state_ = std::make_shared<State>();
  state_->entry = entry;
  if (detach_thread("nezha-resolve", [state = state_] { state->run(); })) return;
  state_->status = {Code::io, "the system refuses a thread that looks up its name"};
  state_->over.store(true, std::memory_order_relaxed);
}

bool Lookup::over() const { return state_->over.load(std::memory_order_acquire); }
const Status& Lookup::status() const { return state_->status; }
const std::vector<SocketAddress>& Lookup::places() const { return state_->places; }

Status begin_connection(const SocketAddress& place, Fd& fd) {
  fd = Fd(socket(place.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool begun = fd && (connect(fd.get(), place.get(), place.size) == 0 || errno == EINPROGRESS);
  return begun ? Status() : Status{Code::io, std::string("connect: ") + std::strerror(errno)};
}

}  // namespace nezha
