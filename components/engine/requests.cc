// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests.h"

#include <algorithm>
#include <exception>
#include <new>

namespace nezha {

Request& Requests::take() {
  if (idle_.empty()) {
    all_.push_back(std::make_unique<Request>());
    all_.back()->engine = &engine_;
    idle_.reserve(all_.size());
    pending_.reserve(all_.size());
    idle_.push_back(all_.back().get());
  }
  Request& request = *idle_.back();
  idle_.pop_back();
  request.number = 0;
  request.state.store(NEZHA_PENDING, std::memory_order_relaxed);
  return request;
}

void Requests::begin(Request& request) {
  const bool first = !queued(*request.team, request.shared);
  pending_.push_back(&request);
  pending_count_.store(pending_.size(), std::memory_order_release);
  if (first) start(request);
}

bool Requests::has_room(const Request& request) {
  return request.shared ? request.team->hierarchy()->room() : request.team->operations().room();
}

/// Those of one team that go the same way begin in the order of the calls, for that is the same on all ranks: before an
/// earlier one has room, a later one has none either.
bool Requests::start(Request& request) {
  if (!request.team->error().empty() || !has_room(request)) return false;
  if (request.shared) {
    const auto [track, number] = core_.start_shared(*request.team, request.call, request.algorithm, false);
    request.track = track;
    request.number = number;
  } else {
    request.number = core_.start(*request.team, request.call, request.algorithm);
  }
  return true;
}

bool Requests::over(Request& request) {
  if (request.number == 0) return !request.team->error().empty();
  if (request.shared) return request.team->hierarchy()->over({request.track, request.number});
  return request.team->finished(request.number);
}

/// Begins it if it has room, and says whether it is over.
bool Requests::go_on(Request& request, bool& begun) {
  try {
    if (request.number == 0) begun = start(request) || begun;
    return over(request);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    core_.break_off(*request.team, std::current_exception());
    return true;
  }
}

void Requests::finish(Request& request) {
  request.state.store(request.team->error().empty() ? NEZHA_OK : NEZHA_ERR_FAILED, std::memory_order_release);
}

/// They begin in their order: where any of the team's waits, the last one does.
bool Requests::queued(const Team& team, bool shared) const {
  const auto last = std::find_if(pending_.rbegin(), pending_.rend(),
                                 [&](const Request* each) { return each->team == &team && each->shared == shared; });
  return last != pending_.rend() && (*last)->number == 0;
}

bool Requests::all_shared() const {
  return std::all_of(pending_.begin(), pending_.end(), [](const Request* each) { return each->shared; });
}

bool Requests::call_host() const {
  return std::any_of(pending_.begin(), pending_.end(), [](const Request* each) { return each->call.calls_host(); });
}

void Requests::forget(const Team& team) {
  std::erase_if(pending_, [&](Request* each) {
    if (each->team != &team) return false;
    each->state.store(NEZHA_ERR_FAILED, std::memory_order_release);
    return true;
  });
  pending_count_.store(pending_.size(), std::memory_order_release);
}

}  // namespace nezha
