# SPDX-License-Identifier: BSD-3-Clause
engine_sources += \
	%D%/candidate.cc %D%/candidate.h \
	%D%/candidates.cc %D%/candidates.h \
	%D%/cost.cc %D%/cost.h \
	%D%/retrial_schedule.cc %D%/retrial_schedule.h \
	%D%/plan.cc %D%/plan.h \
	%D%/rail_names.cc %D%/rail_names.h \
	%D%/round.cc %D%/round.h \
	%D%/rows.cc %D%/rows.h \
	%D%/share_search.cc %D%/share_search.h \
	%D%/share_split.cc %D%/share_split.h \
	%D%/team_shares.h \
	%D%/siblings.cc %D%/siblings.h \
	%D%/size_class.cc %D%/size_class.h %D%/size_class_retrials.cc \
	%D%/table.cc %D%/table.h \
	%D%/table_file.cc %D%/table_file.h \
	%D%/table_reader.cc \
	%D%/usual_time.cc %D%/usual_time.h \
	%D%/way_trial.cc %D%/way_trial.h

gtest_programs += test/unit/test_tuning test/unit/test_tuning_bounds test/unit/test_tuning_changes test/unit/test_tuning_incumbent test/unit/test_candidates test/unit/test_table_file \
	test/unit/test_recall test/unit/test_cost test/unit/test_share_search test/unit/test_share_split test/unit/test_team_shares \
	test/unit/test_way_trial
test_unit_test_tuning_SOURCES = test/unit/test_tuning.cc test/unit/table_ranks.h
test_unit_test_tuning_bounds_SOURCES = test/unit/test_tuning_bounds.cc test/unit/table_ranks.h
test_unit_test_tuning_changes_SOURCES = test/unit/test_tuning_changes.cc test/unit/table_ranks.h
test_unit_test_tuning_incumbent_SOURCES = test/unit/test_tuning_incumbent.cc test/unit/table_ranks.h
test_unit_test_candidates_SOURCES = test/unit/test_candidates.cc test/unit/table_ranks.h
test_unit_test_table_file_SOURCES = test/unit/test_table_file.cc
test_unit_test_table_file_CPPFLAGS = $(AM_CPPFLAGS) -DNEZHA_TEST_TABLES='"$(abs_top_srcdir)/test/tables"'
test_unit_test_recall_SOURCES = test/unit/test_recall.cc
test_unit_test_share_search_SOURCES = test/unit/test_share_search.cc
test_unit_test_share_split_SOURCES = test/unit/test_share_split.cc
test_unit_test_team_shares_SOURCES = test/unit/test_team_shares.cc
test_unit_test_way_trial_SOURCES = test/unit/test_way_trial.cc
test_unit_test_cost_SOURCES = test/unit/test_cost.cc
test_unit_test_cost_CPPFLAGS = $(AM_CPPFLAGS) -DNEZHA_TEST_TABLES='"$(abs_top_srcdir)/test/tables"'
