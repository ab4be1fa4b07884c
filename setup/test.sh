#!/usr/bin/env bash
# All tests, in two lanes beside each other: those that share one stack, and those that start servers of their own. Either lane
# waits for servers half of its time. What the second one printed follows when the first has ended.
set -u
cd "$(dirname "$0")/.."
OWN="tests/e2e tests/sandbox/test_stack.py"
mkdir -p var/test-logs
setsid .venv/bin/python -m pytest $OWN -o cache_dir=.pytest_cache_own --durations=15 > var/test-own.log 2>&1 &
own=$!
# Whatever ends this, ends the other lane with all that it has started: pytest's fixtures stop their servers on SIGTERM.
trap 'kill -TERM -- "-$own" 2> /dev/null; wait "$own"' EXIT INT TERM
ignored=()
for folder in $OWN; do ignored+=("--ignore=$folder"); done
.venv/bin/python -m hadash.sandbox exec -- .venv/bin/python -m pytest "${ignored[@]}" --durations=15
shared=$?
echo "--- the tests with servers of their own ($OWN)"
wait "$own"
alone=$?
trap - EXIT INT TERM
cat var/test-own.log
echo "--- shared stack: exit $shared; servers of their own: exit $alone"
[ "$shared" -eq 0 ] && [ "$alone" -eq 0 ]
