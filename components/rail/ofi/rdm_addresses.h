// SPDX-License-Identifier: BSD-3-Clause
/// The addresses that an endpoint without connections may send to: libfabric's address vector, where each is for as long as a
/// pair has it.
#pragma once

#include <rdma/fi_domain.h>

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "rail/ofi/library.h"
#include "util/status.h"

namespace nezha {

class RdmAddresses;

/// One of them. The last owner's end removes it.
class RdmPeer {
 public:
  RdmPeer(RdmAddresses& addresses, std::vector<std::byte> bytes, fi_addr_t address)
      : address(address), addresses_(addresses), bytes_(std::move(bytes)) {}
  ~RdmPeer();
  RdmPeer(const RdmPeer&) = delete;
  RdmPeer& operator=(const RdmPeer&) = delete;

  const std::vector<std::byte>& bytes() const { return bytes_; }

  const fi_addr_t address;

 private:
  RdmAddresses& addresses_;
  const std::vector<std::byte> bytes_;
};

/// Outlives its peers.
class RdmAddresses {
 public:
  RdmAddresses(const OfiLibrary& library, fid_av& vector) : library_(library), vector_(vector) {}

  /// `bytes` are in the provider's format and fit it.
  Status find(std::span<const std::byte> bytes, std::shared_ptr<RdmPeer>& peer);
  std::size_t size() const { return peers_.size(); }

 private:
  friend class RdmPeer;

  const OfiLibrary& library_;
  fid_av& vector_;
  std::map<std::vector<std::byte>, std::weak_ptr<RdmPeer>> peers_;
};

}  // namespace nezha
