# SPDX-License-Identifier: BSD-3-Clause
from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class Nezha(AutotoolsPackage):
    """Open MPI component that carries MPI_Allreduce over all networks of a node at once, and a command that tells what
    it does, and why."""

    # A recipe that comes with the tarball cannot have its checksum. From the unpacked tarball:
    # spack develop --path "$PWD" nezha@0.1.0, or spack dev-build nezha@0.1.0
    version("0.1.0")

    license("BSD-3-Clause")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")

    # The component uses structures of Open MPI that change between its releases: link says that it is built anew for each.
    # That Open MPI has its components' headers, which the builtin one lacks, is this repository's doing.
    depends_on("nezha.openmpi@4.1:5", type=("build", "link", "run"))
    depends_on("hwloc@2:")
    depends_on("libmnl@1.0.4:")
    depends_on("nlohmann-json@3.9:", type="build")
    depends_on("nettle@3.4:")
    # The libraries are loaded at run time, by jobs that name such rails: link says that the component has their places.
    variant("ofi", default=True, description="Rails over libfabric")
    variant("verbs", default=True, description="Rails over RDMA verbs")
    depends_on("libfabric@1.9:", type=("build", "link"), when="+ofi")
    depends_on("rdma-core@32:", type=("build", "link"), when="+verbs")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-matplotlib", type="run")
    depends_on("py-rich", type="run")

    conflicts("platform=darwin", msg="Nezha is for Linux")
    conflicts("platform=windows", msg="Nezha is for Linux")

    @property
    def component_directory(self):
        return self.prefix.lib.openmpi

    def configure_args(self):
        return [
            f"--with-ompi={self.spec['openmpi'].prefix}",
            f"--with-componentdir={self.component_directory}",
            f"PYTHON={self.spec['python'].command.path}",
            f"--with-ofi={self.spec['libfabric'].prefix}" if self.spec.satisfies("+ofi") else "--without-ofi",
            f"--with-verbs={self.spec['rdma-core'].prefix}" if self.spec.satisfies("+verbs") else "--without-verbs",
        ]

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        # Open MPI lies under another prefix and looks for components there only.
        env.set("OMPI_MCA_opal_mca_base_component_path", f"{self.component_directory}:SYS_DEFAULT:USER_DEFAULT")

    def test_component(self):
        """ompi_info lists the component"""
        ompi_info = which(self.spec["openmpi"].prefix.bin.ompi_info, required=True)
        assert "coll: nezha" in ompi_info(output=str.split, error=str.split)
