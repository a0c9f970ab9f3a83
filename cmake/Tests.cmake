# The C++ tests. `lockwright-tests` builds all of them and nothing else.

function(lockwright_tests directory)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${directory}/CMakeLists.txt)
    return()
  endif()
  add_subdirectory(${PROJECT_SOURCE_DIR}/${directory} ${CMAKE_BINARY_DIR}/${directory})
  get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR}/${directory} PROPERTY BUILDSYSTEM_TARGETS)
  if(targets)
    add_dependencies(lockwright-tests ${targets})
  endif()
endfunction()

add_custom_target(lockwright-tests)

if(LOCKWRIGHT_BUILD_TESTS)
  lockwright_tests(tests/unit)
  lockwright_tests(tests/bench)
  lockwright_tests(tests/posix)
  lockwright_tests(tests/bottlenecks)
  lockwright_tests(tests/profile)
  lockwright_tests(tests/fuzz)
  lockwright_tests(tests/torture)
  lockwright_tests(tests/simulate)
endif()

if(LOCKWRIGHT_BUILD_MODEL)
  lockwright_tests(tests/model)
endif()
