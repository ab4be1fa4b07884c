#!/usr/bin/env bash
# All tests but the long ones (make test-long), of which a part has its turn each day (setup/long_today.sh), and a third
# of those that take long (in_turn), in three lanes beside each other, each with a stack of its own: a test waits for
# servers most of its time. What the first two have printed follows when the third has ended.
set -u
cd "$(dirname "$0")/.."
# So divided that all take about as long. Whole demos, the API and what is installed; pages, reports, the command line,
# who may use them, and the pipeline with its jobs; and the rest: the Gateway, the clusters, the rules.
DEMOS="tests/e2e tests/sandbox tests/api tests/deploy"
PAGES="tests/dashboard tests/cli tests/accounts tests/pipeline tests/governance tests/spark_jobs tests/reports"
PAGES="$PAGES tests/notices tests/outbox"
# Clients that sign in again within seconds, on brokers that hang up on who does not: nothing runs beside them.
ALONE="tests/gateway/test_listeners.py"
mkdir -p var/test-logs
# Some dozen JVMs (brokers, Connect, Spark, clients) live for a minute or ten each: compiling for speed would cost
# more than it gives. A JVM that only compiles quickly keeps 48 MB for what it has compiled, which Spark fills with
# the plans of all rules and then stops ("Out of space in CodeCache"): 240 MB are what it keeps otherwise.
export JAVA_TOOL_OPTIONS="${JAVA_TOOL_OPTIONS:--XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m}"
# Tests start some hundred Python processes: each would compile all of hadash for itself, a quarter of the time that
# it needs to start.
unset PYTHONDONTWRITEBYTECODE
# Nothing comes soon where three stacks share two cores: what tests wait for may take this many times as long as on a
# machine of one's own.
export HADASH_TEST_SLOWER="${HADASH_TEST_SLOWER:-8}"

# What takes long has its turn every third day (marked in_turn); what takes minutes, every tenth (setup/long_today.sh).
export HADASH_TEST_TURN="${HADASH_TEST_TURN:-$(($(date +%s) / 86400 % 3))}"

# Each test commits some dozen times, into stacks that are thrown away: on a busy disk that alone can take an hour.
export HADASH_SANDBOX_WAIT_FOR_DISK="${HADASH_SANDBOX_WAIT_FOR_DISK:-no}"

# Still, a wait runs out now and then (of some 9,300 tests one or two, each time others): such a test, and no other, is
# run once more, and .ci/run lists it. (What Playwright waits for on a page counts as a wait; a text that is wrong is
# wrong the second time, too.) What a test has found is never asked a second time: a record that is lost, or a state.
LATE='[Tt]imeout|timed out|did not come about in|Locator expected|Page expected|Not ready after|makes no progress'
LATE="$LATE|still [a-z_]+ \\([a-z_]+\\) after|had not (ended|begun) after|No worker took this stage"
export LATE

# run LANE SERVERS WHICH FOLDERS…: pytest beside a stack of its own. LANE names its notes of what failed: lanes would
# overwrite each other's. SERVERS: empty for all, or --without-kafka. WHICH: the marks of the tests.
run() {
  local lane="$1" servers="$2" which="$3"
  shift 3
  # (What its processes took of both cores is what decides how long all lanes take together.)
  local TIMEFORMAT="--- the lane $lane: %0R s, of processors %0U s and %0S s"
  time .venv/bin/python -m hadash_sandbox exec $servers -- \
    .venv/bin/python -m pytest -m "$which" -o "cache_dir=.pytest_cache/$lane" --durations=15 -raR \
    --reruns 1 --only-rerun "$LATE" "$@"
}
export -f run
# The lanes begin without Kafka (two brokers and Connect that nobody asks for cost each a fifth of a core). Tests that
# need it (tests/conftest.py marks them) follow on stacks that have it: those of the first two lanes in the one that
# ends first, those of the rest at its end.
# Sessions of their own: a signal to the group ends all that a lane has started.
setsid bash -c "run demos --without-kafka 'not long and not kafka' $DEMOS; of_demos=\$?
  run today --without-kafka long $(setup/long_today.sh) && exit \$of_demos" > var/test-demos.log 2>&1 &
demos=$!
setsid bash -c "run pages --without-kafka 'not long and not kafka' $PAGES; of_pages=\$?
  run kafka '' 'kafka and not long' $DEMOS $PAGES && exit \$of_pages" > var/test-pages.log 2>&1 &
pages=$!
# What runs alone at the end, and a client of the demos' lane, need Kafka's own tools: they are fetched meanwhile, after
# what all lanes wait for. (If that fails, the tests fetch them themselves, and say what is wrong.)
setsid .venv/bin/python - > var/test-fetch.log 2>&1 <<'FETCH' &
from hadash_sandbox.downloads import CLIENT_VERSIONS, kafka_jars, tool_jars
from hadash_sandbox.java import find_java

java = find_java()
kafka_jars(java)
tool_jars(CLIENT_VERSIONS[-1], java)
FETCH
fetching=$!
# Style, types, what may import what, and that every migration is there.
setsid make -s lint types > var/test-checks.log 2>&1 &
checking=$!
# Whatever ends this, ends the other lanes with all that they have started: the stack's keeper obeys SIGTERM.
trap 'kill -TERM -- "-$demos" "-$pages" "-$fetching" "-$checking" 2> /dev/null; wait "$demos" "$pages"' EXIT
trap 'exit 143' INT TERM
ignored=()
for folder in $DEMOS $PAGES $ALONE; do ignored+=("--ignore=$folder"); done
(run rest --without-kafka "not long and not kafka" "${ignored[@]}")
of_rest=$?
(run brokers "" "kafka and not long" "${ignored[@]}")
of_brokers=$?
wait "$demos"
of_demos=$?
wait "$pages"
of_pages=$?
wait "$checking"
of_checks=$?
trap - EXIT
echo "--- style, types, layers and migrations"
cat var/test-checks.log
echo "--- the lane of $DEMOS"
cat var/test-demos.log
echo "--- the lane of $PAGES"
cat var/test-pages.log
echo "--- alone ($ALONE)"
(run alone "" "not long" $ALONE)
of_alone=$?
echo "--- exit codes: $of_rest of the rest, $of_brokers of the rest with Kafka, $of_demos of demos," \
  "$of_pages of pages and what needs Kafka there, $of_alone of what ran alone, $of_checks of the checks"
for code in "$of_rest" "$of_brokers" "$of_demos" "$of_pages" "$of_alone" "$of_checks"; do
  [ "$code" -eq 0 ] || exit 1
done
