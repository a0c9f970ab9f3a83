#include "probe/records.hpp"

#include <link.h>

#include <cstring>

#include "probe/clock.hpp"

namespace lockwright::probe {
namespace {

constexpr std::uint32_t first_shared =
    profile_buffer::record_numbers - profile_buffer::shared_records;
constexpr std::uint32_t own_records = first_shared - profile_buffer::shared_rwlock_records;

/// A mutex or reader-writer lock. link: its words that lead to its records; kind: of these.
struct object {
  std::uint64_t address;
  std::uint64_t* link;
  std::uint32_t kind;
  bool is_rwlock;
};

object object_of(mutex_words& mutex) {
  return {.address = reinterpret_cast<std::uint64_t>(&mutex),
          .link = reinterpret_cast<std::uint64_t*>(&mutex.link),
          .kind = mutex.kind & 0xffff,
          .is_rwlock = false};
}

object object_of(rwlock_words& lock) {
  return {.address = reinterpret_cast<std::uint64_t>(&lock),
          .link = reinterpret_cast<std::uint64_t*>(&lock.link),
          .kind = record::of_writers,
          .is_rwlock = true};
}

std::uint64_t scrambled(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15;
  return value ^ value >> 32;
}

record* known(profile_buffer& target, std::uint32_t id, std::uint64_t address) {
  if (id == 0 || id > profile_buffer::record_numbers) {
    return nullptr;
  }
  record& entry = target.records[id - 1];
  return entry.address == address || (entry.kind & record::is_shared) != 0 ? &entry : nullptr;
}

/// Sets what a record begins with; `number` is 1 for that of readers.
void begin(record& entry, std::uint32_t init_site, std::uint64_t caller, std::uint32_t kind,
           std::uint32_t number) {
  entry.init_site = init_site;
  entry.first_site = caller;
  entry.kind = number == 0 ? kind : (kind & ~record::of_writers) | record::of_readers;
}

/// Returns the record, or the first of two, that all objects of a site share.
record& shared_record(profile_buffer& target, std::uint32_t init_site, std::uint64_t caller,
                      const object& of) {
  const std::uint64_t key = init_site != 0 ? init_site & ((1U << init_stack_shift) - 1) : caller;
  if (!of.is_rwlock) {
    record& entry = target.records[first_shared + scrambled(key) % profile_buffer::shared_records];
    begin(entry, init_site, caller, record::is_shared, 0);
    return entry;
  }
  constexpr std::uint32_t pairs = profile_buffer::shared_rwlock_records / 2;
  record* both = &target.records[own_records + 2 * (scrambled(key) % pairs)];
  for (std::uint32_t i = 0; i < 2; ++i) {
    begin(both[i], init_site, caller, of.kind | record::is_shared, i);
  }
  return *both;
}

[[gnu::noinline, gnu::cold]] record& make_record(profile_buffer& target, const object& of,
                                                 std::uint64_t caller) {
  std::uint64_t present = __atomic_load_n(of.link, __ATOMIC_RELAXED);
  const auto id = static_cast<std::uint32_t>(present);
  const std::uint32_t init_site = (id & is_init_site) != 0 ? id & ~is_init_site : 0;
  const std::uint32_t count = of.is_rwlock ? 2 : 1;
  record* created = nullptr;
  // Read first, so that the number does not wrap around.
  if (target.records_used.load(std::memory_order_relaxed) < own_records) {
    const std::uint32_t number = target.records_used.fetch_add(count, std::memory_order_relaxed);
    if (number + count <= own_records) {
      created = &target.records[number];
      const std::uint64_t now = ticks();
      for (std::uint32_t i = 0; i < count; ++i) {
        begin(created[i], init_site, caller, of.kind, i);
        created[i].address = of.address;
        created[i].ordinal = init_site != 0 ? static_cast<std::uint32_t>(present >> 32) : 0;
        created[i].first_seen = now;
      }
      note_module(target, of.address);
    }
  }
  if (created == nullptr) {
    created = &shared_record(target, init_site, caller, of);
  }
  note_module(target, caller);
  const std::uint64_t wanted = number_of(target, *created) + std::uint64_t{1};
  if (!__atomic_compare_exchange_n(of.link, &present, wanted, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE)) {
    if (record* other = known(target, static_cast<std::uint32_t>(present), of.address);
        other != nullptr) {
      for (std::uint32_t i = 0; i < count && (created->kind & record::is_shared) == 0; ++i) {
        created[i].kind |= record::is_void;
      }
      return *other;
    }
  }
  return *created;
}

}  // namespace

record* known_record(profile_buffer& target, const mutex_words& mutex) {
  return known(target, __atomic_load_n(&mutex.link, __ATOMIC_ACQUIRE),
               reinterpret_cast<std::uint64_t>(&mutex));
}

record& record_of(profile_buffer& target, mutex_words& mutex, std::uint64_t caller) {
  record* present = known_record(target, mutex);
  return present != nullptr ? *present : make_record(target, object_of(mutex), caller);
}

record* records_of(profile_buffer& target, rwlock_words& lock, std::uint64_t caller) {
  record* present = known(target, __atomic_load_n(&lock.link, __ATOMIC_ACQUIRE),
                          reinterpret_cast<std::uint64_t>(&lock));
  return present != nullptr ? present : &make_record(target, object_of(lock), caller);
}

mutex_detail* detail_of(profile_buffer& target, record& entry) {
  if (entry.detail == 0) [[unlikely]] {
    if (target.details_used.load(std::memory_order_relaxed) >= profile_buffer::detail_numbers) {
      return nullptr;
    }
    const std::uint32_t number = target.details_used.fetch_add(1, std::memory_order_relaxed);
    if (number >= profile_buffer::detail_numbers) {
      return nullptr;
    }
    // Several readers may each have taken one; all use that of the first.
    std::uint32_t none = 0;
    __atomic_compare_exchange_n(&entry.detail, &none, number + 1, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
  }
  return &target.details[entry.detail - 1];
}

std::uint32_t call_site_of(profile_buffer& target, mutex_detail& detail, std::uint64_t caller) {
  if (caller == 0) {
    return 0;
  }
  for (std::uint32_t i = 0; i < mutex_detail::site_numbers; ++i) {
    std::uint64_t present = detail.sites[i].caller;
    if (present == 0 && __atomic_compare_exchange_n(&detail.sites[i].caller, &present, caller,
                                                    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      note_module(target, caller);
      return i + 1;
    }
    if (present == caller) {
      return i + 1;
    }
  }
  return 0;
}

wait_edge* wait_edge_of(mutex_detail& detail, std::uint32_t holder, std::uint32_t waiter) {
  for (wait_edge& each : detail.wait_edges) {
    if (each.times == 0) {
      each.holder = holder;
      each.waiter = waiter;
    }
    if (each.holder == holder && each.waiter == waiter) {
      return &each;
    }
  }
  return nullptr;
}

std::uint32_t init_site_of(init_table& inits, std::uint64_t caller) {
  std::uint64_t slot = scrambled(caller);
  for (int tries = 0; tries < 64; ++tries, ++slot) {
    init_site& site = inits.sites[slot % init_table::site_numbers];
    std::uint64_t present = site.caller.load(std::memory_order_relaxed);
    if (present == 0 && site.caller.compare_exchange_strong(present, caller)) {
      present = caller;
    }
    if (present == caller) {
      return static_cast<std::uint32_t>(&site - inits.sites) + 1;
    }
  }
  return 0;
}

namespace {

/// Copies a path into the buffer; returns its place there, that of an empty one if there is no room.
[[maybe_unused]] std::uint64_t place_of_path(profile_buffer& target, const char* path) {
  const auto size = static_cast<std::uint32_t>(std::strlen(path) + 1);
  const std::uint32_t place = target.path_bytes_used.fetch_add(size, std::memory_order_relaxed);
  if (place > profile_buffer::path_bytes - 1 - size) {
    return profile_buffer::path_bytes - 1;
  }
  std::memcpy(target.paths + place, path, size);
  return place;
}

}  // namespace

void note_module([[maybe_unused]] profile_buffer& target, [[maybe_unused]] std::uint64_t address) {
#if __GLIBC_PREREQ(2, 35)
  const std::uint32_t used = target.modules_used.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < used; ++i) {
    const loaded_module& module = target.modules[i];
    if (module.start <= address && address < module.end) {
      return;
    }
  }
  dl_find_object found;
  // Takes no lock, unlike dladdr: the caller may hold any mutex.
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) {
    return;
  }
  const std::uint32_t number = target.modules_taken.fetch_add(1, std::memory_order_relaxed);
  if (number >= profile_buffer::module_numbers) {
    return;
  }
  loaded_module& added = target.modules[number];
  added.base = found.dlfo_link_map->l_addr;
  added.path = place_of_path(target, found.dlfo_link_map->l_name);
  added.start = reinterpret_cast<std::uint64_t>(found.dlfo_map_start);
  added.end = reinterpret_cast<std::uint64_t>(found.dlfo_map_end);
  // An entry that another thread is still filling matches no address: the file is listed twice.
  std::uint32_t present = used;
  while (present <= number && !target.modules_used.compare_exchange_weak(present, number + 1)) {
  }
#endif
}

}  // namespace lockwright::probe
