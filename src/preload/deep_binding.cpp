// dlopen with RTLD_DEEPBIND: such a library binds names to its own dependencies first, and so to
// the C library's locking functions. Where it shares a mutex with the rest of the program, or a
// condition variable of C++, whose functions are in another library, two implementations would use
// one object. So its references are rebound to our functions.
//
// Its constructors have run by then. What they initialise is valid for both implementations,
// except condition variables with a clock other than the default.
#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "interpose/export.hpp"
#include "interpose/objects.hpp"
#include "interpose/real.hpp"
#include "lockwright/env/native/syscall.hpp"

namespace lockwright::preload {

using interpose::c_library;
using interpose::object_of;
using interpose::real;

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t relocations[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_64};
#elif defined(__aarch64__)
constexpr std::uint32_t relocations[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_ABS64};
#endif

/// The symbol references of one loaded object.
class references {
 public:
  explicit references(link_map* object) : object_(object) {
    for (const ElfW(Dyn)* each = object->l_ld; each->d_tag != DT_NULL; ++each) {
      switch (each->d_tag) {
        case DT_SYMTAB:
          symbols_ = reinterpret_cast<const ElfW(Sym)*>(each->d_un.d_ptr);
          break;
        case DT_STRTAB:
          names_ = reinterpret_cast<const char*>(each->d_un.d_ptr);
          break;
        case DT_RELA:
          tables_[0].start = reinterpret_cast<const ElfW(Rela)*>(each->d_un.d_ptr);
          break;
        case DT_RELASZ:
          tables_[0].number = each->d_un.d_val / sizeof(ElfW(Rela));
          break;
        case DT_JMPREL:
          tables_[1].start = reinterpret_cast<const ElfW(Rela)*>(each->d_un.d_ptr);
          break;
        case DT_PLTRELSZ:
          tables_[1].number = each->d_un.d_val / sizeof(ElfW(Rela));
          break;
        default:
          break;
      }
    }
    dl_iterate_phdr(record_read_only, this);
  }

  /// Rebinds to our functions the references that are bound to `from` now or at their first call.
  void rebind(link_map* from, link_map* ours) {
    for (const table& each : tables_) {
      for (std::size_t i = 0; each.start != nullptr && i < each.number; ++i) {
        rebind_one(each.start[i], from, ours);
      }
    }
  }

 private:
  struct table {
    const ElfW(Rela) * start;
    std::size_t number;
  };

  void rebind_one(const ElfW(Rela) & relocation, link_map* from, link_map* ours) {
    const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(relocation.r_info));
    bool is_address = false;
    for (const std::uint32_t known : relocations) {
      is_address = is_address || type == known;
    }
    const std::size_t symbol = ELF64_R_SYM(relocation.r_info);
    if (!is_address || symbol == 0 || relocation.r_addend != 0) {
      return;
    }
    const char* name = names_ + symbols_[symbol].st_name;
    // Only names of the locking API are looked up.
    if (strstr(name, "pthread_") == nullptr && strncmp(name, "mtx_", 4) != 0 &&
        strncmp(name, "cnd_", 4) != 0 && strncmp(name, "sem_", 4) != 0) {
      return;
    }
    void* replacement = dlsym(RTLD_DEFAULT, name);
    if (replacement == nullptr || object_of(replacement) != ours) {
      return;
    }
    auto* target = reinterpret_cast<void**>(object_->l_addr + relocation.r_offset);
    const link_map* bound_to = object_of(*target);
    const bool unresolved = type == relocations[0] && bound_to == object_ &&
                            symbols_[symbol].st_shndx == SHN_UNDEF &&
                            object_of(dlsym(object_, name)) == from;
    if (bound_to == from || unresolved) {
      write(target, replacement);
    }
  }

  void write(void** target, void* value) const {
    const auto address = reinterpret_cast<std::uintptr_t>(target);
    const bool is_read_only = address >= read_only_ && address < read_only_end_;
    const auto page = static_cast<long>(address & ~(page_size() - 1));
    const long size = sysconf(_SC_PAGESIZE);
    using native_env::system_call;
    if (is_read_only) {
      system_call(SYS_mprotect, page, size, PROT_READ | PROT_WRITE);
    }
    __atomic_store_n(target, value, __ATOMIC_RELAXED);
    if (is_read_only) {
      system_call(SYS_mprotect, page, size, PROT_READ);
    }
  }

  static std::uintptr_t page_size() { return static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)); }

  /// Finds the part that the dynamic linker made read-only after relocation.
  static int record_read_only(dl_phdr_info* info, std::size_t, void* argument) {
    auto& self = *static_cast<references*>(argument);
    if (info->dlpi_addr != self.object_->l_addr) {
      return 0;
    }
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr) & each = info->dlpi_phdr[i];
      if (each.p_type == PT_GNU_RELRO) {
        self.read_only_ = (info->dlpi_addr + each.p_vaddr) & ~(page_size() - 1);
        self.read_only_end_ = (info->dlpi_addr + each.p_vaddr + each.p_memsz) & ~(page_size() - 1);
      }
    }
    return 1;
  }

  link_map* object_;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  table tables_[2]{};
  std::uintptr_t read_only_ = 0;
  std::uintptr_t read_only_end_ = 0;
};

/// The directories that the dynamic linker searches for an object's dependencies, in order.
class search_path {
 public:
  explicit search_path(link_map* object) {
    if (dlinfo(object, RTLD_DI_SERINFOSIZE, info()) != 0 || info()->dls_size > sizeof buffer_ ||
        dlinfo(object, RTLD_DI_SERINFOSIZE, info()) != 0 ||
        dlinfo(object, RTLD_DI_SERINFO, info()) != 0) {
      info()->dls_cnt = 0;
    }
  }

  [[nodiscard]] unsigned size() { return info()->dls_cnt; }
  [[nodiscard]] const char* operator[](unsigned i) {
    // The member is declared as an array of no elements.
    const char* entries = buffer_ + offsetof(Dl_serinfo, dls_serpath);
    return reinterpret_cast<const Dl_serpath*>(entries)[i].dls_name;
  }

  [[nodiscard]] bool has(const char* directory) {
    for (unsigned i = 0; i < size(); ++i) {
      if (strcmp((*this)[i], directory) == 0) {
        return true;
      }
    }
    return false;
  }

 private:
  Dl_serinfo* info() { return reinterpret_cast<Dl_serinfo*>(buffer_); }

  alignas(Dl_serinfo) char buffer_[8'192];
};

/// Calls the C library's dlopen as if from `object`: a name without a directory is also looked for
/// in that object's search path. This library has no path of its own, so its path is the part that
/// all objects share.
void* open_for(link_map* object, link_map* ours, const char* file, int mode) {
  if (strchr(file, '/') != nullptr || object == nullptr) {
    return real.dlopen(file, mode);
  }
  if (void* loaded = real.dlopen(file, mode | RTLD_NOLOAD)) {
    return loaded;
  }
  search_path object_path(object);
  search_path shared_path(ours);
  unsigned end = object_path.size();
  while (end != 0 && shared_path.has(object_path[end - 1])) {
    --end;
  }
  for (unsigned i = 0; i < end; ++i) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", object_path[i], file) < PATH_MAX &&
        access(path, R_OK) == 0) {
      return real.dlopen(path, mode);
    }
  }
  return real.dlopen(file, mode);
}

[[gnu::noinline]] void* open_deep(const void* caller, const char* file, int mode) {
  link_map* ours = object_of(&real);
  void* opened = open_for(object_of(caller), ours, file, mode);
  link_map* object = nullptr;
  if (opened != nullptr && dlinfo(opened, RTLD_DI_LINKMAP, static_cast<void*>(&object)) == 0) {
    references(object).rebind(c_library(), ours);
    dlerror();  // The caller must not see an error of the look-ups here.
  }
  return opened;
}

}  // namespace
}  // namespace lockwright::preload

using namespace lockwright::preload;

extern "C" {

/// Ends in a tail call, because the C library's function depends on its caller's address.
void* lockwright_dlopen(const char* file, int mode) noexcept {
  if ((mode & RTLD_DEEPBIND) == 0 || file == nullptr || strchr(file, '$') != nullptr) {
#if defined(__clang__)
    [[clang::musttail]]  // Otherwise clang makes a tail call only in optimised builds.
#endif
    return real.dlopen(file, mode);
  }
  return open_deep(__builtin_return_address(0), file, mode);
}

}  // extern "C"

VERSIONED_DEFAULT(lockwright_dlopen, "dlopen", "GLIBC_2.34");
VERSIONED_OLD(lockwright_dlopen, old, "dlopen", BASE_VERSION);
