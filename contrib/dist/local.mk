# SPDX-License-Identifier: BSD-3-Clause
# What makes packages: debian/ (dpkg-buildpackage wants it at the top), an RPM's spec, recipes for Spack, EasyBuild and
# containers, a module file for Lmod, a unit for systemd.

EXTRA_DIST += %D%/nezha.spec %D%/nezha.lua %D%/nezha-aggregate.service.in %D%/Containerfile %D%/Nezha-0.1.0-gompi-2023b.eb \
	%D%/spack_repo/nezha/repo.yaml \
	%D%/spack_repo/nezha/packages/nezha/package.py \
	%D%/spack_repo/nezha/packages/openmpi/package.py

EXTRA_DIST += debian/changelog debian/control debian/copyright debian/rules \
	debian/nezha.install debian/nezha-doc.docs debian/nezha-doc.install debian/openmpi-nezha.install \
	debian/source/format debian/tests/allreduce debian/tests/control
