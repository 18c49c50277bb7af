"""Get Yandex IMAT2009: terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/imat2009.py --accept-terms [--archive FILE] [--folder DIR] [--run]
"""

from ltr_duel.data.corpora.fetch import main

if __name__ == "__main__":
    main("imat2009")
