# SPDX-License-Identifier: BSD-3-Clause
# Adapters to Open MPI's runtime, C.
#   glue_sources += %D%/modex.c %D%/modex.h
