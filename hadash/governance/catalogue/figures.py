"""The thresholds that decide whether there is a finding. The page of all rules shows them."""

#: A finding has got worse when its measure is at least ``WORSE_TIMES`` as large as when it was opened (or last
#: reported as worse), and at least ``WORSE_BY`` larger, in the unit that its rule counts: two partitions
#: instead of one are not much worse.
WORSE_TIMES, WORSE_BY = 1.5, 2
#: Topics of one InstanceID, at most: with more, too many others have to move with it.
MANY_TOPICS = 10
#: Fewest client.ids of one application that were each seen on a single day only, of the newest
#: ``CHANGING_DAYS`` days.
CHANGING_NAMES, CHANGING_DAYS = 5, 7
#: An AppID has to be seen on both clusters on ``BOTH_DAYS`` of the newest ``BOTH_OF_DAYS`` days: a switch
#: leaves it on both for one day.
BOTH_DAYS, BOTH_OF_DAYS = 2, 3
#: Topics that an AppID may use and does not, at most: with more its rights are too wide. (Some may be for a
#: coming release.)
UNUSED_TOPICS = 3
#: Days after which a declared use counts as never seen: a month, and a few more for a job that is late or does
#: not run on holidays.
UNSEEN_DAYS = 35
#: Percent of a day for which a mirror may be over the RPO or unknown.
OVER_RPO_PERCENT = 1.0
#: Minutes of samples below which a mirror is not judged by them: one unknown sample after its start is no percentage of
#: a day. (What its lag is now is on the overview and on its page.)
OVER_RPO_MINUTES = 10
#: A mirror is stalled when within ``STALLED_MINUTES`` its lag grows by at least ``STALLED_PERCENT`` percent of
#: that time.
STALLED_MINUTES, STALLED_PERCENT = 10, 90
#: Changes of the controller within a day that are a finding.
CONTROLLER_CHANGES = 3
#: An assignment is skewed when one member has at least ``SKEW_PARTITIONS`` more partitions than another, and at
#: least ``SKEW_TIMES`` as many.
SKEW_PARTITIONS, SKEW_TIMES = 2, 2
#: Major versions that a Java client may be behind its engine, at most.
MAJORS_BEHIND = 1
