"""A script with an error in it."""
print("PASS the first", flush=True)
raise ValueError("on purpose")
