"""The public corpora, one family a page. A new corpus is one new page that registers itself."""
