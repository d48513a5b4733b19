// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/ofi.h"

#include <sys/epoll.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "rail/ofi/ofi_rail.h"
#include "util/fd.h"

namespace nezha {
namespace {

/// Its rails' descriptors, nested in two.
class OfiKind final : public MessageKind {
 public:
  OfiKind() : completions_(epoll_create1(EPOLL_CLOEXEC)), events_(epoll_create1(EPOLL_CLOEXEC)) {}

  Status add(const OfiLibrary& library, OfiChoice choice);

  std::span<const RailAddress> rails() const override { return addresses_; }
  Status connect(std::size_t rail, const RailAddress& remote, std::unique_ptr<QueuePair>& made) override;
  bool poll(Watch watch, MessageArrivals& arrivals) override;
  int fd(Watch watch) const override { return (watch == Watch::all ? completions_ : events_).get(); }
  bool may_sleep(Watch watch) override;

 private:
  Status watch(const OfiRail& rail);

  Fd completions_, events_;
  std::vector<std::unique_ptr<OfiRail>> rails_;
  std::vector<RailAddress> addresses_;
};

bool add_to(const Fd& set, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  return epoll_ctl(set.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

Status OfiKind::watch(const OfiRail& rail) {
  int completions = -1, events = -1;
  Status status = rail.completions_fd(completions);
  if (status.ok()) status = rail.events_fd(events);
  if (!status.ok()) return status;
  if (add_to(completions_, completions) && add_to(events_, events)) return {};
  return {Code::io, std::string("epoll: ") + std::strerror(errno)};
}

RailAddress published(const std::string& name, const OfiRail& rail) {
  RailAddress address;
  address.transport = kOfi;
  address.name = name;
  address.family = 6;
  address.prefix = 128;
  std::memcpy(address.address.data(), rail.address().data(), std::min<std::size_t>(16, rail.address().size()));
  return address;
}

Status OfiKind::add(const OfiLibrary& library, OfiChoice choice) {
  auto rail = std::make_unique<OfiRail>(library, rails_.size(), std::move(choice.info));
  Status status = rail->open();
  if (status.ok()) status = watch(*rail);
  if (!status.ok()) return status;
  addresses_.push_back(published(choice.name, *rail));
  rails_.push_back(std::move(rail));
  return {};
}

Status OfiKind::connect(std::size_t rail, const RailAddress& remote, std::unique_ptr<QueuePair>& made) {
  made = rails_[rail]->connect(std::as_bytes(std::span(remote.address)));
  return made ? Status{} : Status{Code::no_memory, "libfabric has no memory"};
}

bool OfiKind::poll(Watch watch, MessageArrivals& arrivals) {
  bool any = false;
  for (const auto& rail : rails_) any |= rail->poll(watch, arrivals);
  return any;
}

bool OfiKind::may_sleep(Watch watch) {
  bool may = true;
  for (const auto& rail : rails_) may = rail->may_sleep(watch) && may;
  return may;
}

}  // namespace

std::unique_ptr<MessageKind> make_ofi_kind(const OfiLibrary& library, std::vector<OfiChoice> chosen, Log log, Status* why) {
  auto kind = std::make_unique<OfiKind>();
  *why = {Code::no_rail, "no domain is left for ofi rails"};
  for (OfiChoice& choice : chosen) {
    const std::string name = choice.name;
    Status status = kind->add(library, std::move(choice));
    if (status.ok()) continue;
    log.line(0, "rail ofi/%s is left out: %s", name.c_str(), status.text().c_str());
    *why = std::move(status);
  }
  if (kind->rails().empty()) return nullptr;
  *why = {};
  return kind;
}

}  // namespace nezha
