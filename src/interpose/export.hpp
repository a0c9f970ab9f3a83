// Exports a function under every symbol version that a program may be bound to. glibc moved several
// names to GLIBC_2.34; a program built since silently bypasses a library that exports only the old
// version of such a name.
#pragma once

#include <cstdint>

// A program built today binds to VERSIONED_DEFAULT, an older one may bind to VERSIONED_OLD. Each
// needs a symbol of its own: assemblers before 2.35 accept one version per symbol.
#define VERSIONED_AS(function, tag, symbol)                                         \
  extern "C" __attribute__((visibility("default"),                                  \
                            alias(#function))) decltype(function) function##_##tag; \
  asm(".symver " #function "_" #tag "," symbol)

#define VERSIONED_DEFAULT(function, name, version) VERSIONED_AS(function, now, name "@@" version)
#define VERSIONED_OLD(function, tag, name, version) VERSIONED_AS(function, tag, name "@" version)

#if defined(__x86_64__)
#define BASE_VERSION "GLIBC_2.2.5"
#define COND_VERSION "GLIBC_2.3.2"
#elif defined(__aarch64__)
#define BASE_VERSION "GLIBC_2.17"
#define COND_VERSION "GLIBC_2.17"
#endif

// The address that the calling function returns to.
#define LOCKWRIGHT_CALLER reinterpret_cast<std::uint64_t>(__builtin_return_address(0))
