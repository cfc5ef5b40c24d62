-- Reads everything as of one moment.
-- KEYS  1 apps  2 last  3 epoch
-- ARGV  1 name of the apps' hashes without the app  2 candidate for the epoch
-- Returns {epoch, position, app, {id, value, id, value, …}, app, …}.
redis.call('SET', KEYS[3], ARGV[2], 'NX')
local all = {redis.call('GET', KEYS[3]), redis.call('GET', KEYS[2]) or '0-0'}
for _, app in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  all[#all + 1] = app
  all[#all + 1] = redis.call('HGETALL', ARGV[1] .. app)
end
return all
