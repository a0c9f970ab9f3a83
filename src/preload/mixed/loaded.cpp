#include "preload/mixed/loaded.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>

#include <atomic>

#include "lockwright/env/native/syscall.hpp"

namespace lockwright::preload {
namespace {

/// The path of the program, for which the linker has no name.
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

// Where it lies: src/preload/layout.ld.
[[gnu::section(".bss.seldom_used.path")]] constinit program_path the_program;

loaded_file called(const char* path, std::uintptr_t base) {
  return {path == nullptr || *path == '\0' ? the_program.get() : path, base};
}

struct search {
  std::uintptr_t address;
  loaded_file found;
};

int look_into(dl_phdr_info* info, std::size_t, void* argument) {
  auto& wanted = *static_cast<search*>(argument);
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) & each = info->dlpi_phdr[i];
    const std::uintptr_t begin = info->dlpi_addr + each.p_vaddr;
    if (each.p_type == PT_LOAD && wanted.address >= begin &&
        wanted.address < begin + each.p_memsz) {
      wanted.found = called(info->dlpi_name, info->dlpi_addr);
      return 1;
    }
  }
  return 0;
}

loaded_file search_all(const void* address) {
  search wanted{reinterpret_cast<std::uintptr_t>(address), {nullptr, 0}};
  dl_iterate_phdr(look_into, &wanted);
  return wanted.found;
}

#if defined(DLFO_STRUCT_HAS_EH_DBASE)

/// The C library's own table, from 2.35 on, which no thread has to lock; asked for by name, so
/// that the library can be loaded where there is none.
using table_function = int(void*, dl_find_object*);

enum class asked : std::uint8_t { no, now, yes };
constinit std::atomic<asked> table_asked_for{asked::no};
constinit std::atomic<table_function*> table{nullptr};

/// Null while it is being looked for, which may allocate, thus lock, thus come here.
table_function* find_table() {
  asked expected = asked::no;
  if (table_asked_for.load(std::memory_order_acquire) != asked::yes &&
      table_asked_for.compare_exchange_strong(expected, asked::now)) {
    void* found = dlsym(RTLD_DEFAULT, "_dl_find_object");
    table.store(reinterpret_cast<table_function*>(found), std::memory_order_release);
    table_asked_for.store(asked::yes, std::memory_order_release);
  }
  return table.load(std::memory_order_acquire);
}

#endif

}  // namespace

loaded_file file_of(const void* address) {
#if defined(DLFO_STRUCT_HAS_EH_DBASE)
  if (table_function* const look_up = find_table()) {
    dl_find_object found;
    if (look_up(const_cast<void*>(address), &found) != 0) {
      return {nullptr, 0};
    }
    return called(found.dlfo_link_map->l_name, found.dlfo_link_map->l_addr);
  }
#endif
  return search_all(address);
}

}  // namespace lockwright::preload
