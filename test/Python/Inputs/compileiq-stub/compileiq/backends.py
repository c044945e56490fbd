class BackendError(RuntimeError):
    pass


class BackendCapabilityError(BackendError):
    pass


class SearchSpaceExhaustedError(BackendError, ValueError):
    pass
