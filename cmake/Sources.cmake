# lockwright_sources(<variable> <source>...) sets the variable to the sources, with their directories,
# and stops with the name of every .cpp file beside them that no list of its directory has: a glob
# would compile stray files, a list alone would miss new ones. The sources of a directory may be
# divided between several lists: all but the last have PART.
function(lockwright_sources variable)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "PART" "" "")
  set(sources ${ARG_UNPARSED_ARGUMENTS})
  set_property(DIRECTORY APPEND PROPERTY LOCKWRIGHT_LISTED ${sources})
  if(NOT ARG_PART)
    get_property(listed DIRECTORY PROPERTY LOCKWRIGHT_LISTED)
    set(patterns "")
    foreach(source IN LISTS listed)
      get_filename_component(directory ${CMAKE_CURRENT_SOURCE_DIR}/${source} DIRECTORY)
      list(APPEND patterns ${directory}/*.cpp)
    endforeach()
    list(REMOVE_DUPLICATES patterns)
    file(GLOB present CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${patterns})
    list(REMOVE_ITEM present ${listed})
    if(present)
      list(JOIN present ", " present)
      message(FATAL_ERROR "${CMAKE_CURRENT_SOURCE_DIR}/CMakeLists.txt does not name ${present}: "
                          "add it to one of its lists of sources, or delete the file.")
    endif()
  endif()
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()
