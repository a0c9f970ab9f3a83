# Defines the target `lockwright-tests`, which builds the C++ tests only.

# Adds a directory of tests. They are mostly programs of one source; LOCKWRIGHT_UNITY_BUILD is for others.
function(lockwright_tests directory)
  set(LOCKWRIGHT_UNITY_BUILD ${CMAKE_UNITY_BUILD})
  set(CMAKE_UNITY_BUILD OFF)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${directory})
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${directory})
  add_subdirectory(${PROJECT_SOURCE_DIR}/${directory} ${CMAKE_BINARY_DIR}/${directory})
  get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR}/${directory} PROPERTY BUILDSYSTEM_TARGETS)
  if(targets)
    add_dependencies(lockwright-tests ${targets})
  endif()
endfunction()

# Defines the target <group>_<name>: a program or a preload library (EXECUTABLE or MODULE) called
# <name>, from the remaining arguments.
function(lockwright_test_target kind group name)
  set(target ${group}_${name})
  if(kind STREQUAL "MODULE")
    add_library(${target} MODULE ${ARGN})
    set_target_properties(${target} PROPERTIES PREFIX "")
  else()
    add_executable(${target} ${ARGN})
  endif()
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name})
  target_link_libraries(${target} PRIVATE lockwright_warnings)
endfunction()

add_custom_target(lockwright-tests)

if(LOCKWRIGHT_BUILD_TESTS)
  foreach(name IN ITEMS unit posix bottlenecks profile speedup fuzz lab/bench lab/torture lab/simulate)
    lockwright_tests(tests/${name})
  endforeach()
endif()

if(LOCKWRIGHT_BUILD_MODEL)
  lockwright_tests(tests/model)
endif()
