"""A script that reports no test."""
