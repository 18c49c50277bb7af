"""Get Yahoo LTRC set 1: terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/yahoo_set1.py --accept-terms [--archive FILE] [--folder DIR] [--labels round] ...
"""

import sys

from ltr_duel.cli.main import main

if __name__ == "__main__":
    main("data", "fetch", "yahoo-set1", *sys.argv[1:])
