// The interface of first_library.cpp to the program that is linked with it.
#pragma once

#include <pthread.h>

/// Uses mutexes of several types and a condition variable; with several threads too if
/// `with_threads`.
void use_everything(bool with_threads);

/// Returns how often the library's constructor has run.
int times_constructed();

/// The library registers handlers for fork in its constructor: they take a mutex before the fork,
/// call `during_fork` with it, release it in both processes, and take it once more in the child.
/// They do nothing while it is null.
extern void (*during_fork)(pthread_mutex_t*);

/// Checks that a mutex locked in the constructor is still locked, and leaves it locked.
void check_held_since_the_constructor();
