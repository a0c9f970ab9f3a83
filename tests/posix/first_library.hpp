// What first_library.cpp offers to the program that is linked with it.
#pragma once

/// Uses mutexes of several types and a condition variable; `with_threads` among threads too.
void use_everything(bool with_threads);

/// How often the library's constructor has run.
int times_constructed();

/// A mutex locked in the constructor is still locked; it is locked again on return.
void check_held_since_the_constructor();
