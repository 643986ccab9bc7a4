"""Why a study process makes no document, apart from what the request itself is to blame for."""


class StudyUnavailable(Exception):
    """There are no study processes, or the pool is closed."""


class StudyFailed(Exception):
    """The process ended without a last reply: it was killed, or hung."""
