-- Prolongs a lease. A record the store has lost is put back by its owner, unless another holds the slot.
-- ARGV: prefix, epoch, run_id, unit, scope, task, shard, occ, tok, fence, planned, lease, owner, node, life, boot
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
local unit, occ, tok, fence, planned, lease = ARGV[4], ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12]
local key, ukey, slots = P .. 'o:' .. occ, P .. 'u:' .. unit, P .. 'ur:' .. unit
local r = record(occ)

local function prolong()
  local held = redis.call('EXISTS', P .. 'l:' .. occ) == 1
  redis.call('SET', P .. 'l:' .. occ, tok, 'PX', lease)
  redis.call('HINCRBY', key, 'seq', 1)
  redis.call('ZADD', P .. 'run', instant(now + tonumber(lease)), occ)
  return held
end

if r.state == 'running' and r.tok == tok and redis.call('SISMEMBER', slots, occ) == 1 then
  return answer('OK', prolong() and 'ok' or 'late')
end
local lost = r.state == '' or r.state == 'queued' or (r.state == 'unknown' and r.why == 'barrier')
local cursor = redis.call('HGET', ukey, 'cursor')
if not lost or not cursor or redis.call('SCARD', slots) > 0 then
  return answer('OK', 'lost')
end
if cursor < planned then
  redis.call('HSET', ukey, 'cursor', planned)
end
if less(redis.call('GET', P .. 'fence'), fence) then
  redis.call('SET', P .. 'fence', fence)
end
redis.call('PERSIST', key)
if r.state == 'queued' then
  unqueue(unit, occ)
end
redis.call('HSET', key, 'state', 'running', 'why', '', 'tok', tok, 'fence', fence, 'planned', planned, 'scope', ARGV[5],
  'task', ARGV[6], 'shard', ARGV[7], 'unit', unit, 'node', ARGV[14], 'owner', ARGV[13], 'trig', r.trig,
  'lease', lease, 'tree', '0', 'life', ARGV[15], 'boot', ARGV[16], 'seq', '0', 'since', NOW, 'over', '')
redis.call('SADD', slots, occ)
redis.call('SADD', P .. 'nr:' .. ARGV[14], occ)
redis.call('SADD', P .. 'w:' .. ARGV[13], occ)
prolong()
return answer('OK', 'reasserted')
