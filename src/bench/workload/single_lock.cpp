#include "single_lock.hpp"

#include "catalogue.hpp"
#include "thread_group.hpp"

namespace bench {

const description single_lock{
    .name = "single-lock",
    .measures = "threads that contend for one mutex, for sections of one length",
    .source = "Falsafi et al., Unlocking Energy, ATC 2016, figures 8, 9 and 11",
    .operation = "acquisitions",
    .threads = 2,
    .parameters = {{"section-cycles", 1000, "cycles", "work while the mutex is held"},
                   {"gap-cycles", 0, "cycles", "work between two acquisitions of a thread"}},
    .one_mutex = true,
    .run = run_workload<equal_sections<pthread_mutex_t>>,
};

}  // namespace bench
