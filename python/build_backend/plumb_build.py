# SPDX-License-Identifier: MIT
"""The build backend of pip: scikit-build-core, and a sentence that says what to do where plumb cannot be built."""
import sys

from scikit_build_core import build as base
from scikit_build_core.build import *  # noqa: F401,F403

NOT_LINUX = ("plumb runs on Linux alone: install it in a Debian or Ubuntu container or virtual machine, on Windows in WSL "
             "(wsl --install -d Debian), by apt-get install python3-venv and then pip install there")
NOT_BUILT = ("plumb could not be compiled: install a C compiler, CMake, Ninja, pkg-config and the headers of libzip, zlib, libpng, "
             "Random123 and xxHash (scripts/setup in the sources does so on Debian and Ubuntu, and lists the packages of Fedora and Arch), "
             "or install a wheel that scripts/wheel made, which needs none of them")


def _check_system():
    if not sys.platform.startswith("linux"):
        sys.exit(NOT_LINUX)


def get_requires_for_build_wheel(config_settings=None):
    _check_system()
    return base.get_requires_for_build_wheel(config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _check_system()
    try:
        return base.build_wheel(wheel_directory, config_settings, metadata_directory)
    except KeyboardInterrupt:
        raise
    except BaseException as why:  # a failed build is a SystemExit
        if str(why) and not isinstance(why, SystemExit):
            print(why, file=sys.stderr)
        sys.exit(NOT_BUILT)


def get_requires_for_build_editable(config_settings=None):
    _check_system()
    return base.get_requires_for_build_editable(config_settings)
