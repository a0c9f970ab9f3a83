# Reads the registries, the only lists of algorithms: registry.def has the mutexes, rwlocks.def the
# reader-writer locks. Writes the C++ headers derived from it:
#   <rows>/lockwright/row/<identifier>.hpp  one row, with the headers that it needs
#   <rows>/lockwright/rows.hpp              all rows of mutexes
#   <rows>/lockwright/rwrows.hpp            all rows of reader-writer locks
#   <rows>/lockwright/built.def             the rows of this build: those of LOCKWRIGHT_ONLY, or all
#   <rows>/lockwright/counted.def           those of them that are in LOCKWRIGHT_COUNTED, or all
# Sets LOCKWRIGHT_LOCKS, a list of "<name>=<identifier>" of this build, in registry order, and
# LOCKWRIGHT_BENCH_LOCKS, the same for the rows LOCKWRIGHT_BENCH_LOCK, which are for measurements only,
# LOCKWRIGHT_COUNTED_LOCKS, the part of LOCKWRIGHT_LOCKS that is in LOCKWRIGHT_COUNTED, or all,
# and LOCKWRIGHT_RWLOCKS, the same for the reader-writer locks, all of which every build has.
# Without a build: cmake -DLOCKWRIGHT_ROWS=<directory> -P cmake/Registry.cmake
cmake_minimum_required(VERSION 3.22)

if(NOT DEFINED LOCKWRIGHT_ROWS)
  set(LOCKWRIGHT_ROWS ${CMAKE_BINARY_DIR}/rows)
endif()

set(include_directory ${CMAKE_CURRENT_LIST_DIR}/../include)
get_filename_component(include_directory ${include_directory} ABSOLUTE)
# Writes a file only if its text differs, to avoid recompilation.
function(lockwright_write file text)
  if(EXISTS ${file})
    file(READ ${file} old_text)
    if(old_text STREQUAL text)
      return()
    endif()
  endif()
  file(WRITE ${file} "${text}")
endfunction()

# lockwright_read_rows(<file> <regular expression of its macros> <folder of the headers> <variable>)
# writes row/<identifier>.hpp for each row of a registry, and sets <variable> to a list of
# "<macro>=<name>=<identifier>". `names` are the names of all rows so far.
function(lockwright_read_rows registry macros folder variable)
  if(NOT CMAKE_SCRIPT_MODE_FILE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${registry})
  endif()
  get_filename_component(file ${registry} NAME)
  set(result "")
  file(STRINGS ${registry} rows REGEX "^[^/]*LOCKWRIGHT_")
  foreach(row IN LISTS rows)
    set(form "^(${macros})\\(\"([a-z0-9-]+)\", ([a-z0-9_]+), \"([a-z0-9_/.]+)\", ([^\"]+)\\)$")
    if(NOT row MATCHES "${form}")
      string(REGEX REPLACE "[|].*" "" macro ${macros})
      message(FATAL_ERROR "${registry}: this is not ${macro}(\"name\", identifier, \"header\", type) "
                          "on one line: ${row}")
    endif()
    set(macro ${CMAKE_MATCH_1})
    set(name ${CMAKE_MATCH_2})
    set(identifier ${CMAKE_MATCH_3})
    set(header ${CMAKE_MATCH_4})
    set(type ${CMAKE_MATCH_5})

    string(REPLACE "-" "_" expected ${name})
    if(NOT identifier STREQUAL expected)
      message(FATAL_ERROR "${registry}: the identifier of \"${name}\" has to be ${expected}, not ${identifier}")
    endif()
    if(name IN_LIST names)
      message(FATAL_ERROR "${registry}: two rows are named \"${name}\"")
    endif()
    list(APPEND names ${name})
    if(NOT EXISTS ${include_directory}/${header})
      message(FATAL_ERROR "${registry}: there is no include/${header}, the header of \"${name}\"")
    endif()

    # A lock that contains other locks needs their headers too, which have the names of their types.
    set(includes "#include \"${header}\"\n")
    string(REGEX MATCHALL "[a-z0-9_]+" type_names ${type})
    foreach(type_name IN LISTS type_names)
      set(other lockwright/${folder}/${type_name}.hpp)
      if(NOT other STREQUAL header AND EXISTS ${include_directory}/${other})
        string(APPEND includes "#include \"${other}\"\n")
      endif()
    endforeach()
    lockwright_write(
      ${LOCKWRIGHT_ROWS}/lockwright/row/${identifier}.hpp
      "// The row ${name} of ${file}.\n#pragma once\n\n${includes}#include \"lockwright/row.hpp\"\n
namespace lockwright {\nLOCKWRIGHT_ROW(\"${name}\", ${identifier}, \"${header}\", ${type})\n}  // namespace lockwright\n")
    list(APPEND result "${macro}=${name}=${identifier}")
    # With its semicolons, as a list entry would lose them.
    set(row_of_${name} "${row}" PARENT_SCOPE)
  endforeach()
  set(names ${names} PARENT_SCOPE)
  set(${variable} ${result} PARENT_SCOPE)
endfunction()

set(registry ${include_directory}/lockwright/registry.def)
set(LOCKWRIGHT_LOCKS "")
set(LOCKWRIGHT_BENCH_LOCKS "")
set(LOCKWRIGHT_COUNTED_LOCKS "")
set(LOCKWRIGHT_RWLOCKS "")
set(names "")

lockwright_read_rows(${registry} "LOCKWRIGHT_LOCK|LOCKWRIGHT_BENCH_LOCK" lock rows)
set(mutex_names ${names})
set(all_rows "// Every row of registry.def.\n#pragma once\n\n")
set(built_rows "#ifndef LOCKWRIGHT_BENCH_LOCK\n#define LOCKWRIGHT_BENCH_LOCK(...)\n#endif\n")
set(counted_rows "")
foreach(row IN LISTS rows)
  string(REGEX MATCH "^(.+)=(.+)=(.+)$" row ${row})
  set(list ${CMAKE_MATCH_1}S)
  set(name ${CMAKE_MATCH_2})
  set(identifier ${CMAKE_MATCH_3})
  string(APPEND all_rows "#include \"lockwright/row/${identifier}.hpp\"\n")
  if(NOT LOCKWRIGHT_ONLY OR name IN_LIST LOCKWRIGHT_ONLY)
    list(APPEND ${list} "${name}=${identifier}")
    string(APPEND built_rows "${row_of_${name}}\n")
    if(list STREQUAL "LOCKWRIGHT_LOCKS" AND (NOT LOCKWRIGHT_COUNTED OR name IN_LIST LOCKWRIGHT_COUNTED))
      list(APPEND LOCKWRIGHT_COUNTED_LOCKS "${name}=${identifier}")
      string(APPEND counted_rows "${row_of_${name}}\n")
    endif()
  endif()
endforeach()

foreach(option IN ITEMS LOCKWRIGHT_ONLY LOCKWRIGHT_COUNTED)
  foreach(name IN LISTS ${option})
    if(NOT name IN_LIST mutex_names)
      message(FATAL_ERROR "${option}: ${registry} has no row for \"${name}\"")
    endif()
  endforeach()
endforeach()

lockwright_write(${LOCKWRIGHT_ROWS}/lockwright/rows.hpp "${all_rows}")
string(APPEND built_rows "#undef LOCKWRIGHT_BENCH_LOCK\n")
lockwright_write(${LOCKWRIGHT_ROWS}/lockwright/built.def "${built_rows}")
lockwright_write(${LOCKWRIGHT_ROWS}/lockwright/counted.def "${counted_rows}")

lockwright_read_rows(${include_directory}/lockwright/rwlocks.def LOCKWRIGHT_RWLOCK rwlock rows)
set(all_rows "// Every row of rwlocks.def.\n#pragma once\n\n")
foreach(row IN LISTS rows)
  string(REGEX MATCH "^.+=(.+)=(.+)$" row ${row})
  string(APPEND all_rows "#include \"lockwright/row/${CMAKE_MATCH_2}.hpp\"\n")
  list(APPEND LOCKWRIGHT_RWLOCKS "${CMAKE_MATCH_1}=${CMAKE_MATCH_2}")
endforeach()
lockwright_write(${LOCKWRIGHT_ROWS}/lockwright/rwrows.hpp "${all_rows}")

# lockwright_source_per_row(<list> <variable> <text with @name@ and @identifier@> <file name with
# @identifier@>) writes one source file for each row of one of these lists, so that each is compiled
# separately.
function(lockwright_source_per_row list variable text file)
  set(sources "")
  foreach(lock IN LISTS ${list})
    string(REGEX MATCH "^(.+)=(.+)$" lock ${lock})
    set(name ${CMAKE_MATCH_1})
    set(identifier ${CMAKE_MATCH_2})
    string(CONFIGURE "${text}" content @ONLY)
    string(CONFIGURE "${CMAKE_CURRENT_BINARY_DIR}/${file}" path @ONLY)
    lockwright_write(${path} "${content}")
    list(APPEND sources ${path})
  endforeach()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

function(lockwright_source_per_lock variable text file)
  lockwright_source_per_row(LOCKWRIGHT_LOCKS sources "${text}" "${file}")
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()
