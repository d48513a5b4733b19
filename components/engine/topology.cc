// SPDX-License-Identifier: BSD-3-Clause
#include "engine/topology.h"

#include <hwloc.h>

namespace nezha {
namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

Bitmap bitmap_of(const Cores& cores) {
  Bitmap bitmap(hwloc_bitmap_alloc());
  for (const unsigned core : cores) hwloc_bitmap_set(bitmap.get(), core);
  return bitmap;
}

Cores cores_of(hwloc_const_bitmap_t bitmap) {
  Cores cores;
  for (int core = hwloc_bitmap_first(bitmap); core >= 0; core = hwloc_bitmap_next(bitmap, core))
    cores.push_back(static_cast<unsigned>(core));
  return cores;
}

}  // namespace

struct Topology::Hwloc {
  hwloc_topology_t topology = nullptr;

  explicit Hwloc(const std::string* xml) {
    if (hwloc_topology_init(&topology) != 0) {
      topology = nullptr;
      return;
    }
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    // They look for accelerators, which takes long and starts drivers; networks are not theirs.
    for (const char* component : {"opencl", "gl", "cuda", "nvml", "rsmi", "levelzero"})
      hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
    const bool set = xml == nullptr || hwloc_topology_set_xmlbuffer(topology, xml->c_str(), static_cast<int>(xml->size() + 1)) == 0;
    if (set && hwloc_topology_load(topology) == 0) return;
    hwloc_topology_destroy(topology);
    topology = nullptr;
  }
  ~Hwloc() {
    if (topology != nullptr) hwloc_topology_destroy(topology);
  }
  Hwloc(const Hwloc&) = delete;
  Hwloc& operator=(const Hwloc&) = delete;
};

Topology::Topology() : hwloc_(std::make_unique<Hwloc>(nullptr)) {
  if (hwloc_->topology == nullptr) {
    hwloc_.reset();
    return;
  }
  const Bitmap bound(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(hwloc_->topology, bound.get(), HWLOC_CPUBIND_PROCESS) != 0)
    hwloc_bitmap_copy(bound.get(), hwloc_topology_get_allowed_cpuset(hwloc_->topology));
  hwloc_bitmap_and(bound.get(), bound.get(), hwloc_topology_get_allowed_cpuset(hwloc_->topology));
  allowed_ = cores_of(bound.get());
}

Topology::Topology(const std::string& xml, const Cores& allowed) : hwloc_(std::make_unique<Hwloc>(&xml)), allowed_(allowed) {
  if (hwloc_->topology == nullptr) hwloc_.reset();
}

Topology::~Topology() = default;

std::size_t Topology::allowed_cores() const {
  if (hwloc_ == nullptr) return 0;
  const Bitmap allowed = bitmap_of(allowed_);
  std::size_t count = 0;
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(hwloc_->topology, HWLOC_OBJ_CORE, core)) != nullptr;)
    count += hwloc_bitmap_intersects(core->cpuset, allowed.get()) != 0 ? 1 : 0;
  return count != 0 ? count : allowed_.size();  // some virtual machines tell of no cores
}

Cores Topology::near(const std::string& interface) const {
  if (hwloc_ == nullptr) return allowed_;
  const Bitmap allowed = bitmap_of(allowed_);
  hwloc_obj_t device = nullptr;
  while ((device = hwloc_get_next_osdev(hwloc_->topology, device)) != nullptr)
    if (device->name != nullptr && interface == device->name) break;
  if (device == nullptr) return allowed_;
  hwloc_obj_t part = hwloc_get_non_io_ancestor_obj(hwloc_->topology, device);
  while (part != nullptr && hwloc_bitmap_intersects(part->cpuset, allowed.get()) == 0) part = part->parent;
  if (part == nullptr) return allowed_;
  hwloc_bitmap_and(allowed.get(), allowed.get(), part->cpuset);
  return cores_of(allowed.get());
}

bool Topology::bind(pthread_t thread, const Cores& cores) const {
  if (hwloc_ == nullptr || cores.empty()) return false;
  return hwloc_set_thread_cpubind(hwloc_->topology, thread, bitmap_of(cores).get(), 0) == 0;
}

}  // namespace nezha
