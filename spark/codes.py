"""The exit codes of a job. (This module does not import Spark, because the caller reads them.)"""

#: It has failed, and may be tried again.
FAILED = 1
#: Its arguments are not valid, or there is no input yet: trying again does not help.
UNUSABLE = 2
#: Another process runs it (EX_TEMPFAIL, with which programs ask to try later).
TAKEN = 75
