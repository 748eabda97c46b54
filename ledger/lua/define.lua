-- Puts a definition in force, if what it was computed from still stands; else the caller reads again. The
-- instants the old schedule had until `valid` are given up in the same step, as one range a unit.
-- ARGV: prefix, epoch, run_id, definition, the same task's definition in the other scope, scope, task, rev
-- expected, valid, when, def, shards, competes, kind, every, anchor, cause, owner, node, life, then for each unit
-- of the old definition: cursor expected, first, last, count
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
local definition, scope, task, expected, valid = ARGV[4], ARGV[6], ARGV[7], ARGV[8], ARGV[9]
local key, units = P .. 'd:' .. definition, P .. 'u:' .. definition
local owner, node, life = ARGV[18], ARGV[19], ARGV[20]
local UNITS = 20
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
local rev = string.format('%d', (tonumber(expected) or 0) + 1)
redis.call('HSET', key, 'rev', rev, 'when', ARGV[10], 'def', ARGV[11], 'shards', ARGV[12], 'competes', ARGV[13],
  'kind', ARGV[14], 'every', ARGV[15], 'anchor', ARGV[16], 'valid', valid)
-- Coming back to the other scope later must count as a change there.
redis.call('HDEL', P .. 'd:' .. ARGV[5], 'when')
for shard = 0, old - 1 do
  local unit = string.format('%d', shard)
  local cursor, first, last, count = unpack(ARGV, UNITS + shard * 4 + 1, UNITS + shard * 4 + 4)
  if cursor ~= '' and cursor < valid then
    redis.call('HSET', units .. unit, 'cursor', valid)
    if count ~= '0' then
      remember_range(owner, scope, task, unit, first, last, count, 'skipped', ARGV[17])
      keep_untold(owner, node, life, scope, task, unit, first, last, count, 'skipped', ARGV[17])
    end
  end
end
-- A shard that is new under this definition has no instant of the old one: it begins here.
if expected ~= '' then
  for shard = old, tonumber(ARGV[12]) - 1 do
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
return answer('OK', rev)
