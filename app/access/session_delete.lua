-- Ends a session. KEYS: 1 token, then what lives as long as it does, the last: accounts. ARGV: 1 token,
-- 2 prefix of the sets of tokens by account.
local account = redis.call('GET', KEYS[1])
for i = 1, #KEYS - 1 do
	redis.call('DEL', KEYS[i])
end
if account then
	redis.call('ZREM', ARGV[2] .. account, ARGV[1])
	if redis.call('EXISTS', ARGV[2] .. account) == 0 then
		redis.call('ZREM', KEYS[#KEYS], account)
	end
end
return 1
