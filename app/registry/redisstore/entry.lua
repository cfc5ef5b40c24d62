-- Writes or deletes a node's entry unless one of a later log position was written.
-- KEYS  1 node:NAME  2 nodeseq  3 nodesaid  4 withheld
-- ARGV  1 name  2 log position, 20 digits  3 the value that the new one was made from (empty: none)
--       4 the new value (empty: delete)  5 time to live in ms  6 what nodesaid keeps of it (empty: nothing)
--       7 1: entries of a server up to 2.0.4 may be replaced
-- Returns {1}, {2} if a later one is there, {3} if nothing may be written, or {0, value, said} if the value is another than
-- the writer read.
if redis.call('EXISTS', KEYS[4]) == 1 then
  return {3}
end
local written = redis.call('HGET', KEYS[2], ARGV[1])
if written and #written == #ARGV[2] and written > ARGV[2] then
  return {2}
end
local value = ''
if redis.call('TYPE', KEYS[1]).ok == 'string' then
  value = redis.call('GET', KEYS[1])
end
if string.sub(value, 1, 2) == '\172\237' and ARGV[7] ~= '1' then
  return {3}
end
if value ~= ARGV[3] then
  return {0, value, redis.call('HGET', KEYS[3], ARGV[1]) or ''}
end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
if ARGV[4] == '' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[4], 'PX', ARGV[5])
end
if ARGV[6] == '' then
  redis.call('HDEL', KEYS[3], ARGV[1])
else
  redis.call('HSET', KEYS[3], ARGV[1], ARGV[6])
end
return {1}
