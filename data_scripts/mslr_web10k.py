"""Get MSLR-WEB10K: terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/mslr_web10k.py --accept-terms [--archive FILE] [--folder DIR] [--labels round] ...
"""

import sys

from ltr_duel.cli.main import main

if __name__ == "__main__":
    main("data", "fetch", "mslr-web10k", *sys.argv[1:])
