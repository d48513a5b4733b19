# SPDX-License-Identifier: BSD-3-Clause
# The installed command: a script in bindir, its Python packages, the program that asks the engine, manual, completion.

pkglibexec_PROGRAMS += %D%/programs/nezha_ask
contrib_programs_nezha_ask_SOURCES = %D%/programs/nezha_ask.cc %D%/programs/ask_facts.h %D%/programs/ask_memory.cc %D%/programs/ask_memory.h \
	%D%/programs/ask_rails.cc %D%/programs/ask_rails.h
contrib_programs_nezha_ask_LDADD = libnezha_engine.la

# The aggregation service.
bin_PROGRAMS = nezha-aggregate
nezha_aggregate_SOURCES = %D%/programs/nezha_aggregate.cc %D%/programs/aggregate_options.cc %D%/programs/aggregate_options.h \
	%D%/programs/notify_ready.cc %D%/programs/notify_ready.h
nezha_aggregate_LDADD = libnezha_engine.la
nodist_pkgdata_DATA = nezha-aggregate.service
CLEANFILES += nezha-aggregate.service
nezha-aggregate.service: %D%/dist/nezha-aggregate.service.in Makefile
	$(AM_V_GEN)sed -e 's|@BINDIR[@]|$(bindir)|' $(srcdir)/%D%/dist/nezha-aggregate.service.in >$@.new && mv $@.new $@

dist_man_MANS = %D%/man/nezha.1 %D%/man/nezha-aggregate.1 %D%/man/nezha-cluster.5 %D%/man/nezha-table.5

packagesdir = $(pkgdatadir)/python
nezha_commanddir = $(packagesdir)/nezha_command
nezha_benchdir = $(packagesdir)/nezha_bench
nezha_labdir = $(packagesdir)/nezha_lab
nezha_doctordir = $(packagesdir)/nezha_doctor
nezha_plandir = $(packagesdir)/nezha_plan
modules_of = $(patsubst $(srcdir)/%,%,$(wildcard $(srcdir)/%D%/python/$(1)/*.py))
nezha_command_DATA = $(call modules_of,nezha_command)
nezha_bench_DATA = $(call modules_of,nezha_bench)
nezha_lab_DATA = $(call modules_of,nezha_lab)
nezha_doctor_DATA = $(call modules_of,nezha_doctor)
nezha_plan_DATA = $(call modules_of,nezha_plan)

EXTRA_DIST += %D%/nezha.in
nodist_bin_SCRIPTS = nezha
CLEANFILES += nezha
nezha: %D%/nezha.in Makefile
	$(AM_V_GEN)sed -e 's|@PYTHON[@]|$(PYTHON)|' -e 's|@PACKAGES[@]|$(packagesdir)|' -e 's|@VERSION[@]|$(PACKAGE_VERSION)|' \
		-e 's|@LIBEXEC[@]|$(pkglibexecdir)|' -e 's|@COMPONENT[@]|$(componentdir)|' \
		-e 's|@OMPI_VERSION[@]|$(nezha_ompi_version)|' $(srcdir)/%D%/nezha.in >$@.new && chmod +x $@.new && mv $@.new $@

if HAVE_SHTAB
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
nodist_bashcompletion_DATA = completions/nezha
nodist_zshcompletion_DATA = completions/_nezha
CLEANFILES += completions/nezha completions/_nezha
completions/nezha: shell = bash
completions/_nezha: shell = zsh
completions/nezha completions/_nezha: $(nezha_command_DATA) $(nezha_plan_DATA)
	$(AM_V_GEN)$(MKDIR_P) completions && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(srcdir)/%D%/python \
		$(PYTHON) -m nezha_command.completion $(shell) >$@.new && mv $@.new $@
endif
