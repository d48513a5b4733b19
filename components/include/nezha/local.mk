# SPDX-License-Identifier: BSD-3-Clause
# The C ABI between the component and the engine: headers only.
engine_sources += %D%/nezha.h
