-- Lists a session that a Java server made among those of its account, so that a change of the account finds it.
-- KEYS: 1 token, 2 accounts. ARGV: 1 token, 2 prefix of the sets of tokens by account, 3 life in ms of one without an end.
-- Returns 1 if it was new.
local account = redis.call('GET', KEYS[1])
if not account or redis.call('ZSCORE', ARGV[2] .. account, ARGV[1]) then
	return 0
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local life = redis.call('PTTL', KEYS[1])
if life < 0 then
	life = tonumber(ARGV[3])
end
local tokens = ARGV[2] .. account
redis.call('ZADD', tokens, now + life, ARGV[1])
if redis.call('PTTL', tokens) < life then
	redis.call('PEXPIRE', tokens, life)
end
redis.call('ZADD', KEYS[2], 'GT', now + life, account)
return 1
