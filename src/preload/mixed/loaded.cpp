#include "preload/mixed/loaded.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>

#include <atomic>

#include "lockwright/env/native/syscall.hpp"

namespace lockwright::preload {
namespace {

/// The path of the program, which the dynamic linker does not store.
class program_path {
 public:
  const char* get() {
    if (!known_.load(std::memory_order_acquire)) {
      using native_env::argument;
      // Threads that race here write the same.
      const long length = native_env::system_call(
          SYS_readlinkat, AT_FDCWD, argument("/proc/self/exe"), argument(path_), sizeof path_ - 1);
      path_[length > 0 ? length : 0] = '\0';
      known_.store(true, std::memory_order_release);
    }
    return path_;
  }

 private:
  std::atomic<bool> known_{false};
  char path_[PATH_MAX]{};
};

// Placed by src/preload/layout.ld.
[[gnu::section(".bss.seldom_used.path")]] constinit program_path program;

loaded_file named_file(const char* path, std::uintptr_t base) {
  return {path == nullptr || *path == '\0' ? program.get() : path, base};
}

struct search {
  std::uintptr_t address;
  loaded_file found;
};

int search_object(dl_phdr_info* info, std::size_t, void* argument) {
  auto& wanted = *static_cast<search*>(argument);
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) & each = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + each.p_vaddr;
    if (each.p_type == PT_LOAD && wanted.address >= begin &&
        wanted.address < begin + each.p_memsz) {
      wanted.found = named_file(info->dlpi_name, info->dlpi_addr);
      return 1;
    }
  }
  return 0;
}

loaded_file search_all(const void* address) {
  search wanted{reinterpret_cast<std::uintptr_t>(address), {nullptr, 0}};
  dl_iterate_phdr(search_object, &wanted);
  return wanted.found;
}

#if defined(DLFO_STRUCT_HAS_EH_DBASE)

/// The C library's lock-free look-up, from 2.35 on; found by name, so that this library can be
/// loaded without it.
using look_up_function = int(void*, dl_find_object*);

enum class search_state : std::uint8_t { not_started, running, finished };
constinit std::atomic<search_state> state{search_state::not_started};
constinit std::atomic<look_up_function*> look_up{nullptr};

/// Returns null during the search, which may allocate, thus lock, thus recurse.
look_up_function* find_look_up() {
  search_state expected = search_state::not_started;
  if (state.load(std::memory_order_acquire) != search_state::finished &&
      state.compare_exchange_strong(expected, search_state::running)) {
    void* found = dlsym(RTLD_DEFAULT, "_dl_find_object");
    look_up.store(reinterpret_cast<look_up_function*>(found), std::memory_order_release);
    state.store(search_state::finished, std::memory_order_release);
  }
  return look_up.load(std::memory_order_acquire);
}

#endif

}  // namespace

loaded_file file_of(const void* address) {
#if defined(DLFO_STRUCT_HAS_EH_DBASE)
  if (look_up_function* const find = find_look_up()) {
    dl_find_object found;
    if (find(const_cast<void*>(address), &found) != 0) {
      return {nullptr, 0};
    }
    return named_file(found.dlfo_link_map->l_name, found.dlfo_link_map->l_addr);
  }
#endif
  return search_all(address);
}

}  // namespace lockwright::preload
