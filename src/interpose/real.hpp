// The C library's own versions of the functions that we replace.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

namespace lockwright::interpose {

/// Pointers to the C library's functions. Each starts as a stub that looks all
/// of them up and calls the right one, because library constructors lock before
/// ours has run; after that a call costs one indirect jump.
struct real_functions {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name and the list of its parameters
#define REAL_FUNCTION(result, member, parameters, name, version) result(*member) parameters;
#include "interpose/real.def"
#undef REAL_FUNCTION
};

/// Not exported, so that a call needs no pointer to it.
[[gnu::visibility("hidden")]] extern real_functions real;

/// Looks all of them up in `where`, a handle of the dynamic linker.
void find_real_functions(void* where);

}  // namespace lockwright::interpose
