"""Get MSLR-WEB30K: terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/mslr_web30k.py --accept-terms [--archive FILE] [--folder DIR] [--labels round] ...
"""

import sys

from ltr_duel.cli.main import main

if __name__ == "__main__":
    main("data", "fetch", "mslr-web30k", *sys.argv[1:])
