# SPDX-License-Identifier: BSD-3-Clause

# NEZHA_UNDER_PREFIX(VARIABLE, DIRECTORY)
# VARIABLE becomes the place under our prefix that DIRECTORY has under Open MPI's.
m4_define([NEZHA_UNDER_PREFIX], [
  nezha_below=`echo "$2" | sed -n "s|^${nezha_ompi_prefix%/}/||p"`
  AS_IF([test -n "$nezha_below"], [$1='${prefix}'"/$nezha_below"], [$1='${libdir}/openmpi'])
])

# NEZHA_DIRECTORIES
# Where the component and its help text go. By default both lie under the prefix, at the place where they lie under Open
# MPI's own: with the same prefix Open MPI finds them by itself. Where mpirun would not look there, component_path_file
# becomes the file of parameters that tells it to.
AC_DEFUN([NEZHA_DIRECTORIES], [
  AC_ARG_WITH([componentdir],
    [AS_HELP_STRING([--with-componentdir=DIR],
      [where the component goes: system (Open MPI's own directory), user (~/.openmpi/components) or a path; by default the place under the prefix that corresponds to Open MPI's])],
    [], [with_componentdir=prefix])
  AS_CASE([$with_componentdir],
    [prefix|yes|no],
      [NEZHA_UNDER_PREFIX([componentdir], [$nezha_ompi_pkglibdir])
       NEZHA_UNDER_PREFIX([helptextdir], [$nezha_ompi_pkgdatadir])],
    [system],
      [componentdir=$nezha_ompi_pkglibdir
       helptextdir=$nezha_ompi_pkgdatadir],
    [user],
      [AS_IF([test -z "$HOME"], [AC_MSG_ERROR([--with-componentdir=user needs HOME to be set])])
       componentdir=$HOME/.openmpi/components
       helptextdir=$componentdir],
    [/*],
      [componentdir=$with_componentdir
       helptextdir=$componentdir],
    [AC_MSG_ERROR([--with-componentdir takes system, user or an absolute path, not "$with_componentdir"])])
  component_path_file=
  AS_CASE([$prefix], [NONE], [nezha_prefix=$ac_default_prefix], [nezha_prefix=$prefix])
  AS_IF([test -n "$nezha_pmix_params"],
    [AS_CASE([$with_componentdir:$nezha_prefix],
       [system:*|prefix:$nezha_ompi_prefix], [component_path_file=$nezha_pmix_params/pmix-mca-params-override.conf],
       [user:*], [component_path_file=$HOME/.openmpi/mca-params.conf])])
  AC_SUBST([componentdir])
  AC_SUBST([helptextdir])
  AC_SUBST([component_path_file])
  AM_CONDITIONAL([NEZHA_PATH_FILE], [test -n "$component_path_file"])
])

# NEZHA_WHERE_OMPI_LOOKS
# After AC_OUTPUT, when prefix is known: says so when the component goes where Open MPI does not look by itself.
AC_DEFUN([NEZHA_WHERE_OMPI_LOOKS], [
  eval "nezha_place=$componentdir"
  eval "nezha_place=$nezha_place"
  AS_CASE([$nezha_place],
    [$nezha_ompi_pkglibdir|"$HOME/.openmpi/components"], [],
    [AC_MSG_NOTICE([
  Open MPI will not look for the component in $nezha_place.
  Use --with-componentdir=system or =user, or name that directory to mpirun:
  --mca opal_mca_base_component_path $nezha_place:SYS_DEFAULT:USER_DEFAULT
])])
])
