// The reader-writer locks of the libraries of one lock.
#include "preload/rwlock_choice.hpp"

constinit const lockwright::preload::rwlock_mode lockwright::preload::default_rwlock =
    rwlock_mode::keep;
