"""Get Yahoo LTRC set 1: terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/yahoo_set1.py --accept-terms [--archive FILE] [--folder DIR] [--run]
"""

from ltr_duel.data.corpora.fetch import main

if __name__ == "__main__":
    main("yahoo-set1")
