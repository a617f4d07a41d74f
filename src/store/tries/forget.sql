-- Forgets the tries of a scope.
DELETE FROM tries WHERE scope = $1
