//! The programs of this package are in `samples/rust` of the repository, beside those in other languages.
