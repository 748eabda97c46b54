-- A person accepts that the store has lost what it knew: it gets a new identity, under which every instant planned
-- until now counts as possibly started, and fences go on from the clock. What is still there stays.
-- Nodes that remember what it replaces go on with it by themselves: the identity that is there, and the one that
-- is remembered where the person sits.
-- ARGV: prefix, run_id, new incarnation ('': only look), margin ms (claims may come early), remembered incarnation,
-- remembered epoch
local run_id, fresh, margin, remembered = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local REPLACES_MAX = 32 * 33

if string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') ~= run_id then
  return answer('MOVED')
end
local s = fields(KEYS[1], 'v', 'inc', 'epoch', 'run_id', 'barrier', 'replaces')
if s.v ~= '' and s.v ~= '1' then
  return answer('SCHEMA', s.v)
end
-- A person has accepted it before, maybe at another node.
local known = s.inc == remembered or string.find(' ' .. s.replaces, ' ' .. remembered .. ' ', 1, true)
local units = redis.call('HLEN', P .. 'units')
local had = redis.call('GET', P .. 'fence')
if fresh == '' then
  return answer('OK', s.inc, had and '1' or '0', tostring(units), (remembered == '' or known) and '1' or '0')
end

local at = string.format('%.0f', tonumber(time[1]) * 1000000 + tonumber(time[2]) + margin * 1000)
if had and less(at, had) then
  at = had
end
local limit = instant(now + margin)
if limit < s.barrier then
  limit = s.barrier
end
local replaces = s.replaces
for _, inc in ipairs({ s.inc, remembered }) do
  if inc ~= '' and not string.find(' ' .. replaces, ' ' .. inc .. ' ', 1, true) then
    replaces = replaces .. inc .. ' '
  end
end
local epoch = math.max(tonumber(s.epoch) or 0, tonumber(ARGV[6]) or 0) + 1
redis.call('SET', P .. 'fence', at)
redis.call('HSET', KEYS[1], 'v', '1', 'inc', fresh, 'epoch', string.format('%.0f', epoch), 'run_id', run_id,
  'barrier', limit, 'hold', instant(0), 'replaces', string.sub(replaces, -REPLACES_MAX), 'recovered', NOW)
return answer('OK', fresh, limit)
