// SPDX-License-Identifier: BSD-3-Clause
#include "rail/ofi/rdm_addresses.h"

#include <utility>

namespace nezha {

RdmPeer::~RdmPeer() {
  fi_addr_t gone = address;
  fi_av_remove(&addresses_.vector_, &gone, 1, 0);
  addresses_.peers_.erase(bytes_);
}

Status RdmAddresses::find(std::span<const std::byte> bytes, std::shared_ptr<RdmPeer>& peer) {
  std::vector<std::byte> key(bytes.begin(), bytes.end());
  if (const auto known = peers_.find(key); known != peers_.end()) {
    peer = known->second.lock();
    return {};
  }
  fi_addr_t address = FI_ADDR_NOTAVAIL;
  const int count = fi_av_insert(&vector_, key.data(), 1, &address, 0, nullptr);
  if (count < 0) return library_.error("fi_av_insert", count);
  if (count != 1 || address == FI_ADDR_NOTAVAIL) return {Code::bad_peer, "libfabric does not take the other side's address"};
  peer = std::make_shared<RdmPeer>(*this, key, address);
  peers_.emplace(std::move(key), peer);
  return {};
}

}  // namespace nezha
