"""All declared measurements, in the order of `lockwright bench --list`."""

from lockwright_lab.bench.contention import HANDOVER, OVERSUBSCRIBE
from lockwright_lab.bench.cost import FOOTPRINT, UNCONTENDED
from lockwright_lab.bench.interposition import INTERPOSITION
from lockwright_lab.bench.mixed import MIXED
from lockwright_lab.bench.profile_cost import PROFILE_COST
from lockwright_lab.bench.quiet_and_hot import QUIET_AND_HOT
from lockwright_lab.bench.rwlock import RWLOCK
from lockwright_lab.bench.waking import HERD, PARK

MEASUREMENTS = (
    *(UNCONTENDED, FOOTPRINT, HANDOVER, HERD, OVERSUBSCRIBE, RWLOCK, PARK),
    *(INTERPOSITION, MIXED, QUIET_AND_HOT, PROFILE_COST),
)
