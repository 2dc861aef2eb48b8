"""From files to numbers: finding and downloading, unpacking, parsing, checking."""
