-- Shared by the scripts that change something: appends one entry to the change log and returns its position.
-- Each entry names the one before it, so that a follower sees a gap however it came about.
--   changes  stream; trimmed by age, roughly
--   last     string, position of the newest entry
--   epoch    string, drawn anew when the store has lost its data; candidate is what to draw
--   retention  ms
local function append(changes, last, epoch, candidate, retention, action, reason, app, id, body)
  redis.call('SET', epoch, candidate, 'NX')
  local previous = redis.call('GET', last) or '0-0'
  local now = redis.call('TIME')
  local oldest = now[1] * 1000 + math.floor(now[2] / 1000) - retention
  local position = redis.call('XADD', changes, 'MINID', '~', string.format('%.0f', oldest), '*',
    'action', action, 'reason', reason, 'app', app, 'id', id, 'body', body, 'previous', previous)
  redis.call('SET', last, position)
  return position
end
