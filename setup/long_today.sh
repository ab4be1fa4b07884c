#!/usr/bin/env bash
# The important ones of the long tests, a part of them each day, so that CI runs each within ten days; all of them at
# once: make test-long. Prints what pytest is to be given. HADASH_TEST_DAY: which part, 0 to 9, in place of today's.
set -eu
cd "$(dirname "$0")/.."
KILLS="tests/e2e/test_kill.py"
ONE_OF_TWO="tests/e2e/test_kill_one_of_two.py::test_the_other_worker_takes_over"
KILL="$KILLS::test_switch_survives_the_loss_of_its_worker"
RETURN="$KILLS::test_switch_goes_on_returning_when_the_worker_that_returns_dies"
READERS="$KILLS::test_readers_go_over_although_the_worker_dies_while_they_wait"
REHEARSED="$KILLS::test_a_rehearsal_is_rehearsed_again_when_its_worker_dies"
SWITCH="tests/e2e/test_zz_switch.py"
PARTS=(
  "$KILL[precheck-RecordSeen-after] $KILL[translate-WriteGroupOffsets-after] $REHEARSED"
  "$KILL[quiesce-WriteBindings-after] $ONE_OF_TWO[precheck-RecordSeen-after] $READERS"
  "$KILL[block-WriteBindings-after] $ONE_OF_TWO[drain-RecordDrained-before] $RETURN[WriteBindings-after]"
  "$KILL[verify-ReadClients-before] $RETURN[WriteBindings-before] $RETURN[ResumeMirrors-after]"
  "$KILL[drain-RecordDrained-before] tests/e2e/test_forgetful_database.py"
  "$KILL[forward-WriteBindings-after] $ONE_OF_TWO[verify-ReadClients-before] $KILL[reverse-ReverseMirrors-after]"
  "$ONE_OF_TWO[translate-WriteGroupOffsets-after] tests/e2e/test_zzz_forced.py"
  "tests/e2e/test_all_libraries.py"
  "tests/e2e/test_update.py $SWITCH $KILLS::test_switch_returns_when_clients_have_waited_for_too_long"
  "$ONE_OF_TWO[reverse-ReverseMirrors-after] tests/e2e/test_fleet_pages.py"
)
echo "${PARTS[${HADASH_TEST_DAY:-$(($(date +%s) / 86400 % ${#PARTS[@]}))}]}"
