# SPDX-License-Identifier: BSD-3-Clause

# NEZHA_SHARP
# What Nezha needs of NVIDIA's SHARP library is declared in components/sharp/sharp_api.h; the library is loaded at run time.
AC_DEFUN([NEZHA_SHARP], [
  AC_ARG_WITH([sharp], [AS_HELP_STRING([--with-sharp@<:@=DIR@:>@],
    [reduction by switches through NVIDIA's SHARP library, of DIR/lib (default: no)])], [], [with_sharp=no])
  nezha_have_sharp=yes
  AS_CASE([$with_sharp],
    [no], [nezha_have_sharp="no, --with-sharp has it"],
    [yes], [nezha_sharp_library=libsharp_coll.so.5],
    [AS_IF([test -e "$with_sharp/lib/libsharp_coll.so.5"], [nezha_sharp_library=$with_sharp/lib/libsharp_coll.so.5],
      [AC_MSG_ERROR([--with-sharp=$with_sharp: there is no $with_sharp/lib/libsharp_coll.so.5])])])
  AS_IF([test "$with_sharp" != no],
    [AC_DEFINE_UNQUOTED([NEZHA_SHARP_LIBRARY], ["$nezha_sharp_library"], [What is opened unless a parameter names another file])])
  AM_CONDITIONAL([HAVE_SHARP], [test "$with_sharp" != no])
])
