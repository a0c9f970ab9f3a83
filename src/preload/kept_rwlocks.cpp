// The reader-writer locks of all libraries but that of the default.
#include "preload/rwlock_choice.hpp"

constinit const lockwright::preload::rwlock_mode lockwright::preload::default_rwlock =
    rwlock_mode::keep;
