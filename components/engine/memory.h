// SPDX-License-Identifier: BSD-3-Clause
/// What peers may cost beyond Open MPI's own memory: each the smaller of 2 MiB and 32 MiB by the number of peers. A quarter
/// is for bytes kept until they are acknowledged, a quarter for early pieces, half for what the lanes' kernel buffers hold.
/// All sizes in bytes.
#pragma once

#include <cstddef>

namespace nezha {

/// For bytes whose source is gone, of one peer. `peers` is 1 or more.
std::size_t retransmit_memory(std::size_t peers);

/// For pieces of one peer that come before their operation has begun: the window that it is promised, which has a quarter
/// more of memory. `peers` is 1 or more.
std::size_t early_window(std::size_t peers);

/// For what one lane has received and nobody has read. `lanes` of a peer; both are 1 or more. With very many lanes it is
/// what a connection needs to work at all.
std::size_t lane_memory(std::size_t peers, std::size_t lanes);

}  // namespace nezha
