"""How rich a learner is: bounds, complexity, bias and variance."""
