// What plugin.cpp offers to the program that loads it.
#pragma once

#include <pthread.h>

struct Plugin {
  /// How often something in the library has counted, by whichever way.
  int (*uses)();
  /// Uses each kind of mutex that the library has, `rounds` times.
  void (*use)(int rounds);
  /// Waits until another call of it wakes it, `rounds` times. Two threads call it, 0 and 1.
  void (*take_turns)(int which, int rounds);
  /// The mutex that uses() is under.
  pthread_mutex_t* mutex;
  /// Locks and unlocks a mutex of the program's.
  void (*lock)(pthread_mutex_t*);
  void (*unlock)(pthread_mutex_t*);
};

/// The name under which it is found, as a `const Plugin`.
inline constexpr char plugin_name[] = "the_plugin";
