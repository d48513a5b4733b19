# SPDX-License-Identifier: BSD-3-Clause

# NEZHA_SANITIZER
# --enable-sanitizer=KIND. Sets NEZHA_SANITIZER_FLAGS, $nezha_sanitizer and the conditional NEZHA_SANITIZED.
# "fuzzer" is for the fuzz targets: clang's coverage instrumentation together with its address sanitizer.
AC_DEFUN([NEZHA_SANITIZER], [
  AC_ARG_ENABLE([sanitizer],
    [AS_HELP_STRING([--enable-sanitizer=KIND], [address, undefined, address-undefined, thread, or fuzzer (needs CXX=clang++)])],
    [nezha_sanitizer=$enableval], [nezha_sanitizer=no])
  AS_CASE([$nezha_sanitizer],
    [no], [NEZHA_SANITIZER_FLAGS=],
    [address|thread], [NEZHA_SANITIZER_FLAGS="-fsanitize=$nezha_sanitizer -fno-omit-frame-pointer"],
    [undefined|address-undefined],
      [nezha_kinds=`echo $nezha_sanitizer | tr - ,`
       NEZHA_SANITIZER_FLAGS="-fsanitize=$nezha_kinds -fno-sanitize-recover=undefined -fno-omit-frame-pointer"],
    [fuzzer], [NEZHA_SANITIZER_FLAGS="-fsanitize=fuzzer-no-link,address -fprofile-instr-generate -fcoverage-mapping"],
    [AC_MSG_ERROR([--enable-sanitizer takes address, undefined, address-undefined, thread or fuzzer, not "$nezha_sanitizer"])])

  AS_IF([test "$nezha_sanitizer" != no], [
    AC_LANG_PUSH([C++])
    nezha_save_CXXFLAGS=$CXXFLAGS
    CXXFLAGS="$CXXFLAGS $NEZHA_SANITIZER_FLAGS"
    AC_MSG_CHECKING([whether $CXX links with $NEZHA_SANITIZER_FLAGS])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
      [AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no])
       AC_MSG_ERROR([$CXX cannot link with the $nezha_sanitizer sanitizer: install its runtime (libasan, libtsan, libubsan, or libclang-rt for clang)])])
    CXXFLAGS=$nezha_save_CXXFLAGS
    AC_LANG_POP([C++])
  ])
  AM_CONDITIONAL([NEZHA_SANITIZED], [test "$nezha_sanitizer" != no])
  AC_SUBST([NEZHA_SANITIZER_FLAGS])
])
