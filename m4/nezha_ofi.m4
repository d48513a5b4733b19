# SPDX-License-Identifier: BSD-3-Clause

# NEZHA_OFI
# Rails of libfabric need its headers to be compiled; the library is loaded at run time, and only where such rails are wanted.
AC_DEFUN([NEZHA_OFI], [
  AC_ARG_WITH([ofi], [AS_HELP_STRING([--with-ofi@<:@=DIR@:>@],
    [rails over libfabric, whose headers are in DIR/include (default: if they are found)])], [], [with_ofi=auto])
  OFI_CPPFLAGS=
  AS_CASE([$with_ofi],
    [no], [nezha_have_ofi="no, --without-ofi"],
    [auto | yes], [],
    [AS_IF([test -f "$with_ofi/include/rdma/fabric.h"], [OFI_CPPFLAGS="-I$with_ofi/include"],
      [AC_MSG_ERROR([--with-ofi=$with_ofi: there is no $with_ofi/include/rdma/fabric.h])])])
  AS_IF([test "$with_ofi" != no], [
    nezha_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $OFI_CPPFLAGS"
    AC_MSG_CHECKING([for libfabric's headers, 1.9 or newer])
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <rdma/fabric.h>
      #include <rdma/fi_cm.h>
      #include <rdma/fi_domain.h>
      #include <rdma/fi_endpoint.h>]],
      [[static const int new_enough[FI_VERSION_GE(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), FI_VERSION(1, 9)) ? 1 : -1] = {0};
        return new_enough[0];]])],
      [nezha_have_ofi=yes OFI_CPPFLAGS="$OFI_CPPFLAGS -DNEZHA_HAVE_OFI=1"],
      [nezha_have_ofi="no, install libfabric-dev (libfabric-devel) to have them"])
    AC_MSG_RESULT([$nezha_have_ofi])
    CPPFLAGS=$nezha_save_CPPFLAGS
    AS_IF([test "$nezha_have_ofi" != yes && test "$with_ofi" != auto],
      [AC_MSG_ERROR([--with-ofi: libfabric's headers, 1.9 or newer, were not found: install libfabric-dev (libfabric-devel)])])
  ])
  AM_CONDITIONAL([HAVE_OFI], [test "$nezha_have_ofi" = yes])
  AC_SUBST([OFI_CPPFLAGS])
])
