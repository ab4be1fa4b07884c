"""How a job ends, as an exit code. (Without Spark: whoever starts it reads them.)"""

#: It has failed, which may be tried again.
FAILED = 1
#: What it was told cannot be used, or there is nothing to work on yet: trying again does not help.
UNUSABLE = 2
#: Somebody else does it: what the system's programs say when one is to come again later (EX_TEMPFAIL).
TAKEN = 75
