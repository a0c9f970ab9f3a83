"""Comparing locks under one program: plan, measure, keep, judge, show."""
