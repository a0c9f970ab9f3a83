// The interface of plugin.cpp to the program that loads it.
#pragma once

#include <pthread.h>

struct Plugin {
  /// Returns the sum of all counters of the library.
  int (*uses)();
  /// Uses each kind of mutex that the library has, `rounds` times.
  void (*use)(int rounds);
  /// Waits `rounds` times until the other of the two calling threads, 0 and 1, wakes it.
  void (*alternate)(int which, int rounds);
  /// The mutex that guards uses().
  pthread_mutex_t* mutex;
  /// Locks and unlocks a mutex of the program.
  void (*lock)(pthread_mutex_t*);
  void (*unlock)(pthread_mutex_t*);
};

/// The name of the library's symbol, a `const Plugin`.
inline constexpr char plugin_name[] = "the_plugin";
