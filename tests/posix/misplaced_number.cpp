// A third-party preload library, or a C library of another make, that describes the place of a
// thread's number wrongly. Linked against nothing, so that it has no symbol versions: the dynamic
// linker then takes its definition for one of the version that is asked for.
#include <cstdint>

extern "C"
    [[gnu::visibility("default")]] const std::uint32_t _thread_db_pthread_tid[3] = {32, 1, 0};
