-- Makes the part of a week, unless there is one for it or the net holds some of its ids.
SELECT history_open($1) AS opened
