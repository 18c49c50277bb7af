"""Get Istella-X, many documents a query: terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/istella_x.py --accept-terms [--archive FILE] [--folder DIR] [--run]
"""

from ltr_duel.data.corpora.fetch import main

if __name__ == "__main__":
    main("istella-x")
