//! Failures, as far as an operation distinguishes them.

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    Failed,
    WouldBlock,
}

impl ErrorKind {
    pub(crate) fn ends_work(self) -> bool {
        self == Self::Failed
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Error(ErrorKind);

impl Error {
    pub(crate) const FAILED: Self = Self(ErrorKind::Failed);
    pub(crate) const WOULD_BLOCK: Self = Self(ErrorKind::WouldBlock);

    pub(crate) fn kind(&self) -> ErrorKind {
        self.0
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for Error {}
