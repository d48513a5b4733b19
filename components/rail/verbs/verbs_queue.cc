// SPDX-License-Identifier: BSD-3-Clause
#include "rail/verbs/verbs_queue.h"

#include <algorithm>

namespace nezha {

VerbsQueue::~VerbsQueue() {
  const VerbsLibrary& verbs = device.verbs();
  if (pair != nullptr && receives != nullptr) receives->leave(pair->qp_num, 0);
  if (pair != nullptr) verbs.destroy_qp(pair);
  if (memory != nullptr) verbs.dereg_mr(memory);
  device.release(reserved);
}

void VerbsQueue::run() {
  const VerbsLibrary& verbs = device.verbs();
  if (!abandoned_.load(std::memory_order_relaxed)) {
    step = "a pair cannot be made ready to receive";
    error = verbs.modify_qp(pair, &receive, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (error == 0) {
      step = "a pair cannot be made ready to send";
      error = verbs.modify_qp(pair, &send, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                               IBV_QP_MAX_QP_RD_ATOMIC);
    }
  }
  over_.store(true, std::memory_order_release);
}

bool VerbsQueue::lends() const {
  return std::any_of(lent.begin(), lent.end(), [](const auto& region) { return region != nullptr; });
}

/// Of the shared slots one may be half full, and nobody hears of it any more; in RESET all that nobody has seen go, of which there
/// are at most as many as a lane may have under way.
void VerbsQueue::abandon() {
  abandoned_.store(true, std::memory_order_relaxed);
  if (receives != nullptr) receives->leave(pair->qp_num, lends() ? static_cast<std::uint32_t>(lent.size()) : 1);
}

void VerbsQueue::stop() {
  ibv_qp_attr end{};
  end.qp_state = IBV_QPS_RESET;  // in ERR it would have stopped only once its requests have completed
  device.verbs().modify_qp(pair, &end, IBV_QP_STATE);
}

}  // namespace nezha
