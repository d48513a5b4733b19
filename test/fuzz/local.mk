# SPDX-License-Identifier: BSD-3-Clause
# Fuzz targets fuzz_*.cc with seed corpora corpus/fuzz_*/; contrib/check and `make dist` find them by themselves.

# One target at a time, in a build configured with --enable-sanitizer=fuzzer CC=clang CXX=clang++.
%D%/fuzz_%.o: %D%/fuzz_%.cc libnezha_engine.la
	@$(MKDIR_P) %D%
	$(AM_V_CXX)$(CXX) $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CXXFLAGS) $(CXXFLAGS) -c -o $@ $<
%D%/fuzz_%: %D%/fuzz_%.o libnezha_engine.la
	$(AM_V_CXXLD)$(CXXLINK) -fsanitize=fuzzer $< libnezha_engine.la
