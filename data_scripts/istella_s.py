"""Get Istella-S, a sample of Istella: terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/istella_s.py --accept-terms [--archive FILE] [--folder DIR] [--labels round] ...
"""

import sys

from ltr_duel.cli.main import main

if __name__ == "__main__":
    main("data", "fetch", "istella-s", *sys.argv[1:])
