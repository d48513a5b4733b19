# SPDX-License-Identifier: BSD-3-Clause

# NEZHA_OMPI_PATH(VARIABLE, NAME)
# The directory that ompi_info calls NAME.
m4_define([NEZHA_OMPI_PATH], [
  $1=`"$OMPI_INFO" --path $2 --parsable 2>/dev/null | sed -n 's/^path:$2://p'`
  AS_IF([test -z "$$1"], [AC_MSG_ERROR([$OMPI_INFO does not know its $2: install a complete Open MPI 4.1 or newer])])
])

# NEZHA_OMPI
# Finds Open MPI by its wrapper compiler and ompi_info, and makes sure that headers, wrapper and ompi_info are one
# version and that the component's own includes compile: the interface between a component and Open MPI is private,
# and a mismatch shows as a crash at run time, not as an error of the linker.
# Sets MPICC, MPI_CFLAGS, MPI_LIBS (for programs), OMPI_CPPFLAGS, OMPI_LIBS (for the component), nezha_ompi_* paths.
AC_DEFUN([NEZHA_OMPI], [
  AC_ARG_WITH([ompi],
    [AS_HELP_STRING([--with-ompi=PREFIX], [use the Open MPI installed there instead of the one in PATH])],
    [nezha_ompi_path="$withval/bin"], [nezha_ompi_path=$PATH])
  AC_PATH_PROG([MPICC], [mpicc], [], [$nezha_ompi_path])
  AC_PATH_PROG([OMPI_INFO], [ompi_info], [], [$nezha_ompi_path])
  AS_IF([test -z "$MPICC" || test -z "$OMPI_INFO"],
    [AC_MSG_ERROR([mpicc and ompi_info were not found: install Open MPI with its development files (Debian: libopenmpi-dev openmpi-bin), or name its prefix by --with-ompi=])])

  NEZHA_OMPI_PATH([nezha_ompi_prefix], [prefix])
  NEZHA_OMPI_PATH([nezha_ompi_libdir], [libdir])
  NEZHA_OMPI_PATH([nezha_ompi_pkglibdir], [pkglibdir])
  NEZHA_OMPI_PATH([nezha_ompi_pkgdatadir], [pkgdatadir])
  NEZHA_OMPI_PATH([nezha_ompi_pkgincludedir], [pkgincludedir])
  nezha_ompi_includedir=`AS_DIRNAME(["$nezha_ompi_pkgincludedir"])`
  AC_MSG_CHECKING([for Open MPI's development headers])
  AS_IF([test -r "$nezha_ompi_pkgincludedir/opal_config.h" && test -r "$nezha_ompi_pkgincludedir/ompi/mca/coll/coll.h"],
    [AC_MSG_RESULT([$nezha_ompi_pkgincludedir])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([Open MPI's component headers are not in $nezha_ompi_pkgincludedir: install libopenmpi-dev, or build Open MPI with --with-devel-headers])])

  OMPI_CPPFLAGS="-isystem $nezha_ompi_pkgincludedir -isystem $nezha_ompi_includedir"
  OMPI_LIBS="-L$nezha_ompi_libdir -lmpi -lopen-pal"
  MPI_CFLAGS=`"$MPICC" --showme:compile`
  MPI_LIBS=`"$MPICC" --showme:link`
  NEZHA_OMPI_VERSIONS
  NEZHA_OMPI_PMIX
  NEZHA_OMPI_HIDING
  NEZHA_OMPI_COMPILE
  AC_SUBST([MPICC])
  AC_SUBST([MPI_CFLAGS])
  AC_SUBST([MPI_LIBS])
  AC_SUBST([OMPI_CPPFLAGS])
  AC_SUBST([OMPI_LIBS])
  AC_SUBST([nezha_ompi_version])
])

# NEZHA_OMPI_VERSIONS
# Headers, wrapper compiler and ompi_info must be of one version, 4.1 or newer.
AC_DEFUN([NEZHA_OMPI_VERSIONS], [
  AC_MSG_CHECKING([for Open MPI's version])
  nezha_header="$nezha_ompi_pkgincludedir/opal_config.h"
  test -r "$nezha_ompi_includedir/mpi.h" && nezha_header="$nezha_ompi_includedir/mpi.h"
  nezha_ompi_version=
  for nezha_part in MAJOR MINOR RELEASE; do
    nezha_number=`sed -n "s/^.define OMPI_${nezha_part}_VERSION  *\([[0-9]][[0-9]]*\).*/\1/p" "$nezha_header"`
    nezha_ompi_version="$nezha_ompi_version${nezha_ompi_version:+.}$nezha_number"
  done
  nezha_wrapper_version=`"$MPICC" --showme:version | sed -n 's/.*Open MPI v\{0,1\}\([[0-9]][[0-9.]]*\).*/\1/p'`
  nezha_info_version=`"$OMPI_INFO" --version | sed -n 's/^Open MPI v\([[0-9]][[0-9.]]*\).*/\1/p'`
  AC_MSG_RESULT([$nezha_ompi_version])
  AS_IF([test "$nezha_ompi_version" != "$nezha_wrapper_version" || test "$nezha_ompi_version" != "$nezha_info_version"],
    [AC_MSG_ERROR([Open MPI's headers ($nezha_ompi_version), $MPICC ($nezha_wrapper_version) and $OMPI_INFO ($nezha_info_version) are of different versions: install the libopenmpi-dev that belongs to the openmpi-bin in use, or name one prefix by --with-ompi=])])
  AS_VERSION_COMPARE([$nezha_ompi_version], [4.1],
    [AC_MSG_ERROR([Open MPI $nezha_ompi_version is too old: install 4.1 or 5.0])])
  AS_VERSION_COMPARE([$nezha_ompi_version], [6.0], [],
    [AC_MSG_ERROR([Open MPI $nezha_ompi_version has another interface for components, which Nezha does not know yet: install 4.1 or 5.0])],
    [AC_MSG_ERROR([Open MPI $nezha_ompi_version has another interface for components, which Nezha does not know yet: install 4.1 or 5.0])])
])

# NEZHA_OMPI_PMIX
# From 5.0 on components call PMIx themselves: the one that came with Open MPI, or the one that pkg-config knows. Of its
# flags those that set a search path for run time are left out: the process has PMIx before it loads the component.
# Sets nezha_pmix_params_places: the directories where that PMIx may have its file of parameters.
AC_DEFUN([NEZHA_OMPI_PMIX], [
  AS_VERSION_COMPARE([$nezha_ompi_version], [5.0], [nezha_needs_pmix=no], [nezha_needs_pmix=yes], [nezha_needs_pmix=yes])
  nezha_pmix_prefix=`$PKG_CONFIG --variable=prefix pmix 2>/dev/null`
  nezha_pmix_params_places="$nezha_pmix_prefix/etc $nezha_pmix_prefix/share $nezha_ompi_prefix/etc /etc /etc/pmix"
  AS_IF([test $nezha_needs_pmix = yes && test -r "$nezha_ompi_includedir/pmix.h"],
      [OMPI_LIBS="$OMPI_LIBS -lpmix"
       # Under /usr it is a package of its own, whose header lies beside Open MPI's.
       test "$nezha_ompi_prefix" = /usr || nezha_pmix_params_places="$nezha_ompi_prefix/etc"],
    [test $nezha_needs_pmix = yes],
      [PKG_CHECK_EXISTS([pmix], [],
         [AC_MSG_ERROR([PMIx, which Open MPI $nezha_ompi_version needs, was not found: install libpmix-dev (pmix-devel), or name the directory of its pmix.pc by PKG_CONFIG_PATH=])])
       for nezha_word in `$PKG_CONFIG --cflags-only-I pmix`; do
         OMPI_CPPFLAGS="$OMPI_CPPFLAGS -isystem ${nezha_word#-I}"
       done
       OMPI_LIBS="$OMPI_LIBS `$PKG_CONFIG --libs-only-L --libs-only-l pmix`"])
])

# NEZHA_OMPI_HIDING
# From 5.0 on mpirun makes what PMIx's file of parameters says of mca_base_component_path, which is meant for PMIx, a
# parameter of Open MPI on every rank: then no rank looks for components where Open MPI does by default. Debian 13 has such a
# file. Sets nezha_pmix_params to its directory.
AC_DEFUN([NEZHA_OMPI_HIDING], [
  nezha_pmix_params=
  AS_IF([test $nezha_needs_pmix = yes], [
    AC_MSG_CHECKING([whether mpirun looks for components where Open MPI does])
    for nezha_place in $nezha_pmix_params_places; do
      AS_IF([grep -qs '^ *mca_base_component_path *=' "$nezha_place/pmix-mca-params.conf"],
        [nezha_pmix_params=$nezha_place
         break])
    done
    AS_IF([test -n "$nezha_pmix_params"],
      [AC_MSG_RESULT([no, for $nezha_pmix_params/pmix-mca-params.conf])],
      [AC_MSG_RESULT([yes])])
  ])
])

# NEZHA_OMPI_COMPILE
# What the component includes from Open MPI must compile as it stands, and its types must be what they should.
AC_DEFUN([NEZHA_OMPI_COMPILE], [
  AC_LANG_PUSH([C])
  nezha_save_CPPFLAGS=$CPPFLAGS
  nezha_save_CFLAGS=$CFLAGS
  CPPFLAGS="$OMPI_CPPFLAGS -idirafter $srcdir/opal/absent -I$srcdir $HWLOC_CFLAGS $CPPFLAGS"
  CFLAGS="$CFLAGS $NEZHA_CFLAGS -Werror=incompatible-pointer-types"
  AC_MSG_CHECKING([whether a component compiles against Open MPI $nezha_ompi_version])
  AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
#undef PACKAGE_BUGREPORT
#undef PACKAGE_NAME
#undef PACKAGE_STRING
#undef PACKAGE_TARNAME
#undef PACKAGE_URL
#undef PACKAGE_VERSION
#include "ompi_config.h"
#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/proc/proc.h"
#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/hwloc/base/base.h"
#include "opal/util/output.h"
#include "opal/util/show_help.h"

#include "opal/compat.h"

static int allreduce(const void *send, void *receive, int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
                     struct ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    return send == receive && count && type && op && comm && module;
}
static int enable(mca_coll_base_module_t *module, struct ompi_communicator_t *comm)
{
    module->coll_allreduce = allreduce;
    return comm->c_coll->coll_allreduce == allreduce ? OMPI_SUCCESS : OMPI_ERROR;
}
static mca_coll_base_module_t *query(struct ompi_communicator_t *comm, int *priority)
{
    static mca_coll_base_module_t module;
    module.coll_module_enable = enable;
    *priority = ompi_comm_size(comm);
    return &module;
}
mca_coll_base_component_t component = {.collm_comm_query = query};
]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])
     AC_MSG_ERROR([the headers in $nezha_ompi_pkgincludedir do not compile as a component (config.log has the compiler's words): Nezha is made for Open MPI 4.1 and 5.0: install the development files of one of them])])
  CPPFLAGS=$nezha_save_CPPFLAGS
  CFLAGS=$nezha_save_CFLAGS
  AC_LANG_POP([C])
])
