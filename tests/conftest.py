from hypothesis import settings

# No deadline: a busy machine is no bug. The same examples every time: a failure is found where it was made.
settings.register_profile("truefit", deadline=None, derandomize=True)
settings.load_profile("truefit")
