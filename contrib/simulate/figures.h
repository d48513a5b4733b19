/* SPDX-License-Identifier: BSD-3-Clause */
/// SAURON's published figures beside those of the models here.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace nezha_simulate {

struct Figure {
  std::string what;
  double paper, ours;
  std::string allowed;  ///< in words; empty: the figure is shown only; given: it is what a model is made from
  double least, most;   ///< the bounds in which ours is allowed to be
  std::string outside;  ///< why it is known to be outside of them

  bool holds() const { return ours >= least && ours <= most; }
};

/// Those that need no simulation of a cluster: PCIe, ib_write, the formulas.
std::vector<Figure> model_figures();
/// Those of 32 nodes.
std::vector<Figure> cluster_figures(int jobs, const std::function<void(double)>& progress = {});
/// Those of 128 and 512 nodes, which take minutes.
std::vector<Figure> large_cluster_figures(int jobs, const std::function<void(double)>& progress = {});

/// Where the paper contradicts itself, or leaves out what a model has to know, and what was done here.
extern const std::vector<std::string> kRemarks;

/// `percent` of the paper's value at most between both.
Figure within(std::string what, double paper, double ours, double percent);
Figure between(std::string what, double paper, double ours, double least, double most);
Figure only_shown(std::string what, double paper, double ours);

}  // namespace nezha_simulate
