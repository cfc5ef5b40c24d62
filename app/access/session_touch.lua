-- Notes that a session is used and moves its end. Returns 0 if it is over, else 1.
-- KEYS: 1 token, 2… what lives as long as it does, the last of these its last use, then accounts. ARGV: 1 life in ms, 0 to
-- leave the end where it is, 2 token, 3 prefix of the sets of tokens by account.
local account = redis.call('GET', KEYS[1])
if not account then
	return 0
end
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local life = tonumber(ARGV[1])
local accounts, used = KEYS[#KEYS], KEYS[#KEYS - 1]
if life == 0 then
	local left = redis.call('PTTL', KEYS[1])
	if left > 0 then -- a session without an end is somebody else's
		redis.call('SET', used, string.format('%d', now), 'PX', left)
	end
	return 1
end
redis.call('SET', used, string.format('%d', now), 'PX', life)
for i = 1, #KEYS - 1 do
	redis.call('PEXPIRE', KEYS[i], life)
end
redis.call('ZADD', ARGV[3] .. account, 'XX', now + life, ARGV[2])
if redis.call('PTTL', ARGV[3] .. account) < life then
	redis.call('PEXPIRE', ARGV[3] .. account, life)
end
redis.call('ZADD', accounts, 'GT', 'XX', now + life, account)
return 1
