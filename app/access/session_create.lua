-- Keeps a session, new or rewritten, in erupt's layout (erupt-wire 7.2), in one step.
-- KEYS: 1 token, 2 user, 3 menu view, 4 menu value map, 5 its temporary name, 6 facts of the login, 7 scopes of codes,
--       8 last use, 9 tokens of the account, 10 accounts.
-- ARGV: 1 "new" or "again", 2 account, 3 life in ms (new), 4 user JSON, 5 menu view JSON, 6 facts JSON (new), 7 token,
--       8 most sessions of one account (new), 9 prefix of token keys, 10 how many scopes follow, 11… code and scope of each,
--       then field and value of the menu value map.
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
	redis.call('ZREMRANGEBYSCORE', KEYS[9], '-inf', now)
end
-- A session that a Java server made is in no set before it is rewritten.
redis.call('ZADD', KEYS[9], now + life, ARGV[7])
if ARGV[1] ~= 'again' then
	redis.call('SET', KEYS[8], string.format('%d', now), 'PX', life)
	for _, old in ipairs(redis.call('ZRANGE', KEYS[9], 0, -(tonumber(ARGV[8]) + 1))) do
		for _, kind in ipairs({'token:', 'user:', 'menu-view:', 'menu-value-map:', 'login:', 'scopes:', 'used:'}) do
			redis.call('DEL', ARGV[9] .. kind .. old)
		end
		redis.call('ZREM', KEYS[9], old)
	end
	redis.call('ZREMRANGEBYSCORE', KEYS[10], '-inf', now)
end
local last = redis.call('ZRANGE', KEYS[9], -1, -1, 'WITHSCORES')[2] - now
redis.call('PEXPIRE', KEYS[9], math.max(last, 1))
redis.call('ZADD', KEYS[10], 'GT', now + life, ARGV[2])
-- put makes a hash of the arguments from first to last.
local function put(key, first, last)
	for i = first, last, 200 do
		redis.call('HSET', key, unpack(ARGV, i, math.min(i + 199, last)))
	end
	if last >= first then
		redis.call('PEXPIRE', key, life)
	end
end
redis.call('SET', KEYS[2], ARGV[4], 'PX', life)
redis.call('SET', KEYS[3], ARGV[5], 'PX', life)
local scoped = 10 + 2 * tonumber(ARGV[10])
redis.call('DEL', KEYS[7])
put(KEYS[7], 11, scoped)
redis.call('DEL', KEYS[5])
put(KEYS[5], scoped + 1, #ARGV)
if #ARGV == scoped then
	redis.call('DEL', KEYS[4]) -- a user without menus has no hash
else
	redis.call('RENAME', KEYS[5], KEYS[4])
end
return 1
