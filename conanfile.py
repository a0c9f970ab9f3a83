"""Recipe for Conan 2: the locks as C++20 headers."""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy


class Lockwright(ConanFile):
    """The package, with the same CMake target as an installation: lockwright::lockwright."""

    name = "lockwright"
    description = "Mutex algorithms as C++20 headers"
    license = "MIT"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    exports_sources = "CMakeLists.txt", "cmake/*", "include/*", "src/*", "LICENSE"
    no_copy_source = True

    def set_version(self) -> None:
        """Read the version from CMakeLists.txt."""
        text = (Path(self.recipe_folder) / "CMakeLists.txt").read_text()
        match = re.search(r"project\(lockwright VERSION ([0-9.]+)", text)
        assert match is not None
        self.version = match[1]

    def validate(self) -> None:
        """Refuse a standard before C++20."""
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 20)

    def generate(self) -> None:
        """Write the CMake settings that leave all programs and libraries out."""
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["LOCKWRIGHT_BUILD_PRELOAD"] = False
        toolchain.cache_variables["LOCKWRIGHT_BUILD_BENCH"] = False
        toolchain.generate()

    def build(self) -> None:
        """Configure; there is nothing to compile."""
        CMake(self).configure()

    def package(self) -> None:
        """Install the headers and the files for CMake and pkg-config."""
        copy(self, "LICENSE", self.source_folder, str(Path(self.package_folder) / "licenses"))
        CMake(self).install(component="headers")

    def package_id(self) -> None:
        """One package serves all settings."""
        self.info.clear()

    def package_info(self) -> None:
        """Leave find_package to the installed configuration."""
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.builddirs = ["share/cmake/lockwright"]
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.set_property("pkg_config_name", "lockwright")
