-- Ends a session. KEYS: 1 token, 2 user, 3 menu view, 4 menu value map, 5 facts of the login, 6 accounts. ARGV: 1 token,
-- 2 prefix of the sets of tokens by account.
local account = redis.call('GET', KEYS[1])
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5])
if account then
	redis.call('ZREM', ARGV[2] .. account, ARGV[1])
	if redis.call('EXISTS', ARGV[2] .. account) == 0 then
		redis.call('ZREM', KEYS[6], account)
	end
end
return 1
