-- Stores an instance if its revision still is the one that the writer read.
-- KEYS  1 app:APP  2 apps  3 leases of its origin  4 leases of the other origin  5 changes  6 last  7 epoch
-- ARGV  1 id  2 revision that the writer read (0-0: none)  3 JSON  4 end of the lease in ms (empty: as it is)
--       5 member of the leases  6 action  7 app  8 retention of the log in ms  9 candidate for the epoch
-- Returns {1, position}, or {0, what is stored or an empty string}.
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local revision = '0-0'
if stored then
  revision = string.match(stored, '^(%d+%-%d+)\n') or '0-0'
end
if revision ~= ARGV[2] or (not stored and ARGV[4] == '') then
  return {0, stored or ''}
end
local position = append(KEYS[5], KEYS[6], KEYS[7], ARGV[9], tonumber(ARGV[8]), ARGV[6], '', ARGV[7], ARGV[1], ARGV[3])
redis.call('HSET', KEYS[1], ARGV[1], position .. '\n' .. ARGV[3])
redis.call('SADD', KEYS[2], ARGV[7])
if ARGV[4] ~= '' then
  redis.call('ZADD', KEYS[3], ARGV[4], ARGV[5])
  redis.call('ZREM', KEYS[4], ARGV[5])
end
return {1, position}
