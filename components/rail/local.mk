# SPDX-License-Identifier: BSD-3-Clause
# The rail contract and what transports share.
engine_sources += \
	%D%/frame.cc %D%/frame.h \
	%D%/frame_reader.cc %D%/frame_reader.h \
	%D%/pairing.cc %D%/pairing.h \
	%D%/rail.h
