-- Takes or renews leadership. Returns 1 if the caller leads now.
-- KEYS: 1 leader key. ARGV: 1 name of the caller, unique to its process, 2 lease in ms.
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return 1
end
if not holder and redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	return 1
end
return 0
