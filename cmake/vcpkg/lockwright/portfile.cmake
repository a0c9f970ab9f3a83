# An overlay port of the checkout that contains it: vcpkg install lockwright --overlay-ports=cmake/vcpkg
set(VCPKG_BUILD_TYPE release)
vcpkg_cmake_configure(
  SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.."
  OPTIONS -DLOCKWRIGHT_BUILD_PRELOAD=OFF -DLOCKWRIGHT_BUILD_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/lockwright)
vcpkg_fixup_pkgconfig()
# Sources of the checker, which the lockwright command compiles.
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/src")
vcpkg_install_copyright(FILE_LIST "${CMAKE_CURRENT_LIST_DIR}/../../../LICENSE")
