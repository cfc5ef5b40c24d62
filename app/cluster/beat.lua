-- Says that a replica lives, and returns all that do.
-- KEYS: 1 key of this replica, 2 set of replica ids. ARGV: 1 id, 2 prefix of replica keys, 3 life in ms.
-- The set is only a list of whom to ask: a replica lives while its own key does.
redis.call('SET', KEYS[1], '1', 'PX', ARGV[3])
redis.call('SADD', KEYS[2], ARGV[1])
local live = {}
for _, id in ipairs(redis.call('SMEMBERS', KEYS[2])) do
	if redis.call('EXISTS', ARGV[2] .. id) == 1 then
		live[#live + 1] = id
	else
		redis.call('SREM', KEYS[2], id)
	end
end
return live
