"""Get Istella LETOR: terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/istella.py --accept-terms [--archive FILE] [--folder DIR] [--labels round] ...
"""

import sys

from ltr_duel.cli.main import main

if __name__ == "__main__":
    main("data", "fetch", "istella", *sys.argv[1:])
