"""Get LETOR 4.0 MQ2008: terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/mq2008.py --accept-terms [--archive FILE] [--folder DIR] [--labels round] ...
"""

import sys

from ltr_duel.cli.main import main

if __name__ == "__main__":
    main("data", "fetch", "mq2008", *sys.argv[1:])
