-- Reads the definition in force and the cursors of its units, for define.lua. Fences go on above that of the ledger
-- which had the task before.
-- ARGV: prefix, epoch, run_id, definition, newest fence of the other ledger or ''
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
local d = fields(P .. 'd:' .. ARGV[4], 'rev', 'when', 'def', 'shards', 'competes', 'schedule', 'valid')
local cursors = {}
for shard = 0, (tonumber(d.shards) or 0) - 1 do
  cursors[#cursors + 1] = redis.call('HGET', P .. 'u:' .. ARGV[4] .. string.format('%d', shard), 'cursor') or ''
end
local fence = redis.call('GET', P .. 'fence')
if less(fence, ARGV[5]) then
  redis.call('SET', P .. 'fence', ARGV[5])
end
-- No definition is in force before the store was.
return answer('OK', NOW < born and born or NOW, d.rev, d.when, d.def, d.shards, d.competes, d.schedule, d.valid,
  cursors, fence)
