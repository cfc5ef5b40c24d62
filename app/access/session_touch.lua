-- Moves the end of a session. Returns 0 if it is over, else 1.
-- KEYS: 1 token, 2 user, 3 menu view, 4 menu value map, 5 facts of the login, 6 accounts. ARGV: 1 life in ms, 2 token,
-- 3 prefix of the sets of tokens by account.
local account = redis.call('GET', KEYS[1])
if not account then
	return 0
end
local clock = redis.call('TIME')
local life = tonumber(ARGV[1])
local ends = clock[1] * 1000 + math.floor(clock[2] / 1000) + life
for i = 1, 5 do
	redis.call('PEXPIRE', KEYS[i], life)
end
redis.call('ZADD', ARGV[3] .. account, 'XX', ends, ARGV[2])
if redis.call('PTTL', ARGV[3] .. account) < life then
	redis.call('PEXPIRE', ARGV[3] .. account, life)
end
redis.call('ZADD', KEYS[6], 'GT', 'XX', ends, account)
return 1
