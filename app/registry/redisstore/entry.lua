-- Writes or deletes a node's entry unless one of a later log position was written.
-- KEYS  1 node:NAME  2 nodeseq
-- ARGV  1 name  2 log position, 20 digits  3 the value that the new one was made from (empty: none)
--       4 the new value (empty: delete)  5 time to live in ms
-- Returns {1}, {2} if a later one is there, or {0, value} if the value is another than the writer read.
local written = redis.call('HGET', KEYS[2], ARGV[1])
if written and #written == #ARGV[2] and written > ARGV[2] then
  return {2}
end
local value = ''
if redis.call('TYPE', KEYS[1]).ok == 'string' then
  value = redis.call('GET', KEYS[1])
end
if value ~= ARGV[3] then
  return {0, value}
end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
if ARGV[4] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[5])
end
return {1}
