-- Ends a lease and logs who it was; what is left of a damaged one goes too.
-- KEYS  1 app:APP  2 apps  3 leases:node  4 leases:eureka  5 changes  6 last  7 epoch
-- ARGV  1 id  2 member of the leases  3 reason  4 only if the lease had ended by then, in ms (empty: in any case)
--       5 app  6 retention of the log in ms  7 candidate for the epoch
-- Returns the position, or an empty string if nothing was removed.
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local ends = redis.call('ZSCORE', KEYS[3], ARGV[2]) or redis.call('ZSCORE', KEYS[4], ARGV[2])
if not stored and not ends then
  return ''
end
if ARGV[4] ~= '' and ends and tonumber(ends) > tonumber(ARGV[4]) then
  return ''
end
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[2])
redis.call('ZREM', KEYS[4], ARGV[2])
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('SREM', KEYS[2], ARGV[5])
end
local body = stored and string.match(stored, '^%d+%-%d+\n(.*)$') or ''
return append(KEYS[5], KEYS[6], KEYS[7], ARGV[7], tonumber(ARGV[6]), 'DELETED', ARGV[3], ARGV[5], ARGV[1], body)
