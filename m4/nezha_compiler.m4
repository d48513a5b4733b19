# SPDX-License-Identifier: BSD-3-Clause

# NEZHA_COMPILER
# Language levels, warnings and code generation that every file of the project is compiled with.
# Sets NEZHA_CFLAGS, NEZHA_CXXFLAGS, NEZHA_CXX_RUNTIME and the conditional NEZHA_X86.
AC_DEFUN([NEZHA_COMPILER], [
  nezha_common_flags="-Wall -Wextra -pthread -fvisibility=hidden -ffp-contract=off"
  NEZHA_CFLAGS="-std=gnu11 $nezha_common_flags"
  NEZHA_CXXFLAGS="-std=gnu++20 $nezha_common_flags"

  AC_LANG_PUSH([C])
  nezha_save_CFLAGS=$CFLAGS
  CFLAGS="$CFLAGS $NEZHA_CFLAGS"
  AC_MSG_CHECKING([whether $CC compiles C11])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <stdatomic.h>]], [[_Static_assert(sizeof(int) > 1, "C11");]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([$CC does not compile C11: install gcc 10 or newer, or name a compiler by CC=])])
  CFLAGS=$nezha_save_CFLAGS
  AC_LANG_POP([C])

  AC_LANG_PUSH([C++])
  nezha_save_CXXFLAGS=$CXXFLAGS
  CXXFLAGS="$CXXFLAGS $NEZHA_CXXFLAGS"
  AC_MSG_CHECKING([whether $CXX compiles C++20, std::from_chars of a double too])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#include <bit>
#include <charconv>
#include <concepts>
#include <span>
template <std::integral T> struct Sized { T length = 0; unsigned kind = 0; };
]], [[
    int words[4] = {1, 2, 3, 4};
    std::span<const int> view(words);
    Sized<long> sized{.length = static_cast<long>(view.size()), .kind = std::bit_ceil(3u)};
    const char text[] = "1.5";
    double number = 0;
    std::from_chars(text, text + 3, number);
    return sized.length == 4 && number > 1 ? 0 : 1;
]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([$CXX does not compile C++20: install g++ 11 or clang++ 14 (with the C++ library of g++ 11) or newer, or name a compiler by CXX=])])
  CXXFLAGS=$nezha_save_CXXFLAGS
  AC_LANG_POP([C++])

  # The component is linked as C, and brings its own C++ runtime: a process may already hold an older one.
  NEZHA_CXX_RUNTIME="-lstdc++"
  nezha_static_runtime="-Wl,--push-state,-Bstatic,-lstdc++,-Bdynamic,--as-needed,-lm,--pop-state"
  AC_MSG_CHECKING([for a static C++ runtime])
  nezha_save_LIBS=$LIBS
  LIBS="$nezha_static_runtime -static-libgcc $LIBS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
    [AC_MSG_RESULT([yes])
     NEZHA_CXX_RUNTIME="$nezha_static_runtime -static-libgcc"],
    [AC_MSG_RESULT([no, the component will need libstdc++.so of this compiler])])
  LIBS=$nezha_save_LIBS

  AS_CASE([$host_cpu], [x86_64], [nezha_x86=yes], [nezha_x86=no])
  AM_CONDITIONAL([NEZHA_X86], [test "$nezha_x86" = yes])
  AC_SUBST([NEZHA_CFLAGS])
  AC_SUBST([NEZHA_CXXFLAGS])
  AC_SUBST([NEZHA_CXX_RUNTIME])
])
