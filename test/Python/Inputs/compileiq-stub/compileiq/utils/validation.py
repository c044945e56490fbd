class Score:
    def __init__(self, score, params, param_id, num_objectives):
        scores = score if isinstance(score, list) else [score]
        assert len(scores) == num_objectives, scores
        assert all(s == "*" or type(s) in (int, float) for s in scores), scores
        self.score, self.params, self.param_id = scores, params, param_id
