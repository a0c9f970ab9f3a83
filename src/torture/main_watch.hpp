// Watches the main thread, which watches all others: it may wait for a thread that does not end, or
// hang in a call of the library under test.
#pragma once

namespace torture {

// For the main thread: what it does from now on. Each call counts as progress.
void main_thread(const char* does);

// Starts a thread that ends the process as fail() does once the main thread has made no progress for
// `patience` seconds, counted in its own ticks, as the main thread counts those of the others.
void watch_main_thread(double patience);

}  // namespace torture
