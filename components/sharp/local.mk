# SPDX-License-Identifier: BSD-3-Clause
# Reduction by switches through NVIDIA's SHARP library, which is opened at run time where --with-sharp allows it.
engine_sources += \
	%D%/sharp_api.h \
	%D%/sharp_group.cc %D%/sharp_group.h \
	%D%/sharp_library.cc %D%/sharp_library.h \
	%D%/sharp_types.h
