// What first_library.cpp offers to the program that is linked with it.
#pragma once

#include <pthread.h>

/// Uses mutexes of several types and a condition variable; `with_threads` among threads too.
void use_everything(bool with_threads);

/// How often the library's constructor has run.
int times_constructed();

/// The library registers handlers for fork in its constructor: they take a mutex before the fork,
/// call `meanwhile` with it, release it in both processes, and take it once more in the child. They
/// do nothing while it is null.
extern void (*meanwhile)(pthread_mutex_t*);

/// A mutex locked in the constructor is still locked; it is locked again on return.
void check_held_since_the_constructor();
