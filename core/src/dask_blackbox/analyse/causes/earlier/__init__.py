"""What had gone wrong before a verdict: what finds it, by who did it, and what it must lead to.

incident   one value for all of it
end        how the run ended: what the rows ask before they look
of_…       what finds it
"""
