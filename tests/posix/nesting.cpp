// Many mutexes held at once and released in any order.
#include "../support/check.hpp"

#include <numeric>

namespace {

constexpr int depth = 16;

// A read and a write that the compiler may not merge.
void increment(volatile long& counter) { counter = counter + 1; }

std::vector<int> shuffled(int count, check::Random& random) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (int i = count - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)],
              order[random.below(static_cast<std::uint32_t>(i) + 1)]);
  return order;
}

// Acquires all, releases in the given order, and checks every mutex after every release.
void take_and_release(std::vector<pthread_mutex_t>& mutexes, const std::vector<int>& order) {
  std::vector<bool> held(mutexes.size(), true);
  for (auto& mutex : mutexes) OK(pthread_mutex_lock(&mutex));
  for (const int next : order) {
    OK(pthread_mutex_unlock(&mutexes[static_cast<std::size_t>(next)]));
    held[static_cast<std::size_t>(next)] = false;
    for (std::size_t i = 0; i < mutexes.size(); ++i) {
      CHECK_RC(held[i] ? EBUSY : 0, pthread_mutex_trylock(&mutexes[i]));
      if (!held[i]) OK(pthread_mutex_unlock(&mutexes[i]));
    }
  }
}

std::string sixteen_deep_in_any_order() {
  std::vector<pthread_mutex_t> mutexes(depth, PTHREAD_MUTEX_INITIALIZER);
  std::vector<int> order(depth);
  std::iota(order.begin(), order.end(), 0);
  take_and_release(mutexes, order);
  take_and_release(mutexes, {order.rbegin(), order.rend()});
  check::Random random{3};
  for (int i = 0; i < 100; ++i) take_and_release(mutexes, shuffled(depth, random));
  return "";
}

std::string a_thousand_at_once() {
  std::vector<pthread_mutex_t> mutexes(1'000, PTHREAD_MUTEX_INITIALIZER);
  check::Random random{4};
  for (int round = 0; round < 5; ++round) {
    for (auto& mutex : mutexes) OK(pthread_mutex_lock(&mutex));
    for (auto& mutex : mutexes) CHECK_RC(EBUSY, pthread_mutex_trylock(&mutex));
    for (const int i : shuffled(1'000, random))
      OK(pthread_mutex_unlock(&mutexes[static_cast<std::size_t>(i)]));
    for (auto& mutex : mutexes) {
      OK(pthread_mutex_trylock(&mutex));
      OK(pthread_mutex_unlock(&mutex));
    }
  }
  return "";
}

std::string contended_with_random_release() {
  std::vector<pthread_mutex_t> mutexes(depth, PTHREAD_MUTEX_INITIALIZER);
  std::vector<long> counters(depth);
  const long nests = check::count_in_parallel(4, 250, [&](int, check::Random& random) {
    for (std::size_t m = 0; m < depth; ++m) {
      OK(pthread_mutex_lock(&mutexes[m]));
      increment(counters[m]);
    }
    for (const int m : shuffled(depth, random))
      OK(pthread_mutex_unlock(&mutexes[static_cast<std::size_t>(m)]));
    return true;
  });
  for (const long counter : counters) CHECK_EQ(nests, counter);
  return "nests " + std::to_string(nests);
}

// Hand over hand along a list: each mutex is released after the next one was acquired.
std::string hand_over_hand() {
  std::vector<pthread_mutex_t> mutexes(depth, PTHREAD_MUTEX_INITIALIZER);
  std::vector<long> counters(depth);
  const long walks = check::count_in_parallel(4, 200, [&](int, check::Random&) {
    OK(pthread_mutex_lock(&mutexes[0]));
    for (std::size_t m = 0; m < depth; ++m) {
      increment(counters[m]);
      if (m + 1 < depth) OK(pthread_mutex_lock(&mutexes[m + 1]));
      OK(pthread_mutex_unlock(&mutexes[m]));
    }
    return true;
  });
  for (const long counter : counters) CHECK_EQ(walks, counter);
  return "walks " + std::to_string(walks);
}

}  // namespace

int main(int argc, char** argv) {
  return check::run(argc, argv,
                    {{"sixteen deep in any order", sixteen_deep_in_any_order},
                     {"a thousand at once", a_thousand_at_once},
                     {"contended with random release", contended_with_random_release},
                     {"hand over hand", hand_over_hand}});
}
