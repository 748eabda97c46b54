-- Gives a unit its first cursor. A unit that is known but has no cursor was lost by the store: whether its
-- instants ran cannot be known, so it is not made again. None begins before the store did.
-- ARGV: prefix, epoch, run_id, unit, cursor
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
local unit = ARGV[4]
local cursor = redis.call('HGET', P .. 'u:' .. unit, 'cursor')
if cursor then
  return answer('OK', cursor, '0')
end
if redis.call('HEXISTS', P .. 'units', unit) == 1 then
  return answer('UNIT_LOST')
end
cursor = ARGV[5] < born and born or ARGV[5]
redis.call('HSET', P .. 'u:' .. unit, 'cursor', cursor)
redis.call('HSET', P .. 'units', unit, NOW)
return answer('OK', cursor, '1')
