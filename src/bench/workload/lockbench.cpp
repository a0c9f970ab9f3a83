#include "lockbench.hpp"

#include "catalogue.hpp"
#include "thread_group.hpp"

namespace bench {

const description lockbench{
    .name = "lockbench",
    .measures =
        "threads that contend for one mutex, sections and gaps of lengths drawn from an interval",
    .source = "Marotta et al., Mutable Locks, 2019, LOCKBENCH, figures 3 to 5",
    .operation = "acquisitions",
    .threads = 2,
    .parameters = {{"section-min-ns", 0, "ns", "shortest work while the mutex is held"},
                   {"section-max-ns", 3700, "ns", "longest, never reached"},
                   {"gap-min-ns", 0, "ns", "shortest work between two acquisitions of a thread"},
                   {"gap-max-ns", 3700, "ns", "longest, never reached"}},
    .presets = {{"short-short", "section-max-ns=3700 gap-max-ns=3700",
                 "figure 3 (a) and (b): short sections, medium contention"},
                {"long-short", "section-max-ns=366000 gap-max-ns=3700",
                 "figure 3 (c) and (d): long sections, high contention"},
                {"short-long", "section-max-ns=3700 gap-max-ns=366000",
                 "figure 3 (e) and (f): short sections, very low contention"},
                {"long-long", "section-max-ns=366000 gap-max-ns=366000",
                 "figure 3 (g) and (h): long sections, moderate contention"}},
    .one_mutex = true,
    .run = run_workload<drawn_sections<pthread_mutex_t>>,
};

}  // namespace bench
