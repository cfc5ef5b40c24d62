-- Gives up leadership if the caller still holds it. KEYS: 1 leader key. ARGV: 1 name of the caller.
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0
