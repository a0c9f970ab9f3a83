// dlopen with RTLD_DEEPBIND: such a library, and those that are loaded for it, bind names to their
// own dependencies first, and so to the C library's locking functions. Where one shares a mutex with
// the rest of the program, or a condition variable of C++, whose functions are in another library,
// two implementations would use one object. So its references are redirected to our functions.
//
// Its constructors have run by then. What they initialise is valid for both implementations,
// except condition variables with a clock other than the default.
#include "interpose/deep_binding.hpp"

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
#include "lockwright/env/native/fatal.hpp"
#include "lockwright/env/native/syscall.hpp"

namespace lockwright::interpose {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t at_first_call = R_X86_64_JUMP_SLOT;
constexpr std::uint32_t relocations[] = {at_first_call, R_X86_64_GLOB_DAT, R_X86_64_64};
#elif defined(__aarch64__)
constexpr std::uint32_t at_first_call = R_AARCH64_JUMP_SLOT;
constexpr std::uint32_t relocations[] = {at_first_call, R_AARCH64_GLOB_DAT, R_AARCH64_ABS64};
#endif

bool is_same(const char* a, const char* b) { return strcmp(a, b) == 0; }

/// Objects of one group are used by functions of the same group only.
struct object_group {
  const char* objects;
  const char* prefixes[4];
};
constexpr object_group groups[] = {
    {"mutexes and condition variables", {"pthread_mutex_", "pthread_cond_", "mtx_", "cnd_"}},
    {"reader-writer locks", {"pthread_rwlock_"}},
    {"spin locks", {"pthread_spin_"}},
    {"semaphores", {"sem_"}},
};
constexpr std::size_t group_count = sizeof groups / sizeof *groups;

/// Functions of a group that are right for our objects, or never see one.
constexpr const char* left_to_library[] = {"pthread_mutex_consistent",
                                           "pthread_mutex_consistent_np",
                                           "pthread_mutex_getprioceiling",
                                           "pthread_mutex_setprioceiling",
                                           "sem_open",
                                           "sem_close",
                                           "sem_unlink"};

/// Returns the number of the function's group; `group_count` if it has none.
std::size_t group_of(const char* function) {
  for (const char* each : left_to_library) {
    if (is_same(function, each)) {
      return group_count;
    }
  }
  const char* name = strncmp(function, "__", 2) == 0 ? function + 2 : function;
  for (std::size_t i = 0; i < group_count; ++i) {
    for (const char* prefix : groups[i].prefixes) {
      if (prefix != nullptr && strncmp(name, prefix, strlen(prefix)) == 0) {
        return i;
      }
    }
  }
  return group_count;
}

struct address_range {
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;

  void include(std::uintptr_t from, std::uintptr_t to) {
    begin = from < begin ? from : begin;
    end = to > end ? to : end;
  }
  [[nodiscard]] bool has(std::uintptr_t address) const { return begin <= address && address < end; }
  [[nodiscard]] bool has(const void* address) const {
    return has(reinterpret_cast<std::uintptr_t>(address));
  }
};

/// The dynamic section of a loaded object: its symbols, their versions, and where they are used.
class dynamic_section {
 public:
  struct references {
    const ElfW(Rela) * start;
    std::size_t number;
  };

  dynamic_section(std::uintptr_t base, const ElfW(Dyn) * entries) : base_(base) {
    for (const ElfW(Dyn)* each = entries; each->d_tag != DT_NULL; ++each) {
      switch (each->d_tag) {
        case DT_SYMTAB:
          at(symbols, *each);
          break;
        case DT_STRTAB:
          at(names_, *each);
          break;
        case DT_HASH:
          at(hash_, *each);
          break;
        case DT_VERSYM:
          at(version_of_, *each);
          break;
        case DT_VERDEF:
          at(defined_, *each);
          break;
        case DT_VERNEED:
          at(needed_, *each);
          break;
        case DT_RELA:
          at(tables[0].start, *each);
          break;
        case DT_RELASZ:
          tables[0].number = each->d_un.d_val / sizeof(ElfW(Rela));
          break;
        case DT_JMPREL:
          at(tables[1].start, *each);
          break;
        case DT_PLTRELSZ:
          tables[1].number = each->d_un.d_val / sizeof(ElfW(Rela));
          break;
        default:
          break;
      }
    }
  }

  /// Only for objects with a table of this kind, as our libraries are linked.
  [[nodiscard]] std::size_t symbol_count() const {
    return hash_ == nullptr || symbols == nullptr ? 0 : hash_[1];
  }

  [[nodiscard]] const char* name(std::size_t symbol) const {
    return names_ == nullptr ? "" : names_ + symbols[symbol].st_name;
  }

  /// Returns null for a symbol without a version.
  [[nodiscard]] const char* version(std::size_t symbol) const {
    const unsigned number = version_of_ == nullptr ? 0 : version_of_[symbol] & 0x7fff;
    if (number <= VER_NDX_GLOBAL) {
      return nullptr;
    }
    for (const auto* each = defined_; each != nullptr;
         each = each->vd_next == 0 ? nullptr : after(each, each->vd_next)) {
      if (each->vd_ndx == number) {
        const auto* found = reinterpret_cast<const ElfW(Verdaux)*>(after(each, each->vd_aux));
        return names_ + found->vda_name;
      }
    }
    for (const auto* file = needed_; file != nullptr;
         file = file->vn_next == 0 ? nullptr : after(file, file->vn_next)) {
      const auto* each = reinterpret_cast<const ElfW(Vernaux)*>(after(file, file->vn_aux));
      for (unsigned i = 0; i < file->vn_cnt; ++i, each = after(each, each->vna_next)) {
        if (each->vna_other == number) {
          return names_ + each->vna_name;
        }
      }
    }
    return nullptr;
  }

  const ElfW(Sym) * symbols = nullptr;
  references tables[2]{};

 private:
  /// The dynamic linker replaces most offsets of the section by addresses.
  template <class Part>
  void at(const Part*& part, const ElfW(Dyn) & entry) {
    const std::uintptr_t value = entry.d_un.d_ptr;
    part = reinterpret_cast<const Part*>(value < base_ ? base_ + value : value);
  }

  template <class Entry>
  static const Entry* after(const Entry* entry, std::size_t bytes) {
    return reinterpret_cast<const Entry*>(reinterpret_cast<const char*>(entry) + bytes);
  }

  std::uintptr_t base_;
  const char* names_ = nullptr;
  const std::uint32_t* hash_ = nullptr;
  const ElfW(Versym) * version_of_ = nullptr;
  const ElfW(Verdef) * defined_ = nullptr;
  const ElfW(Verneed) * needed_ = nullptr;
};

/// The functions that this library exports.
class exports {
 public:
  struct function {
    const char* name;
    const char* version;
    void* address;
    /// A search that begins with the opened library finds the C library's.
    bool hides_ours;
  };

  exports(link_map* ours, link_map* library, void* opened) {
    const dynamic_section section(ours->l_addr, ours->l_ld);
    for (std::size_t i = 1; i < section.symbol_count() && number_ < most_; ++i) {
      const ElfW(Sym) & symbol = section.symbols[i];
      const char* version = section.version(i);
      if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
          version == nullptr) {
        continue;
      }
      const char* name = section.name(i);
      of_[number_++] = {name, version, reinterpret_cast<void*>(ours->l_addr + symbol.st_value),
                        object_of(dlvsym(opened, name, version)) == library};
    }
  }

  /// A reference without a version matches every version.
  [[nodiscard]] const function* find(const char* name, const char* version) const {
    for (unsigned i = 0; i < number_; ++i) {
      if (is_same(of_[i].name, name) && (version == nullptr || is_same(of_[i].version, version))) {
        return &of_[i];
      }
    }
    return nullptr;
  }

 private:
  static constexpr unsigned most_ = 256;
  function of_[most_];
  unsigned number_ = 0;
};

/// A loaded object, while no other thread can load or unload one.
class loaded_object {
 public:
  loaded_object(const dl_phdr_info& info, const ElfW(Dyn) * dynamic)
      : path_(info.dlpi_name), base_(info.dlpi_addr), section_(info.dlpi_addr, dynamic) {
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr) & each = info.dlpi_phdr[i];
      const std::uintptr_t begin = info.dlpi_addr + each.p_vaddr;
      const std::uintptr_t end = begin + each.p_memsz;
      if (each.p_type == PT_LOAD) {
        all_.include(begin, end);
        if ((each.p_flags & PF_W) != 0) {
          written_.include(begin, end);
        }
      } else if (each.p_type == PT_GNU_RELRO) {
        // The dynamic linker makes whole pages read-only after relocation.
        const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        read_only_.include(begin & ~(page - 1), end & ~(page - 1));
      }
    }
  }

  [[nodiscard]] const address_range& addresses() const { return all_; }

  /// Redirects the references that are bound to the C library now or at their first call. Of a
  /// group that we replace, all or none.
  void redirect(const exports& ours, const address_range& library) {
    bool keeps[group_count + 1]{};
    each_bound(ours, library, [&](void** target, const char* name, const exports::function* found) {
      const std::size_t group = group_of(name);
      if (!keeps[group] &&
          (found == nullptr || !make_writable(reinterpret_cast<std::uintptr_t>(target)))) {
        keeps[group] = true;
        native_env::complain(path_, ": its reference to ", name, " cannot be redirected; its ",
                             group == group_count ? "calls" : groups[group].objects,
                             " stay the C library's");
      }
    });
    each_bound(ours, library, [&](void** target, const char* name, const exports::function* found) {
      if (found != nullptr && !keeps[group_of(name)]) {
        __atomic_store_n(target, found->address, __ATOMIC_RELAXED);
      }
    });
    if (is_writable_) {
      protect(PROT_READ);
    }
  }

 private:
  /// Calls visit(address of the reference, name, our function) for the names that we export, and
  /// with null for others of a group that we replace.
  template <class Visit>
  void each_bound(const exports& ours, const address_range& library, Visit visit) {
    for (const dynamic_section::references& table : section_.tables) {
      for (std::size_t i = 0; table.start != nullptr && i < table.number; ++i) {
        const ElfW(Rela) & each = table.start[i];
        const std::size_t symbol = ELF64_R_SYM(each.r_info);
        const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(each.r_info));
        bool is_address = false;
        for (const std::uint32_t known : relocations) {
          is_address = is_address || type == known;
        }
        if (!is_address || symbol == 0 || each.r_addend != 0) {
          continue;
        }
        auto* target = reinterpret_cast<void**>(base_ + each.r_offset);
        const bool is_bound = library.has(*target);
        const bool is_unresolved = type == at_first_call && all_.has(*target) &&
                                   section_.symbols[symbol].st_shndx == SHN_UNDEF;
        if (!is_bound && !is_unresolved) {
          continue;
        }
        const char* name = section_.name(symbol);
        const char* version = section_.version(symbol);
        const exports::function* found = ours.find(name, version);
        const bool is_missing = found == nullptr && replaces_objects &&
                                group_of(name) != group_count &&
                                (is_bound || is_of_library(version));
        if (is_missing || (found != nullptr && (is_bound || found->hides_ours))) {
          visit(target, name, found);
        }
      }
    }
  }

  static bool is_of_library(const char* version) {
    return version != nullptr && strncmp(version, "GLIBC_", 6) == 0;
  }

  bool make_writable(std::uintptr_t target) {
    if (!written_.has(target)) {
      return false;
    }
    if (read_only_.has(target) && !is_writable_) {
      is_writable_ = protect(PROT_READ | PROT_WRITE);
    }
    return !read_only_.has(target) || is_writable_;
  }

  bool protect(int protection) {
    return native_env::system_call(SYS_mprotect, static_cast<long>(read_only_.begin),
                                   static_cast<long>(read_only_.end - read_only_.begin),
                                   protection) == 0;
  }

  const char* path_;
  std::uintptr_t base_;
  dynamic_section section_;
  address_range all_;
  address_range written_;
  address_range read_only_;
  bool is_writable_ = false;
};

struct redirection {
  const link_map* first;
  const link_map* library;
  const exports* ours;
  address_range addresses_of_library{};
  bool begun = false;
};

/// Redirects the first object and those that follow it: the objects loaded for it are among them,
/// and in the others nothing is bound to the C library. The C library precedes it.
int redirect_one(dl_phdr_info* info, std::size_t, void* argument) {
  auto& all = *static_cast<redirection*>(argument);
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) {
      continue;
    }
    const auto* dynamic =
        reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    loaded_object object(*info, dynamic);
    if (dynamic == all.library->l_ld) {
      all.addresses_of_library = object.addresses();
    }
    all.begun = all.begun || dynamic == all.first->l_ld;
    if (all.begun) {
      object.redirect(*all.ours, all.addresses_of_library);
    }
  }
  return 0;
}

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
    // All look-ups come first: the dynamic linker's lock of its list must not be held meanwhile.
    const exports functions(ours, c_library(), opened);
    redirection all{object, c_library(), &functions};
    dl_iterate_phdr(redirect_one, &all);
    dlerror();  // The caller must not see an error of the look-ups here.
  }
  return opened;
}

}  // namespace
}  // namespace lockwright::interpose

using namespace lockwright::interpose;

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
