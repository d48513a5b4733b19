/* SPDX-License-Identifier: BSD-3-Clause */
/// The competitor: Gloo with one context and one thread per rail, each rail carrying its share of the vector, and per
/// size the algorithm that a trial found fastest. Measured, checked and printed exactly as nezha_allreduce_bench
/// does; MPI starts the ranks, exchanges addresses and collects the times, and nothing else.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gloo/config.h>

#include "bench_options.h"
#include "bench_print.h"
#include "bench_run.h"
#include "gloo_rails.h"
#include "gloo_reduction.h"

namespace nezha_bench {
namespace {

/// Wall seconds that a trial of one candidate may take, and the calls it makes at least.
constexpr double kTrialSeconds = 0.1;
/// Above this a single rail is not tried where there are several.
constexpr size_t kSingleRailBytes = 4 << 20;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, at);)
    if (!word.empty()) words.push_back(word);
  return words;
}

/// Gloo's exceptions may not pass through the C code that measures.
template <typename Action>
void or_abort(Action action) {
  try {
    action();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "Gloo: %s\n", error.what());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
}

void barrier(void* context) {
  or_abort([=] { static_cast<Rails*>(context)->barrier(); });
}

void reduce(void* context, int slot, const void* in, void*, size_t) {
  or_abort([=] { static_cast<Rails*>(context)->reduce(slot, static_cast<const float*>(in)); });
}

class Bench {
 public:
  Bench(const bench_options& options, Rails& rails, bench_buffers& buffers, std::map<size_t, Way> plan, int rank,
        int ranks)
      : options_(options), rails_(rails), buffers_(buffers), plan_(std::move(plan)), rank_(rank), ranks_(ranks) {}

  void run() {
    for (int i = 0; i < options_.size_count; i++) {
      const size_t bytes = options_.sizes[i];
      const auto planned = plan_.find(bytes);
      const Way way = planned != plan_.end() ? planned->second : fastest(bytes);
      const bench_result result = measure(way, bytes, options_);
      const std::string detail = "\"algorithm\":\"" + way.text() + "\"";
      if (rank_ == 0) bench_print_result(&options_, &result, detail.c_str());
      std::free(result.each);
    }
  }

 private:
  std::vector<Way> ways(size_t bytes) const {
    std::vector<Way> all;
    for (const auto& name : reduction_names(ranks_)) {
      all.push_back({name, true});
      if (rails_.count() > 1 && bytes <= kSingleRailBytes) all.push_back({name, false});
    }
    return all;
  }

  Way fastest(size_t bytes) {
    bench_options trial = options_;
    trial.budget = kTrialSeconds;
    trial.iterations = 0;
    trial.warmup = 1;
    const auto all = ways(bytes);
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < all.size(); i++) {
      const double median = measure(all[i], bytes, trial).median;
      if (median < least) {
        best = static_cast<int>(i);
        least = median;
      }
    }
    MPI_Bcast(&best, 1, MPI_INT, 0, MPI_COMM_WORLD);  // only rank 0 has the times
    return all[best];
  }

  bench_result measure(const Way& way, size_t bytes, const bench_options& options) {
    const size_t count = std::max<size_t>(1, bytes / sizeof(float));
    rails_.prepare(way, buffers_, count);
    const bool in_place = options.in_place || works_in_place(way.algorithm);
    const bench_driver driver = {&rails_, in_place, barrier, reduce, nullptr, nullptr};
    bench_result result;
    MPI_Barrier(MPI_COMM_WORLD);
    bench_measure(&options, &driver, &buffers_, bytes, &result);
    rails_.forget();
    MPI_Barrier(MPI_COMM_WORLD);
    return result;
  }

  const bench_options& options_;
  Rails& rails_;
  bench_buffers& buffers_;
  std::map<size_t, Way> plan_;
  int rank_, ranks_;
};

struct Arguments {
  const char* rails = "eth0";
  const char* shares = "";
  const char* plan = "";
};

std::vector<double> shares_of(const Arguments& arguments, size_t rails) {
  std::vector<double> shares;
  for (const auto& word : split(arguments.shares, ',')) shares.push_back(std::stod(word));
  if (shares.empty()) shares.assign(rails, 1.0);
  const bool positive = std::all_of(shares.begin(), shares.end(), [](double share) { return share > 0; });
  if (shares.size() != rails || !positive) throw std::runtime_error("--shares needs one positive number per rail");
  return shares;
}

std::map<size_t, Way> plan_of(const Arguments& arguments) {
  std::map<size_t, Way> plan;
  for (const auto& word : split(arguments.plan, ',')) {
    const auto equals = word.find('=');
    size_t bytes;
    if (equals == std::string::npos || !bench_parse_size(word.substr(0, equals).c_str(), &bytes))
      throw std::runtime_error("--plan needs SIZE=ALGORITHM, not \"" + word + "\"");
    plan[bytes] = Way::parse(word.substr(equals + 1));
  }
  return plan;
}

void run(const bench_options& options, const Arguments& arguments, int rank, int ranks) {
  if (options.type != BENCH_FLOAT || options.op != BENCH_SUM) throw std::runtime_error("this program sums floats only");
  const auto names = split(arguments.rails, ',');
  const auto plan = plan_of(arguments);
  Rails rails(names, shares_of(arguments, names.size()), rank, ranks);
  bench_buffers buffers;
  if (!bench_allocate(&options, &buffers)) throw std::runtime_error("not enough memory for the vectors");
  const std::string library = "Gloo " + std::to_string(GLOO_VERSION_MAJOR) + "." + std::to_string(GLOO_VERSION_MINOR) +
                              "." + std::to_string(GLOO_VERSION_PATCH);
  const std::string detail =
      std::string("\"rails\":\"") + arguments.rails + "\",\"shares\":\"" + arguments.shares + "\"";
  if (rank == 0) bench_print_header(&options, "Gloo Allreduce Latency Test", library.c_str(), ranks, detail.c_str());
  Bench(options, rails, buffers, plan, rank, ranks).run();
  bench_release(&buffers);
}

}  // namespace
}  // namespace nezha_bench

int main(int argc, char** argv) {
  nezha_bench::Arguments arguments;
  const bench_extra extra[] = {
      {"rails", "NAMES             interfaces, as in eth0,eth1 (eth0)", &arguments.rails},
      {"shares", "LIST             what each rail carries, as in 2,1 (equal)", &arguments.shares},
      {"plan", "LIST               SIZE=ALGORITHM[@one],...: these sizes without a trial", &arguments.plan},
      {nullptr, nullptr, nullptr}};
  int rank = 0, ranks = 0, provided = 0, status = EXIT_SUCCESS;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  bench_options options;
  switch (bench_parse(argc, argv, extra, rank == 0, &options)) {
    case BENCH_HELP:
      break;
    case BENCH_BAD:
      status = EXIT_FAILURE;
      break;
    case BENCH_RUN:
      try {
        nezha_bench::run(options, arguments, rank, ranks);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: rank %d: %s\n", argv[0], rank, error.what());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
      }
  }
  MPI_Finalize();
  return status;
}
