"""Get Istella-X, many documents per query: terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/istella_x.py --accept-terms [--archive FILE] [--folder DIR] [--labels round] ...
"""

import sys

from ltr_duel.cli.main import main

if __name__ == "__main__":
    main("data", "fetch", "istella-x", *sys.argv[1:])
