# SPDX-License-Identifier: BSD-3-Clause
# The component's C files, its help text and the linker's export list.
glue_sources += \
	%D%/coll_nezha.h \
	%D%/coll_nezha_allreduce.c \
	%D%/coll_nezha_call.c %D%/coll_nezha_call.h \
	%D%/coll_nezha_component.c \
	%D%/coll_nezha_engine.c %D%/coll_nezha_engine.h \
	%D%/coll_nezha_finalize.c %D%/coll_nezha_finalize.h \
	%D%/coll_nezha_gather.c %D%/coll_nezha_gather.h \
	%D%/coll_nezha_iallreduce.c \
	%D%/coll_nezha_incumbent.c %D%/coll_nezha_incumbent.h \
	%D%/coll_nezha_lacking.c %D%/coll_nezha_lacking.h \
	%D%/coll_nezha_module.c \
	%D%/coll_nezha_params.c %D%/coll_nezha_params.h \
	%D%/coll_nezha_peers.c %D%/coll_nezha_peers.h \
	%D%/coll_nezha_pvars.c %D%/coll_nezha_pvars.h \
	%D%/coll_nezha_query.c \
	%D%/coll_nezha_reduce.c %D%/coll_nezha_reduce.h \
	%D%/coll_nezha_request.c %D%/coll_nezha_request.h \
	%D%/coll_nezha_sibling.c %D%/coll_nezha_sibling.h \
	%D%/coll_nezha_siblings.c \
	%D%/coll_nezha_report.c %D%/coll_nezha_report.h \
	%D%/coll_nezha_revoked.c %D%/coll_nezha_revoked.h \
	%D%/coll_nezha_stage.c %D%/coll_nezha_stage.h \
	%D%/coll_nezha_team.c \
	%D%/coll_nezha_types.c %D%/coll_nezha_types.h \
	%D%/coll_nezha_unknown.c %D%/coll_nezha_unknown.h
dist_helptext_DATA += %D%/help-coll-nezha.txt
EXTRA_DIST += %D%/nezha.map

# The component finds its help text beside itself: so it can be run from the build tree, where .libs is its directory.
noinst_DATA = .libs/help-coll-nezha.txt
CLEANFILES += .libs/help-coll-nezha.txt
.libs/help-coll-nezha.txt: %D%/help-coll-nezha.txt
	$(AM_V_GEN)$(MKDIR_P) .libs && cp $< $@
