// A third-party preload library, or another C library, that describes the place of a
// thread's number wrongly. Linked against nothing, so that it has no symbol versions: the dynamic
// linker then takes its definition for one of the requested version.
#include <cstdint>

extern "C"
    [[gnu::visibility("default")]] const std::uint32_t _thread_db_pthread_tid[3] = {32, 1, 0};
