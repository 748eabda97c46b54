-- A person accepts that the store has lost what it knew: it gets a new identity, under which every instant planned
-- until now counts as possibly started, and fences go on from the clock. What is still there stays.
-- ARGV: prefix, run_id, new incarnation ('': only look), margin ms (claims may come early)
local run_id, fresh, margin = ARGV[2], ARGV[3], tonumber(ARGV[4])

if string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') ~= run_id then
  return answer('MOVED')
end
local s = fields(KEYS[1], 'v', 'inc', 'epoch', 'run_id', 'barrier')
if s.v ~= '' and s.v ~= '1' then
  return answer('SCHEMA', s.v)
end
local units = redis.call('HLEN', P .. 'units')
local had = redis.call('GET', P .. 'fence')
if fresh == '' then
  return answer('OK', s.inc, had and '1' or '0', tostring(units))
end

local at = string.format('%.0f', tonumber(time[1]) * 1000000 + tonumber(time[2]) + margin * 1000)
if had and less(at, had) then
  at = had
end
local limit = instant(now + margin)
if limit < s.barrier then
  limit = s.barrier
end
redis.call('SET', P .. 'fence', at)
redis.call('HSET', KEYS[1], 'v', '1', 'inc', fresh, 'epoch', string.format('%.0f', (tonumber(s.epoch) or 0) + 1),
  'run_id', run_id, 'barrier', limit, 'hold', instant(0), 'recovered', NOW)
return answer('OK', fresh, limit)
