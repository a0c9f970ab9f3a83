# Rejects platforms on which Lockwright cannot be built.

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
  message(FATAL_ERROR "Lockwright needs Linux; this is ${CMAKE_SYSTEM_NAME}.")
endif()

# The same processor has several names; Lockwright uses the kernel's.
string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" LOCKWRIGHT_ARCH)
if(LOCKWRIGHT_ARCH STREQUAL "amd64")
  set(LOCKWRIGHT_ARCH x86_64)
elseif(LOCKWRIGHT_ARCH STREQUAL "arm64")
  set(LOCKWRIGHT_ARCH aarch64)
endif()

set(oldest_GNU 12)
set(oldest_Clang 14)
if(NOT DEFINED oldest_${CMAKE_CXX_COMPILER_ID} OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS
                                                  oldest_${CMAKE_CXX_COMPILER_ID})
  message(FATAL_ERROR "Lockwright needs gcc >= 12 or clang >= 14; the C++ compiler is "
                      "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}. "
                      "Set CC and CXX, for example: CC=gcc-12 CXX=g++-12.")
endif()

include(CheckCXXSourceCompiles)
check_cxx_source_compiles("
#include <features.h>
#if !defined(__GLIBC__) || !__GLIBC_PREREQ(2, 34)
#error
#endif
int main() {}" LOCKWRIGHT_HAVE_GLIBC_2_34)
if(NOT LOCKWRIGHT_HAVE_GLIBC_2_34)
  message(FATAL_ERROR "Lockwright needs the GNU C library >= 2.34 (Debian 12, Ubuntu 22.04 or later).")
endif()
