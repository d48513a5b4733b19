-- SPDX-License-Identifier: BSD-3-Clause
-- A module file for Lmod. Copy it to MODULEPATH as nezha/0.1.0.lua and set `prefix`, to which this belongs:
--
--   ./configure --prefix=PREFIX --with-componentdir=PREFIX/lib/openmpi && make && make install
--
-- With that component directory Open MPI finds the component only where this module is loaded, so Nezha is opt-in. Where
-- it is installed in Open MPI's own directory, with `coll_nezha_enable = 0` in openmpi-mca-params.conf, it is opt-in too.

local prefix = "/opt/nezha/0.1.0"

whatis("Name: Nezha")
whatis("Version: 0.1.0")
whatis("Description: Open MPI component that carries MPI_Allreduce over all networks of a node at once")
help([[
Programs of the Open MPI that this Nezha was built for carry MPI_Allreduce over all networks of their nodes while this
module is loaded. "nezha rails" shows which networks; "nezha doctor" finds what is wrong.
]])

-- A component fits exactly one release of Open MPI. Name the module of that release here:
-- depends_on("openmpi/4.1.4")

prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
setenv("OMPI_MCA_opal_mca_base_component_path", pathJoin(prefix, "lib/openmpi") .. ":SYS_DEFAULT:USER_DEFAULT")
setenv("OMPI_MCA_coll_nezha_enable", "1")
