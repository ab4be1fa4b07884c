"""The lake, and the jobs on it."""

from __future__ import annotations

import os

from hadash.settings.environment import number

#: The lake: a folder, s3a://… or hdfs://…; the default is the Gateway's. Without a lake there are no jobs.
LAKE = os.environ.get("HADASH_LAKE", os.environ.get("HADASH_GATEWAY_LAKE", "")).strip()
#: A Kafka Topic with the access reports of Gateways that this installation does not see; without it no job reads any.
#: And the file with the connection settings of its cluster, in the format of Kafka's own tools
#: (bootstrap.servers=…): for the workers.
LAKE_TOPIC = os.environ.get("HADASH_LAKE_TOPIC", "").strip()
LAKE_TOPIC_PROPERTIES = os.environ.get("HADASH_LAKE_TOPIC_PROPERTIES", "").strip()
#: Seconds between two looks for jobs that are due: schedules are to the minute.
PIPELINE_LOOK_SECONDS = number("HADASH_PIPELINE_LOOK_SECONDS", 5)
#: Seconds after which a run that no worker has begun is handed over again: the first message may be lost with Redis.
PIPELINE_HAND_AGAIN_SECONDS = number("HADASH_PIPELINE_HAND_AGAIN_SECONDS", 60)
#: Seconds that a run may wait for a worker before an alarm is raised: the longest other run takes minutes.
PIPELINE_WAIT_SECONDS = number("HADASH_PIPELINE_WAIT_SECONDS", 1800)
#: How often a failed run is retried, and after how many seconds: a database or an object store that restarts is back
#: by then.
PIPELINE_RETRIES = int(number("HADASH_PIPELINE_RETRIES", 2))
PIPELINE_RETRY_SECONDS = number("HADASH_PIPELINE_RETRY_SECONDS", 60)
#: Seconds after which a run is ended, so that the next run of a daily schedule need not wait for it.
PIPELINE_JOB_SECONDS = number("HADASH_PIPELINE_JOB_SECONDS", 6 * 3600)
#: The nice value of the jobs' processes (0: none, 19: as low a priority as possible). Nobody waits for a job, and
#: people wait for a switch.
PIPELINE_NICE = int(number("HADASH_PIPELINE_NICE", 10))
#: Seconds for which a Spark application waits for its next job before it ends: jobs that are due together, or one
#: that a person runs again, need not wait for Spark to start. It keeps its memory meanwhile (a gigabyte). 0: each
#: job has its own application.
PIPELINE_IDLE_SECONDS = number("HADASH_PIPELINE_IDLE_SECONDS", 300)
#: Published runs of each job that are kept, and days for which the last run of each day is kept besides: changes since
#: Monday two weeks ago can be shown. The coverage is kept for longer, as its trend by AppID shows
#: thirty: a run has one row for each AppID.
PIPELINE_KEEP = int(number("HADASH_PIPELINE_KEEP", 5))
PIPELINE_KEEP_DAYS = int(number("HADASH_PIPELINE_KEEP_DAYS", 15))
PIPELINE_COVERAGE_KEEP_DAYS = int(number("HADASH_PIPELINE_COVERAGE_KEEP_DAYS", 31))
#: Days for which access reports and snapshots stay in the lake. (The results of the reports stay: facts look back
#: 63 days.)
LAKE_KEPT_DAYS = int(number("HADASH_LAKE_KEPT_DAYS", 90))
SNAPSHOTS_KEPT_DAYS = int(number("HADASH_SNAPSHOTS_KEPT_DAYS", 30))
#: Seconds by which a mirror may be late unless its pair's rules say otherwise: ten times what a busy mirror needs for
#: its batches.
RPO_SECONDS = number("HADASH_RPO_SECONDS", 30)
