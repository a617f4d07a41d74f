-- Every team that has a log, or the end of one.
SELECT team FROM audit_heads UNION SELECT team FROM audit ORDER BY team
