"""Get Istella LETOR: terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/istella.py --accept-terms [--archive FILE] [--folder DIR] [--run]
"""

from ltr_duel.data.corpora.fetch import main

if __name__ == "__main__":
    main("istella")
