-- Moves the end of a lease and counts a heartbeat.
-- KEYS  1 app:APP  2 leases:node  3 leases:eureka  4 renewals:node:MINUTE  5 renewals:eureka:MINUTE
-- ARGV  1 id  2 member of the leases  3 end of the lease in ms
-- Returns 1, or 0 if there is no such lease.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  return 0
end
local origin = 0
if not redis.call('ZSCORE', KEYS[2], ARGV[2]) then
  if not redis.call('ZSCORE', KEYS[3], ARGV[2]) then
    return 0
  end
  origin = 1
end
redis.call('ZADD', KEYS[2 + origin], 'XX', ARGV[3], ARGV[2])
if redis.call('INCR', KEYS[4 + origin]) == 1 then
  redis.call('EXPIRE', KEYS[4 + origin], 180)
end
return 1
