"""Comparison of locks under one program: plan, runs, statistics, verdict, report."""
