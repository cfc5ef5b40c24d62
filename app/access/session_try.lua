-- Counts one try to log in, unless the limit is reached. Returns for how many ms no try may be made; 0: go on.
-- KEYS: 1 counter. ARGV: 1 limit, 2 life of the count in ms after its last try.
local count = tonumber(redis.call('GET', KEYS[1]) or '0') or 0
if count >= tonumber(ARGV[1]) then
	local wait = redis.call('PTTL', KEYS[1])
	if wait ~= 0 and wait ~= -2 then
		if wait == -1 then -- somebody else's counter without an end
			wait = tonumber(ARGV[2])
			redis.call('PEXPIRE', KEYS[1], wait)
		end
		return wait
	end
end
redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 0
