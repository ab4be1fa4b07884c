"""What a failed run says of itself."""

from __future__ import annotations

from hadash.sentences import Explained, Sentence, said_by, say

#: Characters of another program's own account, at most: a Spark exception has pages of stack traces.
MAX_FAULT = 2000

#: The fault of a run whose process has died. It no longer holds the lock, so no other run waits for it.
DIED = say("The process that ran it has ended without saying so.")


def fault_of_run(error: BaseException) -> Sentence:
    """Return what an error says; of another program's, the first lines, without the Java stack trace of Spark."""
    if isinstance(error, Explained):
        return error.sentence
    return in_its_words(str(said_by(error)).split("\n\tat ")[0].split("\nJVM stacktrace")[0])


def in_its_words(account: str) -> Sentence:
    """Return a program's own account, without a translation; :data:`~hadash.sentences.NOTHING` for an empty one."""
    return Sentence.from_json(account.strip()[:MAX_FAULT])
