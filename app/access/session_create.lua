-- Keeps a session, new or rewritten, in erupt's layout (erupt-wire 7.2), in one step.
-- KEYS: 1 token, 2 user, 3 menu view, 4 menu value map, 5 its temporary name, 6 facts of the login, 7 tokens of the account,
--       8 accounts.
-- ARGV: 1 "new" or "again", 2 account, 3 life in ms (new), 4 user JSON, 5 menu view JSON, 6 facts JSON (new), 7 token,
--       8 most sessions of one account (new), 9 prefix of token keys, 10… field and value of the menu value map.
-- Returns 0 if a session to be rewritten is over, else 1.
-- Sets of tokens and accounts are scored by the end of life in ms, by the clock of Redis.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local life = tonumber(ARGV[3])
if ARGV[1] == 'again' then
	life = redis.call('PTTL', KEYS[1])
	if life <= 0 then
		return 0
	end
else
	redis.call('SET', KEYS[1], ARGV[2], 'PX', life)
	redis.call('SET', KEYS[6], ARGV[6], 'PX', life)
	redis.call('ZREMRANGEBYSCORE', KEYS[7], '-inf', now)
	redis.call('ZADD', KEYS[7], now + life, ARGV[7])
	for _, old in ipairs(redis.call('ZRANGE', KEYS[7], 0, -(tonumber(ARGV[8]) + 1))) do
		redis.call('DEL', ARGV[9] .. 'token:' .. old, ARGV[9] .. 'user:' .. old, ARGV[9] .. 'menu-view:' .. old,
			ARGV[9] .. 'menu-value-map:' .. old, ARGV[9] .. 'login:' .. old)
		redis.call('ZREM', KEYS[7], old)
	end
	local last = redis.call('ZRANGE', KEYS[7], -1, -1, 'WITHSCORES')[2] - now
	redis.call('PEXPIRE', KEYS[7], math.max(last, 1))
	redis.call('ZREMRANGEBYSCORE', KEYS[8], '-inf', now)
	redis.call('ZADD', KEYS[8], 'GT', now + life, ARGV[2])
end
redis.call('SET', KEYS[2], ARGV[4], 'PX', life)
redis.call('SET', KEYS[3], ARGV[5], 'PX', life)
redis.call('DEL', KEYS[5])
for i = 10, #ARGV, 200 do
	redis.call('HSET', KEYS[5], unpack(ARGV, i, math.min(i + 199, #ARGV)))
end
if #ARGV < 10 then
	redis.call('DEL', KEYS[4]) -- a user without menus has no hash
else
	redis.call('RENAME', KEYS[5], KEYS[4])
	redis.call('PEXPIRE', KEYS[4], life)
end
return 1
