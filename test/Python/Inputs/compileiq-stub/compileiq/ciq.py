import pathlib
from typing import NamedTuple

from .backends import BackendCapabilityError
from .types import WorkerTypes


class Candidate(NamedTuple):
    param_id: str
    params: object


class Search:
    """The file of a search space has a line for each controls file; a dictionary has lists of values."""

    last = None

    def __init__(self, objective_function, search_space, search_config, worker_type, **options):
        assert worker_type is WorkerTypes.MANUAL and options == {"exit_on_failure": False, "disable_progress_bar": True}
        self.spaces = search_space if isinstance(search_space, list) else [search_space]
        self.is_list = isinstance(search_space, list)
        self.config = search_config
        self.generation = 0
        self.pending = {}
        self.told = []
        Search.last = self

    def _draw(self, space, number):
        if isinstance(space, pathlib.Path):
            lines = space.read_text().splitlines()
            return (lines[number % len(lines)] + "\n").encode().hex()
        return {name: values[number % len(values)] for name, values in space.items()}

    def ask(self):
        if self.pending:
            raise BackendCapabilityError("The previous candidate batch is still pending.")
        if self.generation == self.config.generations:
            raise BackendCapabilityError("Engine 'stub' has completed the configured search.")
        first = self.generation * self.config.pool_size
        self.generation += 1
        for number in range(first, first + self.config.pool_size):
            params = [self._draw(space, number) for space in self.spaces]
            self.pending[f"id{number}"] = Candidate(f"id{number}", params if self.is_list else params[0])
        return list(self.pending.values())

    def tell(self, scores):
        assert scores
        for score in scores:
            assert self.pending.pop(score.param_id).params == score.params
            self.told.append((score.param_id, score.score))
