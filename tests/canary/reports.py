"""A script that does what scripts do."""
print("PASS one")
print("FAIL another: on purpose")
print("SKIP a third: it was told to")
print("PASS the last")
