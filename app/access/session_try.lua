-- Counts one try to log in, unless the pair is locked. Returns how many there are with this one, and for how many ms no try may
-- be made (0: go on).
-- KEYS: 1 counter, 2 lock. ARGV: 1 limit (0: none), 2 ms of the lock, 3 life of the count in ms after its last try.
local wait = redis.call('PTTL', KEYS[2])
if wait == -1 then -- somebody else's lock without an end
	wait = tonumber(ARGV[2])
	redis.call('PEXPIRE', KEYS[2], wait)
end
if wait > 0 then
	return {0, wait}
end
if not tonumber(redis.call('GET', KEYS[1]) or '0') then -- somebody else's, and no number
	redis.call('DEL', KEYS[1])
end
local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local limit = tonumber(ARGV[1])
if limit > 0 and count >= limit then
	-- The count goes with the lock, so that it begins anew when the lock ends.
	redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
	redis.call('DEL', KEYS[1])
end
return {count, 0}
