-- Units of one task whose cursor lies ahead of now, or is lost: looked at, or set to now. The range that is open
-- again is recorded, with who asked for it.
-- ARGV: prefix, run_id, 'look', then for each shard its unit. Answers a cursor each: 'lost', or '' for a unit that
-- never was.
-- ARGV: prefix, run_id, 'set', scope, task, who, state, cause, then for each unit: unit, shard, the cursor as it
-- was looked at, first, last and count of the range. Answers how many were set.
local run_id, mode = ARGV[2], ARGV[3]

if string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') ~= run_id then
  return answer('MOVED')
end
if fields(KEYS[1], 'inc').inc == '' then
  return answer('STORE_LOST')
end

local function cursor(unit)
  local c = redis.call('HGET', P .. 'u:' .. unit, 'cursor')
  return c or (redis.call('HEXISTS', P .. 'units', unit) == 1 and 'lost' or '')
end

if mode == 'look' then
  local found = answer('OK')
  for i = 4, #ARGV do
    found[#found + 1] = cursor(ARGV[i])
  end
  return found
end

local scope, task, who, state, why = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]

-- What waits and is planned later than now is open again as well; it must not be found decided.
local function drop_ahead(unit)
  for _, occ in ipairs(redis.call('ZRANGEBYSCORE', P .. 'q:' .. unit, '(' .. NOW, '+inf')) do
    redis.call('DEL', P .. 'o:' .. occ)
    unqueue(unit, occ)
  end
end

local set = 0
for i = 9, #ARGV - 5, 6 do
  local unit, shard, expect, first, last, count = unpack(ARGV, i, i + 5)
  if cursor(unit) == expect then
    redis.call('HSET', P .. 'u:' .. unit, 'cursor', NOW)
    drop_ahead(unit)
    if count ~= '0' then
      remember(task, 'scope', scope, 'shard', shard, 'planned', first, 'last', last, 'count', count,
        'state', state, 'cause', why, 'ended', NOW .. '000000', 'error', who)
    end
    set = set + 1
  end
end
return answer('OK', tostring(set))
