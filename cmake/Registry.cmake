# Reads the names of the algorithms from the registry, so that they are written down once.
# Sets LOCKWRIGHT_LOCKS, a list of "<name>=<identifier>" in registry order.

set(registry ${CMAKE_CURRENT_SOURCE_DIR}/include/lockwright/registry.def)
set(LOCKWRIGHT_LOCKS "")

if(EXISTS ${registry})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${registry})
  file(STRINGS ${registry} rows REGEX "^[ \t]*LOCKWRIGHT_LOCK\\([ \t]*\"")
  foreach(row IN LISTS rows)
    if(NOT row MATCHES "LOCKWRIGHT_LOCK\\([ \t]*\"([a-z0-9-]+)\"[ \t]*,[ \t]*([a-z0-9_]+)[ \t]*,")
      message(FATAL_ERROR "${registry}: cannot read this row: ${row}")
    endif()
    if(NOT LOCKWRIGHT_ONLY OR CMAKE_MATCH_1 IN_LIST LOCKWRIGHT_ONLY)
      list(APPEND LOCKWRIGHT_LOCKS "${CMAKE_MATCH_1}=${CMAKE_MATCH_2}")
    endif()
  endforeach()
  if(NOT LOCKWRIGHT_LOCKS)
    message(FATAL_ERROR "${registry}: no row LOCKWRIGHT_LOCK(\"name\", identifier, ...) found "
                        "(LOCKWRIGHT_ONLY=\"${LOCKWRIGHT_ONLY}\")")
  endif()
endif()
