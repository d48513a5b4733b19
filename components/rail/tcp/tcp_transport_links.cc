// SPDX-License-Identifier: BSD-3-Clause
/// The part of the TCP transport that follows links and addresses. It runs while the engine's lock is held, so it takes what the
/// kernel's messages say; the few questions that are left go to the service thread. Interfaces that are no rails and may not
/// become any cost a look at the table.
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "rail/tcp/tcp_transport.h"

namespace nezha {

/// Without it, lanes are lost as late as by TCP's own means.
void TcpTransport::watch_links(std::unique_ptr<LinkWatch> links) {
  if (options_.rules && options_.rules->single_node != 0) return;  // rails of the loopback interface do not change
  links_ = std::move(links);
  Status status;
  if (!links_) {
    links_ = std::make_unique<LinkWatch>();
    status = links_->open(options_.link_buffer);
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &links_;
  for (const Fd* set : {&context_.all, &context_.rare})
    if (status.ok() && epoll_ctl(set->get(), EPOLL_CTL_ADD, links_->fd(), &event) != 0) status = io_error("epoll", errno);
  if (status.ok()) {
    if (links_->stale()) ask_links();
    return;
  }
  links_.reset();
  log_.line(1, "%s", status.text().c_str());
}

void TcpTransport::follow_links(bool ready) {
  if (ready) {
    std::vector<std::uint32_t> touched;
    links_->hear(touched);
    consider(touched);
  }
  if (look_again_ != 0 && context_.clock.now() >= look_again_) look_at_rails();
  if (asking_ && task_.over()) take_answer();
  if (asking_) return;
  const bool due = ask_again_ == 0 || context_.clock.now() >= ask_again_;
  if (due && (links_->stale() || !newcomers_.empty())) ask_links();
}

/// What it would be, if it may become a rail.
std::optional<Interface> TcpTransport::new_rail(const SystemInterface& link) const {
  if (!options_.rules || acceptor_.rails().size() + options_.first_rail >= kMaxRails) return {};
  std::optional<Interface> chosen = choose_interface(link, *options_.rules);
  return chosen && !acceptor_.knows(*chosen) ? chosen : std::nullopt;
}

/// Links that have changed.
void TcpTransport::consider(std::span<const std::uint32_t> touched) {
  bool rails = false;
  for (const std::uint32_t index : touched) {
    const SystemInterface* link = links_->table().find(index);
    if (acceptor_.concerns(index, link == nullptr ? std::string() : link->name)) {
      rails = true;
      continue;
    }
    const auto same = [&](const SystemInterface& each) { return each.index == index; };
    if (link != nullptr && new_rail(*link) && std::none_of(newcomers_.begin(), newcomers_.end(), same))
      newcomers_.push_back(*link);
  }
  if (rails) look_at_rails();
}

void TcpTransport::look_at_rails() {
  look_again_ = 0;
  std::vector<SystemInterface> present;
  std::vector<Interface> fit;
  for (const auto& [index, link] : links_->table().all()) {
    if (!acceptor_.concerns(index, link.name)) continue;
    present.push_back(link);
    if (!options_.rules) continue;
    if (std::optional<Interface> chosen = choose_interface(link, *options_.rules)) fit.push_back(std::move(*chosen));
  }
  for (std::size_t rail = 0; rail < acceptor_.rails().size(); ++rail) {
    const Acceptor::Link link = acceptor_.look_at(rail, present, fit);
    if (link.again) look_again_ = context_.clock.now() + options_.reopen_pause;
    if (link.lost) take_down(rail, link.why);
    if (link.back) admission_.rail_back(static_cast<std::uint8_t>(acceptor_.number(rail)), acceptor_.rails()[rail]);
  }
}

void TcpTransport::ask_links() {
  ask_again_ = 0;
  asking_ = true;
  if (links_->stale()) links_->list_begins();
  task_.prepare(links_->stale(), std::exchange(newcomers_, {}));
  if (service_ != nullptr) return service_->submit(task_);
  task_.run();
  take_answer();
}

/// Without descriptors or memory the list has to wait.
void TcpTransport::take_answer() {
  asking_ = false;
  if (task_.whole() && !task_.status().ok()) {
    log_.line(2, "links have changed, but how cannot be told now: %s", task_.status().text().c_str());
    ask_again_ = context_.clock.now() + options_.accept_pause;
  } else if (task_.whole()) {
    take_list();
  }
  for (const SystemInterface& each : task_.take_speeds()) take_up(each);
}

void TcpTransport::take_list() {
  if (!links_->list_ends(task_.list())) return;
  std::vector<std::uint32_t> all;
  for (const auto& [index, link] : links_->table().all()) all.push_back(index);
  consider(all);
  look_at_rails();  // some may be gone
}

/// Its speed is known now. It may have changed meanwhile.
void TcpTransport::take_up(const SystemInterface& asked) {
  const SystemInterface* link = links_->table().find(asked.index);
  std::optional<Interface> chosen = link == nullptr ? std::nullopt : new_rail(*link);
  if (!chosen) return;
  chosen->speed_mbps = asked.speed_mbps;
  acceptor_.add_rail(std::move(*chosen), *this);
}

void TcpTransport::take_down(std::size_t rail, const std::string& why) {
  for (const auto& lane : lanes_)
    if (lane->spec().local_rail == acceptor_.number(rail)) lane->break_off({Code::io, why});
}

}  // namespace nezha
