"""The labelling page: one person reads texts in a browser on this machine and labels them.

`answer_log` keeps every answer in a file before the next text is shown. `assignment` says which
text comes next, in the order of a plan. `advice` fits the calibrator to the labels so far and says
whether they are enough, in a thread. `server` answers the page, `page.html`, and nobody else;
`markup` renders texts without ever making HTML of them.
"""
