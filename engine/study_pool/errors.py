"""Errors of the study processes that no request has caused."""


class StudyUnavailable(Exception):
    """There are no study processes, or the pool is closed."""


class StudyFailed(Exception):
    """The process ended without a last reply: it was killed, or hung."""
