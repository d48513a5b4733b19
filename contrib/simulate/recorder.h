/* SPDX-License-Identifier: BSD-3-Clause */
/// Who sends what to whom in an allreduce: runs the engine's algorithms on its simulated rail and writes down each
/// piece, with the pieces that its sender had to have before.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "engine/core.h"
#include "rail/sim/transport.h"

namespace nezha_simulate {

class Recorder {
 public:
  /// So many processes, each with one rail, whose lanes are up.
  explicit Recorder(int ranks);
  ~Recorder();

  /// One allreduce of floats, written as traffic.h has it. Empty, or what went wrong.
  std::string record(nezha::AlgorithmChoice algorithm, std::size_t bytes, std::ostream& out);

 private:
  struct Sent;
  struct Book;

  nezha::Team* make_team(int own);
  bool agree();
  void begin(std::size_t rank, std::vector<float>& vector, nezha::AlgorithmChoice algorithm);
  template <typename Done>
  bool drive(const Done& done);

  nezha::Config config_;
  nezha::SimNetwork network_;
  std::vector<std::unique_ptr<nezha::SimPort>> ports_;
  std::vector<std::unique_ptr<nezha::Core>> cores_;
  std::vector<nezha::Team*> teams_;
};

}  // namespace nezha_simulate
