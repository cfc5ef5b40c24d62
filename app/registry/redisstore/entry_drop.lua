-- Deletes a node's entry, but not one that a server up to 2.0.4 wrote.
-- KEYS  1 node:NAME  2 nodesaid
-- ARGV  1 name
redis.call('HDEL', KEYS[2], ARGV[1])
if redis.call('TYPE', KEYS[1]).ok ~= 'string' or redis.call('GETRANGE', KEYS[1], 0, 1) ~= '\172\237' then
  redis.call('DEL', KEYS[1])
end
return 1
