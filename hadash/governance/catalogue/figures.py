"""The figures that decide whether there is a finding. The page of all rules shows them."""

#: How many times as much of it there has to be as there was when it came up (or was last said to be worse),
#: for a finding to have got worse. ``WORSE_BY``: how much more at least, in what its rule counts: two
#: partitions instead of one are not much.
WORSE_TIMES, WORSE_BY = 1.5, 2
#: Topics of one InstanceID, beyond which it drags along too many others.
MANY_TOPICS = 10
#: Names of one application that each came and went on one of so many days.
CHANGING_NAMES, CHANGING_DAYS = 5, 7
#: Days of the newest ones on which an AppID has to be seen on both clusters: a switch leaves it on both for one.
BOTH_DAYS, BOTH_OF_DAYS = 2, 3
#: Topics that an AppID may use and does not, beyond which its rights are too wide: one may be for a release to come.
UNUSED_TOPICS = 3
#: Days on none of which a declared use was seen: a month, and some for a job that is late or does not run on holidays.
UNSEEN_DAYS = 35
#: How much of a day a mirror may be over the RPO or unknown, in percent.
OVER_RPO_PERCENT = 1.0
#: Minutes for which a mirror may get later and later, and how much of that time it has to have got later by,
#: in percent.
STALLED_MINUTES, STALLED_PERCENT = 10, 90
#: Changes of the controller within a day.
CONTROLLER_CHANGES = 3
#: How many partitions one member has more than another, and how many times as many.
SKEW_PARTITIONS, SKEW_TIMES = 2, 2
#: Major versions that a Java client may be behind its engine.
MAJORS_BEHIND = 1
