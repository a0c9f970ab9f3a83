# Installs what makes the headers a package of others: the target lockwright::lockwright for
# find_package(lockwright), and lockwright.pc for pkg-config. Both find the headers relative to themselves.
include(CMakePackageConfigHelpers)

add_library(lockwright::lockwright ALIAS lockwright_headers)
target_compile_features(lockwright_headers INTERFACE cxx_std_20)
set_target_properties(lockwright_headers PROPERTIES EXPORT_NAME lockwright)

set(folder share/cmake/lockwright)
install(TARGETS lockwright_headers EXPORT lockwright COMPONENT headers)
install(EXPORT lockwright NAMESPACE lockwright:: FILE lockwright-config.cmake DESTINATION ${folder}
        COMPONENT headers)
set(version_file ${CMAKE_CURRENT_BINARY_DIR}/lockwright-config-version.cmake)
write_basic_package_version_file(${version_file} COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${version_file} DESTINATION ${folder} COMPONENT headers)

lockwright_write(
  ${CMAKE_CURRENT_BINARY_DIR}/lockwright.pc
  "prefix=\${pcfiledir}/../..
includedir=\${prefix}/include

Name: lockwright
Description: Lock algorithms as C++20 headers
Version: ${PROJECT_VERSION}
Cflags: -I\${includedir}
")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lockwright.pc DESTINATION share/pkgconfig COMPONENT headers)
