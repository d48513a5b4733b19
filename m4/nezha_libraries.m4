# SPDX-License-Identifier: BSD-3-Clause

# NEZHA_LIBRARIES
# nettle, hwloc, libmnl and nlohmann-json are needed; googletest only by the unit tests.
AC_DEFUN([NEZHA_LIBRARIES], [
  AS_IF([test -z "$PKG_CONFIG" || ! "$PKG_CONFIG" --version >/dev/null 2>&1],
    [AC_MSG_ERROR([pkg-config was not found: install pkg-config (pkgconf)])])
  PKG_CHECK_MODULES([NETTLE], [nettle >= 3.4], [],
    [AC_MSG_ERROR([nettle 3.4 or newer was not found: install nettle-dev (nettle-devel)])])
  PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [],
    [AC_MSG_ERROR([hwloc 2.0 or newer was not found: install libhwloc-dev (hwloc-devel)])])
  PKG_CHECK_MODULES([MNL], [libmnl >= 1.0.4], [],
    [AC_MSG_ERROR([libmnl 1.0.4 or newer, which tells of lost links, was not found: install libmnl-dev (libmnl-devel)])])
  PKG_CHECK_MODULES([JSON], [nlohmann_json >= 3.9], [],
    [AC_MSG_ERROR([nlohmann-json 3.9 or newer was not found: install nlohmann-json3-dev (nlohmann-json-devel, json-devel)])])

  PKG_CHECK_MODULES([GTEST], [gtest_main >= 1.10 gtest >= 1.10], [nezha_have_gtest=yes],
    [nezha_have_gtest="no, install libgtest-dev (gtest-devel) to have them"
     AC_MSG_NOTICE([googletest was not found: the unit tests are left out])])
  AM_CONDITIONAL([HAVE_GTEST], [test "$nezha_have_gtest" = yes])
])

# NEZHA_GLOO
# Only the bench uses it.
AC_DEFUN([NEZHA_GLOO], [
  AC_LANG_PUSH([C++])
  nezha_save_CXXFLAGS=$CXXFLAGS
  nezha_save_LIBS=$LIBS
  CXXFLAGS="$CXXFLAGS $NEZHA_CXXFLAGS"
  LIBS="-lgloo $LIBS"
  AC_MSG_CHECKING([for Gloo])
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <gloo/transport/tcp/device.h>]],
      [[gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr());]])],
    [nezha_have_gloo=yes GLOO_LIBS=-lgloo],
    [nezha_have_gloo="no, install libgloo-dev to compare with it"])
  AC_MSG_RESULT([$nezha_have_gloo])
  CXXFLAGS=$nezha_save_CXXFLAGS
  LIBS=$nezha_save_LIBS
  AC_LANG_POP([C++])
  AM_CONDITIONAL([HAVE_GLOO], [test "$nezha_have_gloo" = yes])
  AC_SUBST([GLOO_LIBS])
])

# NEZHA_MPICH
# Only the bench uses it, by a program of its own: everything else is Open MPI's.
AC_DEFUN([NEZHA_MPICH], [
  PKG_CHECK_MODULES([MPICH], [mpich >= 4.0], [nezha_have_mpich=yes],
    [nezha_have_mpich="no, install libmpich-dev and mpich to compare with it"])
  AM_CONDITIONAL([HAVE_MPICH], [test "$nezha_have_mpich" = yes])
])

# NEZHA_SIMGRID
# Only a test of nezha simulate uses it, with what SimGrid 3.35 has made otherwise.
AC_DEFUN([NEZHA_SIMGRID], [
  PKG_CHECK_MODULES([SIMGRID], [simgrid >= 3.30 simgrid < 3.35], [nezha_have_simgrid=yes],
    [nezha_have_simgrid="no, install libsimgrid-dev to have it"])
  AM_CONDITIONAL([HAVE_SIMGRID], [test "$nezha_have_simgrid" = yes])
])
