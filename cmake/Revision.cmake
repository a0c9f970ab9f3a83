# Writes the git revision of LOCKWRIGHT_SOURCE, with `-dirty` if files differ from it, to
# LOCKWRIGHT_REVISION; measurements record it. Without git or a checkout there is no such file.
find_program(git git)
set(code 1)
if(git)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env GIT_OPTIONAL_LOCKS=0 ${git} -C ${LOCKWRIGHT_SOURCE} describe --always --dirty
            --abbrev=12 --exclude=*
    OUTPUT_VARIABLE revision
    RESULT_VARIABLE code
    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(code EQUAL 0)
  file(WRITE ${LOCKWRIGHT_REVISION}.part "${revision}\n")
  file(RENAME ${LOCKWRIGHT_REVISION}.part ${LOCKWRIGHT_REVISION})
else()
  file(REMOVE ${LOCKWRIGHT_REVISION})
endif()
