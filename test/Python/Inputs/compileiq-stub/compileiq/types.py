import enum

INVALID_SCORE = "*"


class WorkerTypes(enum.Enum):
    NATIVE = "native"
    MANUAL = "manual"


class SearchConfiguration:
    def __init__(self, generations, pool_size, num_objectives, problem_type):
        if pool_size < 2:
            raise ValueError("Number of survivors is too small")
        assert problem_type == "min"
        self.generations, self.pool_size, self.num_objectives = generations, pool_size, num_objectives
