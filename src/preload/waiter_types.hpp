// The waiter types in this library's environment.
#pragma once

#include <pthread.h>

#include "preload/counting.hpp"
#include "preload/waiter_queue.hpp"
#include "preload/waiters.hpp"

namespace lockwright::preload {

using waiter = basic_waiter<environment, pthread_mutex_t>;
using waiter_queue = basic_waiter_queue<environment, pthread_mutex_t>;
using signalled_queue = basic_signalled_queue<environment, pthread_mutex_t>;

}  // namespace lockwright::preload
