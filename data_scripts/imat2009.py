"""Get Yandex IMAT2009: terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/imat2009.py --accept-terms [--archive FILE] [--folder DIR] [--labels round] ...
"""

import sys

from ltr_duel.cli.main import main

if __name__ == "__main__":
    main("data", "fetch", "imat2009", *sys.argv[1:])
