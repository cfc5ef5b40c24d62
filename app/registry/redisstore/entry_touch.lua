-- Renews the life of a node's entry, but not of one that a server up to 2.0.4 wrote.
-- KEYS  1 node:NAME  2 withheld
-- ARGV  1 time to live in ms  2 1: return the value, too  3 1: entries of a server up to 2.0.4 may be replaced
-- Returns {0} if there is none, else {1, value or ''}.
if redis.call('EXISTS', KEYS[2]) == 1 then
  return {1, ''}
end
if redis.call('TYPE', KEYS[1]).ok ~= 'string' then
  return {0, ''}
end
if redis.call('GETRANGE', KEYS[1], 0, 1) == '\172\237' then
  return {ARGV[3] == '1' and 0 or 1, ''}
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return {1, ARGV[2] == '1' and redis.call('GET', KEYS[1]) or ''}
