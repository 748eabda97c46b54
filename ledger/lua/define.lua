-- Puts a definition in force, if what it was computed from still stands; else the caller reads again. The
-- instants the old schedule had until `valid` are given up in the same step, as one range a unit.
-- ARGV: prefix, epoch, run_id, definition, the same task's definition in the other scope, scope, task, rev
-- expected, valid, when, def, shards, competes, schedule, cause, owner, node, life, whether it comes from elsewhere,
-- then for each unit of the old definition: cursor expected, first, last, count
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
local definition, scope, task, expected, valid = ARGV[4], ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local key, units = P .. 'd:' .. definition, P .. 'u:' .. definition
local competes, shards = ARGV[13] == '1', tonumber(ARGV[12])
local owner, node, life = ARGV[16], ARGV[17], ARGV[18]
local moves_in = ARGV[19] == '1'
local UNITS = 19
local old = (#ARGV - UNITS) / 4

if (redis.call('HGET', key, 'rev') or '') ~= expected or is_gone(owner) then
  return answer('OK', 'retry')
end
for shard = 0, old - 1 do
  local cursor = redis.call('HGET', units .. string.format('%d', shard), 'cursor') or ''
  if cursor ~= ARGV[UNITS + shard * 4 + 1] then
    return answer('OK', 'retry')
  end
end

-- Instants that wait are given up when the task runs no longer by itself, or their unit is no more. Of very many a
-- page at a time, before anything else changes.
local PAGE = 200
local rows = {}

local function give_up_queues(of, from, upto)
  for shard = from, upto do
    local unit, room = of .. string.format('%d', shard), PAGE - #rows
    for _, occ in ipairs(room > 0 and redis.call('ZRANGE', P .. 'q:' .. unit, 0, room - 1) or {}) do
      local r = record(occ)
      if r.state == 'queued' then
        rows[#rows + 1] = give_up(occ, r, 'skipped', competes and 'revised' or 'disabled', owner, node, life, r.tok)
      else
        unqueue(unit, occ)
      end
    end
  end
end

give_up_queues(definition, competes and shards or 0, old - 1)
give_up_queues(ARGV[5], 0, (tonumber(redis.call('HGET', P .. 'd:' .. ARGV[5], 'shards') or '') or 0) - 1)
if #rows == PAGE then
  return answer('OK', 'more', rows)
end
local rev = string.format('%d', (tonumber(expected) or 0) + 1)
redis.call('HSET', key, 'rev', rev, 'when', ARGV[10], 'def', ARGV[11], 'shards', ARGV[12], 'competes', ARGV[13],
  'schedule', ARGV[14], 'valid', valid)
-- Coming back to the other scope later must count as a change there.
redis.call('HDEL', P .. 'd:' .. ARGV[5], 'when')
for shard = 0, old - 1 do
  local unit = string.format('%d', shard)
  local cursor, first, last, count = unpack(ARGV, UNITS + shard * 4 + 1, UNITS + shard * 4 + 4)
  if cursor ~= '' and cursor < valid then
    redis.call('HSET', units .. unit, 'cursor', valid)
    if count ~= '0' then
      remember_range(owner, scope, task, unit, first, last, count, 'skipped', ARGV[15])
      keep_untold(owner, node, life, scope, task, unit, first, last, count, 'skipped', ARGV[15])
    end
  end
end
-- A shard that is new under this definition has no instant of the old one: it begins here. So do all of a task that was
-- claimed elsewhere until then.
if expected ~= '' or moves_in then
  for shard = moves_in and 0 or old, shards - 1 do
    local unit = string.format('%d', shard)
    if redis.call('HEXISTS', P .. 'units', definition .. unit) == 0 then
      redis.call('HSET', units .. unit, 'cursor', valid)
      redis.call('HSET', P .. 'units', definition .. unit, NOW)
    else
      local cursor = redis.call('HGET', units .. unit, 'cursor')
      if cursor and cursor < valid then
        redis.call('HSET', units .. unit, 'cursor', valid)
      end
    end
  end
end
return answer('OK', rev, rows)
