"""Get LETOR 3.0 Gov (NP, HP, TD; 2003, 2004): terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/letor3_gov.py --accept-terms [--archive FILE] [--folder DIR] [--labels round] ...
"""

import sys

from ltr_duel.cli.main import main

if __name__ == "__main__":
    main("data", "fetch", "letor3-gov", *sys.argv[1:])
