"""Rules about clients and their configuration."""

from __future__ import annotations

from hadash.governance.catalogue.entry import About, Code, Entry, Severity
from hadash.governance.catalogue.figures import MAJORS_BEHIND, SKEW_PARTITIONS, SKEW_TIMES
from hadash.governance.catalogue.sources import GATEWAY, SWITCHING
from hadash.sentences import say

ENTRIES = (
    Entry(
        Code.ACKS,
        Severity.HIGH,
        About.CLIENT,
        say("acks other than all"),
        say("A client writes with acks=1 or acks=0 to a Topic with more than one replica."),
        say("%(client)s of %(appid)s writes with acks=%(acks)s to %(topics)s."),
        say("Set acks=all: what is acknowledged before it is replicated cannot be proved to be mirrored."),
        SWITCHING,
        of_switch=say(
            "%(clients)s: what is acknowledged before it is replicated cannot be proved to be mirrored. Set "
            "acks=all, or take this risk out of those that stop a switch, in the rules of the pair."
        ),
    ),
    Entry(
        Code.MIN_IN_SYNC,
        Severity.MEDIUM,
        About.TOPIC,
        say("acks=all with min.insync.replicas=1"),
        say(
            "A client writes with acks=all to a Topic that has more than one replica, on a cluster where "
            "min.insync.replicas of the Topic is 1: set on the Topic itself, else as one of the brokers says."
        ),
        say(
            "%(appids)s write to %(topic)s with acks=all, and min.insync.replicas of its %(replicas)s replicas "
            "is 1 on %(cluster)s."
        ),
        say(
            "Set min.insync.replicas=2 on the Topic, with three replicas. Now the leader alone acknowledges "
            "while no other replica is in sync, and what it has acknowledged is lost if it dies then."
        ),
        "Kafka: min.insync.replicas",
    ),
    Entry(
        Code.MIN_IN_SYNC_UNKNOWN,
        Severity.LOW,
        About.TOPIC,
        say("acks=all with unknown min.insync.replicas"),
        say(
            "A client writes with acks=all to a Topic that has more than one replica and no min.insync.replicas "
            "of its own, on a cluster where not every broker says what it is by default."
        ),
        say(
            "%(appids)s write to %(topic)s with acks=all, and nobody can tell min.insync.replicas of its "
            "%(replicas)s replicas on %(cluster)s."
        ),
        say(
            "Let hadash read the configs of all brokers (the right DESCRIBE_CONFIGS on the cluster), or set "
            "min.insync.replicas on the Topic."
        ),
        "Kafka: min.insync.replicas",
    ),
    Entry(
        Code.TRANSACTIONS,
        Severity.HIGH,
        About.CLIENT,
        say("Transactional producer"),
        say("A client writes in transactions."),
        say("%(client)s of %(appid)s writes in transactions to %(topics)s."),
        say(
            "Stop it for a switch, or accept it: a transaction that is open when it moves ends with an error."
        ),
        GATEWAY,
        of_switch=say(
            "%(clients)s write in transactions: one that is open when they move ends with an error, and "
            "what it read and "
            "wrote may be done twice. Stop them for the switch, or accept it."
        ),
    ),
    Entry(
        Code.IDEMPOTENT,
        Severity.LOW,
        About.CLIENT,
        say("Idempotent producer"),
        say("A client writes with a producer id, and not in transactions."),
        say("%(client)s of %(appid)s writes with a producer id to %(topics)s."),
        say(
            "Nothing has to be done behind hadash's Gateway, which sees to its sequence numbers. DiDi's engine "
            "does not: there it may lose records."
        ),
        "KIP-98",
    ),
    Entry(
        Code.NO_RETRIES,
        Severity.MEDIUM,
        About.CLIENT,
        say("Producer that may not retry"),
        say(
            "A client writes with a library that does not retry unless somebody has set it so: Java before "
            "2.1 or kafka-python before 2.2.0 (as an imported report may say; these do not say it themselves). "
            "Or it writes through a Gateway, and on none of its connections its library says what it is, "
            "as Java before 2.4, kafka-python before 2.2, aiokafka, KafkaJS and kafka-go do not: then "
            "nobody knows. (An idempotent producer retries in any library, and does not count.)"
        ),
        say("%(client)s of %(appid)s (library: %(version)s) writes to %(topics)s."),
        say(
            "Set retries, or update the library: what is sent while writes are blocked is refused once, and a "
            "client that does not retry loses it."
        ),
        "KIP-91, KIP-511",
    ),
    Entry(
        Code.SELF_ASSIGNED,
        Severity.HIGH,
        About.CLIENT,
        say("Consumer with self-assigned partitions"),
        say("A client reads and was never a member of a group."),
        say("%(client)s of %(appid)s reads %(topics)s without being a member of a group."),
        say(
            "Let it subscribe with a group, or see to its offsets when it has moved: the other cluster has others."
        ),
        SWITCHING,
        of_switch=say(
            "%(clients)s read %(topics)s without being members of a consumer group: they keep their "
            "offsets over the switch, and the "
            "other cluster has other offsets. Let them subscribe in a group, move them by a restart, or "
            "leave them out."
        ),
    ),
    Entry(
        Code.KAFKA_10793,
        Severity.MEDIUM,
        About.CLIENT,
        say("Consumer hit by KAFKA-10793"),
        say("A Java consumer 2.5.0, 2.5.1, 2.6.0, 2.6.1 or 2.7.0 is a member of a group."),
        say("%(client)s of %(appid)s (%(version)s) can stop consuming for ever when its coordinator moves."),
        say("Update it to 2.6.2, 2.7.1, 2.8.0 or later, or have somebody ready who restarts it."),
        "KAFKA-10793",
        of_switch=say(
            "%(clients)s can stop consuming for ever when their coordinator moves (KAFKA-10793). Update "
            "their Kafka client, or "
            "have somebody ready who restarts them."
        ),
    ),
    Entry(
        Code.KAFKA_13563,
        Severity.MEDIUM,
        About.CLIENT,
        say("Consumer hit by KAFKA-13563"),
        say(
            "A Java consumer from 2.6.2, 2.7.1 or 2.8.0 on and before 3.2 (but 3.1.2) commits in a group of "
            "which it was never a member."
        ),
        say(
            "%(client)s of %(appid)s (%(version)s) never commits again in group %(group)s when its coordinator moves."
        ),
        say(
            "Update it to 3.1.2, 3.2.0 or later, or let it subscribe instead of assigning itself partitions."
        ),
        "KAFKA-13563",
    ),
    Entry(
        Code.LONG_SESSION,
        Severity.LOW,
        About.CLIENT,
        say("Long session timeout"),
        say("session.timeout.ms of a member is longer than a switch of the pair waits for consumers."),
        say(
            "%(client)s of %(appid)s has a session timeout of %(seconds)s s in group %(group)s; a switch waits "
            "%(quiesce)s s."
        ),
        say("Lower session.timeout.ms, or give consumers more time in the rules of the pair."),
        SWITCHING,
        of_switch=say(
            "%(clients)s: if such a member dies in a switch its group waits longer than the %(seconds)s s "
            "that consumers have to "
            "quiesce, and the switch returns. Lower session.timeout.ms, or give them more time in the rules."
        ),
    ),
    Entry(
        Code.SESSION_BOUNDS,
        Severity.HIGH,
        About.CLIENT,
        say("Session timeout out of bounds"),
        say(
            "session.timeout.ms of a member is outside of group.min.session.timeout.ms and "
            "group.max.session.timeout.ms of one of the pair's clusters."
        ),
        say(
            "%(client)s of %(appid)s has a session timeout of %(seconds)s s in group %(group)s; %(cluster)s "
            "allows %(least)s to %(most)s s."
        ),
        say(
            "Make both clusters' bounds the same, or change session.timeout.ms: there it could not join its group."
        ),
        "KIP-735",
    ),
    Entry(
        Code.SKEWED,
        Severity.LOW,
        About.GROUP,
        say("Skewed assignment"),
        say(
            "Of the members of a group that subscribe to the same Topics, the range assignor gives one at least "
            "%(times)s times as many partitions as another, and at least %(partitions)s more. (Members "
            "that subscribe to other Topics than these are not compared with them.)",
            times=SKEW_TIMES,
            partitions=SKEW_PARTITIONS,
        ),
        say(
            "Group %(group)s assigns %(most)s partitions to one of %(members)s members that subscribe to the "
            "same Topics, and %(least)s to another."
        ),
        say(
            "Use the sticky, cooperative-sticky or round-robin assignor: range hands the first members one more "
            "of each Topic."
        ),
        "KIP-54",
    ),
    Entry(
        Code.CLIENT_VERSION,
        Severity.LOW,
        About.CLIENT,
        say("Client far behind its engine"),
        say(
            "A Java client is more than %(majors)s major version behind the engine of one of the pair's clusters.",
            majors=MAJORS_BEHIND,
        ),
        say("%(client)s of %(appid)s is version %(version)s, %(cluster)s is %(engine)s."),
        say(
            "Update the client: what Kafka removes it removes one major version later, and nobody tests further apart."
        ),
        "KIP-896",
    ),
)
