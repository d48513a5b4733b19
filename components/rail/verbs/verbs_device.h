// SPDX-License-Identifier: BSD-3-Clause
/// One port of one RDMA device, and what its queue pairs share: a protection domain with the memory that is registered there, and a
/// queue of completions with a descriptor.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rail/verbs/verbs_library.h"
#include "rail/verbs/verbs_options.h"
#include "rail/verbs/verbs_place.h"
#include "rail/verbs/verbs_receives.h"
#include "rail/verbs/verbs_regions.h"
#include "util/status.h"

namespace nezha {

/// One by which a port can be reached.
struct VerbsAddress {
  VerbsPlace place;
  std::uint8_t prefix = 0;
  std::string interface;  ///< that it is of: "eth0"
};

class VerbsDevice {
 public:
  /// `sysfs`: below it lies what the kernel says of devices.
  VerbsDevice(const VerbsLibrary& verbs, ibv_context* context, std::string name, std::uint8_t port, std::string sysfs = "/sys");
  ~VerbsDevice();
  VerbsDevice(const VerbsDevice&) = delete;
  VerbsDevice& operator=(const VerbsDevice&) = delete;

  /// Finds its addresses, of which the first is the rail's. Not ok: it cannot be a rail, for that reason.
  Status look();
  /// IPv4 before IPv6, low before high: alike whenever they are looked for.
  const std::vector<VerbsAddress>& addresses() const { return addresses_; }
  /// Becomes the rail's.
  void choose(const VerbsAddress& address) { address_ = address; }
  /// Makes what queue pairs need.
  Status activate();

  const VerbsLibrary& verbs() const { return verbs_; }
  const std::string& name() const { return name_; }  ///< "mlx5_0"
  std::uint8_t port() const { return port_; }
  bool infiniband() const { return infiniband_; }
  const VerbsPlace& place() const { return address_.place; }
  std::uint8_t prefix() const { return address_.prefix; }
  const std::string& interface() const { return address_.interface; }
  std::uint32_t speed_mbps() const { return speed_mbps_; }
  /// That of its NIC; of a device of the kernel's own (soft RoCE), the one of the NIC below. Empty: there is none.
  std::string pci_device() const;
  ibv_pd* domain() const { return domain_; }
  VerbsRegions& regions() { return regions_; }
  /// Registers memory of the rail's own, for which the application's has to go where there is not enough room for both.
  Status enroll(std::span<std::byte> memory, ibv_mr*& region);
  /// For a new pair. Null: the device has none that are shared, or not the memory.
  std::shared_ptr<VerbsReceives> receives(const VerbsOptions& options);
  /// Those of that number; null: they are gone.
  VerbsReceives* find_receives(std::uint32_t number) const;
  ibv_cq* completions() const { return completions_; }
  int completion_fd() const { return channel_->fd; }
  int event_fd() const { return context_->async_fd; }

  /// The port as it is now. Not ok: it has no link.
  Status ask_port(ibv_port_attr& port) const;
  /// Where the rail's address is in the table of GIDs now: indices move as addresses come and go.
  Status find_gid(std::uint8_t& index, ibv_gid& gid) const;
  /// Completions for so many requests more, or less, have room in the queue. Not ok: they have not.
  Status reserve(std::uint32_t requests);
  void release(std::uint32_t requests) { reserved_ -= requests; }

  /// At most `most` completions.
  int poll(ibv_wc* to, int most);
  /// completion_fd() becomes readable with the next completion. False: there is one now.
  bool arm();
  /// One event of the device, and whether it ends the port's connections; false: there is none.
  bool next_event(std::string& text, bool& ends);

 private:
  Status find_addresses();
  Status read_table(std::vector<ibv_gid_entry>& table) const;
  bool is_address(const ibv_gid_entry& entry, VerbsPlace& place) const;

  const VerbsLibrary& verbs_;
  ibv_context* const context_;
  const std::string name_;
  const std::uint8_t port_;
  const std::string sysfs_;
  bool infiniband_ = false;
  std::vector<VerbsAddress> addresses_;
  VerbsAddress address_;
  std::uint32_t speed_mbps_ = 0;

  ibv_pd* domain_ = nullptr;
  VerbsRegions regions_;
  bool shares_ = true;                                     ///< until it is known that it cannot
  std::shared_ptr<VerbsReceives> receives_;                ///< for new pairs
  std::vector<std::weak_ptr<VerbsReceives>> all_receives_;
  std::uint32_t last_receives_ = 0;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* completions_ = nullptr;
  std::uint32_t reserved_ = 0;  ///< entries of completions_ that requests may take
  bool armed_ = false;
  bool seen_ = false;  ///< something completed since the channel's last event was read: only then is there one to read
  bool found_ = false;  ///< found_one_ was polled and not handed out yet
  ibv_wc found_one_{};
};

/// All ports of all devices of this node that can be looked at, opened.
std::vector<std::unique_ptr<VerbsDevice>> open_verbs_devices(const VerbsLibrary& verbs);

}  // namespace nezha
