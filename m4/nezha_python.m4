# SPDX-License-Identifier: BSD-3-Clause

# NEZHA_PYTHON
# The interpreter of the command, the tools and the tests; shtab writes the shells' completion of the command.
AC_DEFUN([NEZHA_PYTHON], [
  AC_PATH_PROG([PYTHON], [python3], [/usr/bin/python3], [/usr/bin:$PATH])
  AC_MSG_CHECKING([whether $PYTHON is 3.11 or newer])
  AS_IF(["$PYTHON" -c "import sys; sys.exit(sys.version_info < (3, 11))" 2>/dev/null],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([$PYTHON is no Python 3.11 or newer: install python3 3.11, or name one by PYTHON=])])
  AC_MSG_CHECKING([for Python's shtab])
  AS_IF(["$PYTHON" -c "import shtab" 2>/dev/null],
    [nezha_have_shtab=yes],
    [nezha_have_shtab="no, install python3-shtab to have it"])
  AC_MSG_RESULT([$nezha_have_shtab])
  AM_CONDITIONAL([HAVE_SHTAB], [test "$nezha_have_shtab" = yes])
])
