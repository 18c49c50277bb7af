"""Get MSLR-WEB10K: terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/mslr_web10k.py --accept-terms [--archive FILE] [--folder DIR] [--run]
"""

from ltr_duel.data.corpora.fetch import main

if __name__ == "__main__":
    main("mslr-web10k")
