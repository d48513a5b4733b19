# SPDX-License-Identifier: BSD-3-Clause
# The component's C files, its help text and the linker's export list.
#   glue_sources += %D%/coll_nezha_component.c %D%/coll_nezha.h
#   dist_helptext_DATA += %D%/help-coll-nezha.txt
EXTRA_DIST += %D%/nezha.map
