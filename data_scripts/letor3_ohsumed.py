"""Get LETOR 3.0 OHSUMED: terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/letor3_ohsumed.py --accept-terms [--archive FILE] [--folder DIR] [--run]
"""

from ltr_duel.data.corpora.fetch import main

if __name__ == "__main__":
    main("letor3-ohsumed")
