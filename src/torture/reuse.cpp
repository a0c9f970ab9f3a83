#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "clock.hpp"
#include "phase_run.hpp"
#include "phases.hpp"
#include "report.hpp"

namespace torture {
namespace {

constexpr std::uint64_t max_members = 8;
constexpr std::size_t pages = 8;

// The memory of destroyed mutexes, for the crash handler. A phase has few arenas.
constexpr std::size_t max_arenas = 16;
std::atomic<std::pair<const char*, const char*>*> arenas[max_arenas];

// A mutex for a known number of users, on a page that becomes inaccessible when the last user has
// destroyed the mutex. The next mutex is on the next page.
class arena {
 public:
  struct shared {
    pthread_mutex_t mutex;
    std::uint64_t users;  // still to come
  };

  arena() : size_{static_cast<std::size_t>(sysconf(_SC_PAGESIZE))} {
    void* const memory =
        mmap(nullptr, pages * size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      fail("memory", "mmap failed");
    }
    memory_ = static_cast<char*>(memory);
    range_ = {memory_, memory_ + pages * size_};
    for (auto& each : arenas) {
      std::pair<const char*, const char*>* none = nullptr;
      if (each.compare_exchange_strong(none, &range_)) {
        break;
      }
    }
  }
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena() {
    for (auto& each : arenas) {
      std::pair<const char*, const char*>* own = &range_;
      each.compare_exchange_strong(own, nullptr);
    }
    munmap(memory_, pages * size_);
  }

  shared& at(std::uint64_t round) {
    return *reinterpret_cast<shared*>(memory_ + (round % pages) * size_);
  }

  void make(std::uint64_t round, int type, std::uint64_t users) {
    char* const page = memory_ + (round % pages) * size_;
    if (mprotect(page, size_, PROT_READ | PROT_WRITE) != 0) {
      fail("memory", "mprotect failed");
    }
    auto* const made = ::new (static_cast<void*>(page)) shared;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    must(pthread_mutex_init(&made->mutex, &attributes), "pthread_mutex_init");
    pthread_mutexattr_destroy(&attributes);
    made->users = users;
  }

  void retire(std::uint64_t round) {
    shared& old = at(round);
    must(pthread_mutex_destroy(&old.mutex), "pthread_mutex_destroy by the last user");
    std::memset(static_cast<void*>(&old), 0xA5, sizeof old);
    mprotect(memory_ + (round % pages) * size_, size_, PROT_NONE);
  }

 private:
  std::size_t size_;
  char* memory_;
  std::pair<const char*, const char*> range_;
};

struct user_group {
  arena mutexes;
  std::uint64_t members = 0;
  std::atomic<std::uint32_t> round{0};
  std::atomic<bool> ended{false};
};

void use(worker& me, user_group& group) {
  for (std::uint32_t round = 0; !group.ended.load(); ++round) {
    arena::shared& it = group.mutexes.at(round);
    me.does(activity::locks);
    if (me.draw.one_in(3)) {
      const int result = pthread_mutex_trylock(&it.mutex);
      if (result == EBUSY) {
        must(pthread_mutex_lock(&it.mutex), "pthread_mutex_lock");
      } else {
        must(result, "pthread_mutex_trylock");
      }
    } else {
      must(pthread_mutex_lock(&it.mutex), "pthread_mutex_lock");
    }
    me.does(activity::between);
    const bool last = --it.users == 0;
    me.run.section(me);
    must(pthread_mutex_unlock(&it.mutex), "pthread_mutex_unlock");
    if (last) {
      group.mutexes.retire(round);
      if (me.run.over()) {
        group.ended.store(true);
      } else {
        group.mutexes.make(round + 1, me.run.plan.type, group.members);
      }
      group.round.store(round + 1);
      futex_wake(group.round);
    }
    while (group.round.load() == round) {
      me.does(activity::halted);
      futex_wait(group.round, round);
    }
    me.does(activity::between);
  }
}

}  // namespace

bool is_retired(const void* address) {
  const auto* const at = static_cast<const char*>(address);
  return std::any_of(std::begin(arenas), std::end(arenas), [at](const auto& each) {
    const auto* const range = each.load();
    return range != nullptr && at >= range->first && at < range->second;
  });
}

void reuse(phase_run& on) {
  for (std::uint64_t left = on.plan.threads, teams = 0; left >= 2 && teams < max_arenas; ++teams) {
    const auto group = std::make_shared<user_group>();
    group->members = std::min(left, max_members);
    left -= group->members;
    group->mutexes.make(0, on.plan.type, group->members);
    for (std::uint64_t i = 0; i < group->members; ++i) {
      on.add_worker("user", [group](worker& me) { use(me, *group); });
    }
  }
}

}  // namespace torture
