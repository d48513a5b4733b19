// SPDX-License-Identifier: BSD-3-Clause
/// The part of a TCP lane that leaves large frames to its rail's worker. Such a frame is away: it counts as partly sent, from
/// the moment it is left until progress() has heard that the worker's call is over.
#include <algorithm>

#include "rail/tcp/socket.h"
#include "rail/tcp/tcp_lane.h"

namespace nezha {

/// Null where the frame is not worth it, or the rail has none.
RailWorker* TcpLane::worker_for(std::size_t bytes) const {
  return bytes < context_.options.task ? nullptr : context_.workers[spec().local_rail];
}

void TcpLane::leave_to(RailWorker& worker) {
  away_ = &worker;
  context_.away.push_back(this);
  task_.prepare(fd_.get(), rest(), context_.over.get());
  worker.submit(task_);
}

/// Afterwards the worker reads no memory of the frame, and what is left of it is in the rest.
void TcpLane::call_back() {
  if (!away()) return;
  if (!away_->cancel(task_)) task_.run();
  keep_rest(task_.take_sent());
}

/// Afterwards the worker knows the lane no more. One whose task is over may still be busy telling so.
void TcpLane::end_task() {
  RailWorker* worker = context_.workers[spec().local_rail];
  if (worker == nullptr) return;
  worker->cancel(task_);
  away_ = nullptr;
  std::erase(context_.away, this);
}

void TcpLane::task_over() {
  away_ = nullptr;
  if (state_ != State::open) return;
  ask_info();
  keep_rest(task_.take_sent());
  if (task_.error() != 0) return fail(io_error("sending", task_.error()));
  if (busy()) return watch_writable(true);
  drop_rest();
  events_->lane_free(*this);
}

bool TcpLaneContext::go_on_with_tasks() {
  bool any = false;
  for (std::size_t left = away.size(); left != 0; --left) {  // a lane that is free at once leaves its next frame
    const auto found = std::find_if(away.begin(), away.end(), [](const TcpLane* lane) { return lane->task().over(); });
    if (found == away.end()) break;
    TcpLane& lane = **found;
    away.erase(found);
    lane.task_over();
    any = true;
  }
  return any;
}

}  // namespace nezha
