# SPDX-License-Identifier: BSD-3-Clause
# Fuzz targets fuzz_*.cc with corpora corpus/fuzz_*/; contrib/check finds and builds them itself.
#   EXTRA_DIST += %D%/fuzz_frame.cc %D%/corpus
