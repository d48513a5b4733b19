# SPDX-License-Identifier: BSD-3-Clause

# NEZHA_VERBS
# Rails over RDMA verbs need libibverbs' header to be compiled; the library is loaded at run time, and only where such rails are wanted.
# A program of the bench is linked with it, where it is found.
AC_DEFUN([NEZHA_VERBS], [
  AC_ARG_WITH([verbs], [AS_HELP_STRING([--with-verbs@<:@=DIR@:>@],
    [rails over RDMA verbs, with the header of libibverbs in DIR/include (default: if they are found)])], [], [with_verbs=auto])
  VERBS_CPPFLAGS=
  AS_CASE([$with_verbs],
    [no], [nezha_have_verbs="no, --without-verbs"],
    [auto | yes], [],
    [AS_IF([test -f "$with_verbs/include/infiniband/verbs.h"], [VERBS_CPPFLAGS="-I$with_verbs/include"],
      [AC_MSG_ERROR([--with-verbs=$with_verbs: there is no $with_verbs/include/infiniband/verbs.h])])])
  AS_IF([test "$with_verbs" != no], [
    nezha_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $VERBS_CPPFLAGS"
    AC_MSG_CHECKING([for libibverbs' header, of rdma-core 32 or newer])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <infiniband/verbs.h>]],
      [[struct ibv_gid_entry entry; return _ibv_query_gid_table(0, &entry, 1, 0, sizeof entry) == 0;]])],
      [nezha_have_verbs=yes VERBS_CPPFLAGS="$VERBS_CPPFLAGS -DNEZHA_HAVE_VERBS=1"],
      [nezha_have_verbs="no, install libibverbs-dev (rdma-core-devel) to have them"])
    AC_MSG_RESULT([$nezha_have_verbs])
    CPPFLAGS=$nezha_save_CPPFLAGS
    AS_IF([test "$nezha_have_verbs" != yes && test "$with_verbs" != auto],
      [AC_MSG_ERROR([--with-verbs: libibverbs' header, of rdma-core 32 or newer, was not found: install libibverbs-dev (rdma-core-devel)])])
  ])
  AM_CONDITIONAL([HAVE_VERBS], [test "$nezha_have_verbs" = yes])
  nezha_have_verbs_library=no
  AS_IF([test "$nezha_have_verbs" = yes],
    [AC_CHECK_LIB([ibverbs], [ibv_open_device], [nezha_have_verbs_library=yes])])
  AM_CONDITIONAL([HAVE_VERBS_LIBRARY], [test "$nezha_have_verbs_library" = yes])
  AC_SUBST([VERBS_CPPFLAGS])
])
