#include "published.hpp"

#include "lockwright/lock/mutable.hpp"
#include "lockwright/row.hpp"

namespace lockwright {

// libmutlock (src/mutlocks/mutlocks_template.h, 2019): the state and the spin lock share a cache
// line; the semaphore and what only the holder writes have lines of their own.
LOCKWRIGHT_ROW("mutable-published", mutable_published, "lockwright/lock/mutable.hpp",
               mutable_window<Env, doubling_oracle, 64>)

namespace simulate {
namespace {

constexpr lock_entry mutable_entry =
    lock_entry_of<mutable_published_lock<simulated>>(mutable_published_row::name);

}  // namespace

std::vector<const lock_entry*> published_layouts() { return {&mutable_entry}; }

}  // namespace simulate
}  // namespace lockwright
