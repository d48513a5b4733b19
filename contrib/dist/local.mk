# SPDX-License-Identifier: BSD-3-Clause
# What makes packages: debian/ (dpkg-buildpackage wants it at the top), an RPM's spec, a repository of recipes for Spack.

EXTRA_DIST += %D%/nezha.spec \
	%D%/spack_repo/nezha/repo.yaml \
	%D%/spack_repo/nezha/packages/nezha/package.py \
	%D%/spack_repo/nezha/packages/openmpi/package.py

EXTRA_DIST += debian/changelog debian/control debian/copyright debian/rules \
	debian/nezha.install debian/nezha-doc.docs debian/nezha-doc.install debian/openmpi-nezha.install \
	debian/source/format debian/tests/allreduce debian/tests/control
