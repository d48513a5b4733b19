// SPDX-License-Identifier: BSD-3-Clause
/// Types and operations by SHARP's numbers.
#pragma once

#include "nezha/nezha.h"
#include "sharp/sharp_api.h"

namespace nezha {

/// kNoType: SHARP has none like it.
constexpr sharp_api::DataType sharp_type(nezha_type_t type) {
  switch (type) {
    case NEZHA_INT8: return sharp_api::kInt8;
    case NEZHA_INT16: return sharp_api::kInt16;
    case NEZHA_INT32: return sharp_api::kInt32;
    case NEZHA_INT64: return sharp_api::kInt64;
    case NEZHA_UINT8: return sharp_api::kUint8;
    case NEZHA_UINT16: return sharp_api::kUint16;
    case NEZHA_UINT32: return sharp_api::kUint32;
    case NEZHA_UINT64: return sharp_api::kUint64;
    case NEZHA_FLOAT: return sharp_api::kFloat;
    case NEZHA_DOUBLE: return sharp_api::kDouble;
    default: return sharp_api::kNoType;
  }
}

/// kNoOp: SHARP has none like it.
constexpr sharp_api::ReduceOp sharp_op(nezha_op_t op) {
  switch (op) {
    case NEZHA_SUM: return sharp_api::kSum;
    case NEZHA_PROD: return sharp_api::kProd;
    case NEZHA_MIN: return sharp_api::kMin;
    case NEZHA_MAX: return sharp_api::kMax;
    case NEZHA_BAND: return sharp_api::kBand;
    case NEZHA_BOR: return sharp_api::kBor;
    case NEZHA_BXOR: return sharp_api::kBxor;
    case NEZHA_LAND: return sharp_api::kLand;
    case NEZHA_LOR: return sharp_api::kLor;
    case NEZHA_LXOR: return sharp_api::kLxor;
    default: return sharp_api::kNoOp;
  }
}

}  // namespace nezha
