// SPDX-License-Identifier: BSD-3-Clause
/// What nezha-aggregate is told: by its command line and by the file that --config names. The command line counts where both say
/// something.
#pragma once

#include "engine/aggregation/aggregator_server.h"
#include "util/file.h"
#include "util/status.h"

namespace nezha {

struct AggregateOptions {
  AggregatorServer::Options server;  ///< but for the key, which is in a file:
  FilePath key;
  int verbose = 1;
  enum class Wanted { service, help, version } wanted = Wanted::service;
};

/// Reads all anew, also the file; may be called again with the same arguments. The text of an error says which word is wrong,
/// where it stands, and what is allowed.
Status read_options(int argc, char** argv, AggregateOptions& options);

}  // namespace nezha
