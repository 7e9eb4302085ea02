"""Refuses to go on in a process group, for importing skrl would join it and wait.

It is imported before anything that imports skrl, which is the only moment that is early enough.
"""

import os

from srb_train.algos.skrl import settings

PROCESSES = settings.refuse_process_group(os.environ)
