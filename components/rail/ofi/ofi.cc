// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/ofi.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "rail/ofi/msg_rail.h"
#include "rail/ofi/ofi_address.h"
#include "rail/ofi/ofi_nic.h"
#include "rail/ofi/rdm_rail.h"
#include "util/bytes.h"
#include "util/crc32c.h"
#include "util/epoll.h"

namespace nezha {
namespace {

/// Its rails' descriptors, nested in two.
class OfiKind final : public MessageKind {
 public:
  OfiKind() : completions_(epoll_create1(EPOLL_CLOEXEC)), events_(epoll_create1(EPOLL_CLOEXEC)) {}

  Status add(const OfiLibrary& library, OfiChoice choice);

  std::span<const RailAddress> rails() const override { return addresses_; }
  std::string where(const RailAddress& rail) const override;
  std::string pci_device(std::size_t rail) const override { return ofi_pci_device(rails_[rail]->info()); }
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

Status OfiKind::watch(const OfiRail& rail) {
  for (const Watch watch : {Watch::all, Watch::rare}) {
    std::vector<int> fds;
    if (Status status = rail.descriptors(watch, fds); !status.ok()) return status;
    const Fd& set = watch == Watch::all ? completions_ : events_;
    if (!std::all_of(fds.begin(), fds.end(), [&](int fd) { return add_to(set, fd); }))
      return {Code::io, std::string("epoll: ") + std::strerror(errno)};
  }
  return {};
}

std::uint32_t hash(const std::string& text) { return crc32c(0, reinterpret_cast<const std::byte*>(text.data()), text.size()); }

/// Rails of different providers or formats of addresses cannot reach each other; those of one fabric do so directly. Its name is
/// that of the network where the provider is one for IP.
RailAddress published(const std::string& name, const OfiRail& rail) {
  RailAddress address;
  address.transport = kOfi;
  address.name = name;
  const fi_info& info = rail.info();
  const std::string fabric = std::string(info.fabric_attr->prov_name) + " " + info.fabric_attr->name;
  const std::string format = info.fabric_attr->prov_name + std::to_string(info.addr_format);
  address.family = static_cast<std::uint8_t>(hash(format));
  address.network.resize(sizeof(std::uint32_t));
  store_le(address.network.data(), hash(fabric));
  address.place = rail.address();
  return address;
}

std::unique_ptr<OfiRail> make_rail(const OfiLibrary& library, std::size_t number, OfiLibrary::Info info) {
  if (info->ep_attr->type == FI_EP_RDM) return std::make_unique<RdmRail>(library, number, std::move(info));
  return std::make_unique<MsgRail>(library, number, std::move(info));
}

Status OfiKind::add(const OfiLibrary& library, OfiChoice choice) {
  std::unique_ptr<OfiRail> rail = make_rail(library, rails_.size(), std::move(choice.info));
  Status status = rail->open();
  if (status.ok()) status = watch(*rail);
  if (!status.ok()) return status;
  addresses_.push_back(published(choice.name, *rail));
  rails_.push_back(std::move(rail));
  return {};
}

Status OfiKind::connect(std::size_t rail, const RailAddress& remote, std::unique_ptr<QueuePair>& made) {
  const OfiRail& own = *rails_[rail];
  if (!fits(own.info().addr_format, remote.place, own.address()))
    return {Code::bad_peer, "the other side's address is none of this provider"};
  return rails_[rail]->connect(remote.place, made);
}

/// Peers' rails have the format of one of this process's.
std::string OfiKind::where(const RailAddress& rail) const {
  for (std::size_t own = 0; own < rails_.size(); ++own)
    if (addresses_[own].family == rail.family) return ofi_address_text(rails_[own]->info().addr_format, rail.place);
  return ofi_address_text(FI_FORMAT_UNSPEC, rail.place);
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

/// Each message costs the provider for TCP some ten system calls at both ends, so that a piece of 64 KiB with its header is to be
/// one. Credits come from the other process: on busy nodes a lane goes idle where they do not suffice for as long as that gets no
/// processor. They are acknowledged a slot at a time, since an acknowledgement costs as many system calls.
MessageOptions ofi_options(std::size_t first_rail) {
  MessageOptions options;
  options.first_rail = first_rail;
  options.slot = 65 * 1024;
  options.ack_bytes = 64 * 1024;
  options.bound_times = 2;
  return options;
}

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
