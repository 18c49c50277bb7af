"""Get LETOR 3.0 Gov (NP, HP, TD; 2003, 2004): terms, download or your own archive, checksum, unpack, check, convert.

python data_scripts/letor3_gov.py --accept-terms [--archive FILE] [--folder DIR] [--run]
"""

from ltr_duel.data.corpora.fetch import main

if __name__ == "__main__":
    main("letor3-gov")
