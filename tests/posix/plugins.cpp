// Libraries that are loaded and unloaded while the program runs, and use mutexes and condition
// variables from their constructors to their destructors, alone and together with the program.
#include "../support/check.hpp"
#include "plugin.hpp"

#include <dlfcn.h>

#include <filesystem>

namespace {

const Plugin& load(int flags, void** library, const char* name = "libplugin.so") {
  const std::string path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
  *library = dlopen(path.c_str(), flags);
  if (*library == nullptr) check::fail_at(__FILE__, __LINE__, "%s", dlerror());
  const void* found = dlsym(*library, plugin_name);
  CHECK(found != nullptr);
  return *static_cast<const Plugin*>(found);
}

void use_and_unload(int flags) {
  for (int i = 0; i < 2; ++i) {
    void* library = nullptr;
    const Plugin& plugin = load(flags, &library);
    CHECK_EQ(3, plugin.uses());  // initialised each time
    check::in_parallel(2, [&](int which) {
      plugin.use(100);
      plugin.alternate(which, 50);
    });
    CHECK_EQ(203, plugin.uses());
    OK(dlclose(library));
    CHECK(dlopen("libplugin.so", RTLD_NOW | RTLD_NOLOAD) == nullptr);
  }
}

// A mutex that one side has locked is locked for the other, which waits for it and unlocks it.
void shared(int flags, const char* name = "libplugin.so") {
  void* library = nullptr;
  const Plugin& plugin = load(flags, &library, name);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  plugin.lock(&mutex);
  CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
  OK(pthread_mutex_unlock(&mutex));
  OK(pthread_mutex_lock(&mutex));
  plugin.unlock(&mutex);
  volatile long counter = 0;
  check::in_parallel(2, [&](int which) {
    for (int i = 0; i < 500; ++i) {
      if (which == 0)
        plugin.lock(&mutex);
      else
        OK(pthread_mutex_lock(&mutex));
      counter = counter + 1;
      if (which == 0)
        OK(pthread_mutex_unlock(&mutex));
      else
        plugin.unlock(&mutex);
      OK(pthread_mutex_lock(plugin.mutex));
      OK(pthread_mutex_unlock(plugin.mutex));
      plugin.use(1);
    }
  });
  CHECK_EQ(1'000, counter);
  CHECK_EQ(1'003, plugin.uses());
  check::in_parallel(2, [&](int which) { plugin.alternate(which, 50); });
  OK(dlclose(library));
}

// Loads by a name without a directory, which is found in the program's search path.
CASE("by name") {
  for (const int flags : {RTLD_NOW, RTLD_NOW | RTLD_DEEPBIND, RTLD_NOW | RTLD_DEEPBIND}) {
    void* library = dlopen("libplugin.so", flags);
    if (library == nullptr) check::fail_at(__FILE__, __LINE__, "%s", dlerror());
    CHECK(dlerror() == nullptr);
    const void* found = dlsym(library, plugin_name);
    CHECK(found != nullptr);
    static_cast<const Plugin*>(found)->use(1);
    OK(dlclose(library));
    CHECK(dlopen("libplugin.so", RTLD_NOW | RTLD_NOLOAD) == nullptr);
    CHECK(dlopen("libno-such-plugin.so", flags) == nullptr);
    CHECK(std::strstr(dlerror(), "libno-such-plugin.so") != nullptr);
  }
};

// One thread loads and unloads while another contends for a mutex of the program.
CASE("loaded under contention") {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<bool> done{false};
  check::Worker other{[&](check::Worker&) {
    while (!done) {
      OK(pthread_mutex_lock(&mutex));
      OK(pthread_mutex_unlock(&mutex));
      sched_yield();
    }
  }};
  for (int i = 0; i < 5; ++i) {
    void* library = nullptr;
    const Plugin& plugin = load(i % 2 == 0 ? RTLD_LAZY : RTLD_NOW, &library);
    plugin.lock(&mutex);
    plugin.use(1);
    plugin.unlock(&mutex);
    OK(dlclose(library));
  }
  done = true;
  other.join();
};

CASE("now") { use_and_unload(RTLD_NOW); };
CASE("lazy") { use_and_unload(RTLD_LAZY); };
CASE("global") { use_and_unload(RTLD_LAZY | RTLD_GLOBAL); };
CASE("shared") { shared(RTLD_NOW | RTLD_LOCAL); };
CASE("deep") { use_and_unload(RTLD_NOW | RTLD_DEEPBIND); };
CASE("deep and lazy") { use_and_unload(RTLD_LAZY | RTLD_DEEPBIND); };
CASE("deep and shared") { shared(RTLD_NOW | RTLD_DEEPBIND); };
CASE("deep with old names") { shared(RTLD_NOW | RTLD_DEEPBIND, "libold_plugin.so"); };
CASE("deep, lazy, with old names, as a dependency") {
  shared(RTLD_LAZY | RTLD_DEEPBIND, "libneeds_plugin.so");
};

}  // namespace
