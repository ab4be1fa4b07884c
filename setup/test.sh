#!/usr/bin/env bash
# All tests but the long ones (make test-long), in two lanes beside each other, each with a stack of its own: a test waits for
# servers half of its time. The first has the tests of whole demos, of the API, of the command line, of accounts and of the pipeline's jobs, so that both take
# about as long; what it printed follows when the second has ended.
set -u
cd "$(dirname "$0")/.."
FIRST="tests/e2e tests/sandbox tests/api tests/cli tests/accounts tests/pipeline tests/governance tests/spark_jobs/test_governance_jobs.py"
# Clients that sign in again within seconds, on brokers that hang up on who does not: nothing runs beside them.
ALONE="tests/gateway/test_listeners.py"
mkdir -p var/test-logs
# Some dozen JVMs (brokers, Connect, Spark, clients) live for a minute or ten each: compiling for speed would cost more than it gives.
# A JVM that only compiles quickly keeps 48 MB for what it has compiled, which Spark fills with the plans of all rules and then
# stops ("Out of space in CodeCache"): 240 MB are what it keeps otherwise.
export JAVA_TOOL_OPTIONS="${JAVA_TOOL_OPTIONS:--XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m}"
setsid .venv/bin/python -m hadash.sandbox exec -- .venv/bin/python -m pytest -m 'not long' $FIRST -o cache_dir=.pytest_cache_first --durations=15 \
  > var/test-first.log 2>&1 &
first=$!
# What runs alone at the end needs Kafka's own tools: they are fetched meanwhile, after what both lanes wait for. (If that fails, it
# fetches them itself, and says what is wrong.)
setsid .venv/bin/python - > var/test-fetch.log 2>&1 <<'FETCH' &
from hadash.sandbox.downloads import CLIENT_VERSIONS, kafka_jars, tool_jars
from hadash.sandbox.java import find_java

java = find_java()
kafka_jars(java)
tool_jars(CLIENT_VERSIONS[-1], java)
FETCH
fetching=$!
# Whatever ends this, ends the other lane with all that it has started: the stack's keeper obeys SIGTERM.
trap 'kill -TERM -- "-$first" "-$fetching" 2> /dev/null; wait "$first"' EXIT
trap 'exit 143' INT TERM
ignored=()
for folder in $FIRST $ALONE; do ignored+=("--ignore=$folder"); done
.venv/bin/python -m hadash.sandbox exec -- .venv/bin/python -m pytest -m "not long" "${ignored[@]}" --durations=15
second=$?
echo "--- the other lane ($FIRST)"
wait "$first"
other=$?
trap - EXIT
cat var/test-first.log
echo "--- alone ($ALONE)"
.venv/bin/python -m hadash.sandbox exec -- .venv/bin/python -m pytest $ALONE
last=$?
echo "--- exit codes: $second, $other of the other lane, $last of what ran alone"
[ "$second" -eq 0 ] && [ "$other" -eq 0 ] && [ "$last" -eq 0 ]
