-- The final record; slot and lease are freed in the same step. The first write is a DEL, which a server out of
-- memory allows, and lets the rest pass: results can be recorded when nothing can be claimed any more.
-- ARGV: prefix, epoch, run_id, unit, scope, task, shard, occ, tok, fence, trig, owner, node, planned, state, why,
-- result, started, ended, text, cut, error, code, keep, age ms
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
local unit, task, occ, tok, fence, planned, state = ARGV[4], ARGV[6], ARGV[8], ARGV[9], ARGV[10], ARGV[14], ARGV[15]
local key, ukey = P .. 'o:' .. occ, P .. 'u:' .. unit
local r = record(occ)
local lost = r.state == '' or (r.state == 'unknown' and r.why == 'barrier')

if not lost then
  if r.tok ~= tok then
    return answer('OK', 'fenced', '0')
  end
  if r.state ~= 'running' then
    return answer('OK', r.state == state and 'ok' or 'fenced', '0')
  end
end
local held = redis.call('EXISTS', P .. 'l:' .. occ) == 1
redis.call('DEL', P .. 'l:' .. occ)
if lost then
  local cursor = redis.call('HGET', ukey, 'cursor')
  if cursor and cursor < planned then
    redis.call('HSET', ukey, 'cursor', planned)
  end
  if less(redis.call('GET', P .. 'fence'), fence) then
    redis.call('SET', P .. 'fence', fence)
  end
else
  free_slot(occ, r)
  if ARGV[18] == '0' then
    keep_unstarted(occ, r)
  else
    forget_owner(occ, r)
  end
end
redis.call('HSET', key, 'state', state, 'why', ARGV[16], 'tok', tok, 'fence', fence, 'planned', planned,
  'owner', ARGV[12], 'trig', ARGV[11])
redis.call('PEXPIRE', key, RETENTION_MS)
remember(task, ARGV[24], 'occ', occ, 'trig', ARGV[11], 'fence', fence, 'owner', ARGV[12], 'scope', ARGV[5],
  'shard', ARGV[7], 'planned', planned, 'state', state, 'cause', ARGV[16], 'result', ARGV[17], 'started', ARGV[18],
  'ended', ARGV[19], 'text', ARGV[20], 'cut', ARGV[21], 'error', ARGV[22], 'code', ARGV[23])
if ARGV[25] ~= '0' then
  redis.call('XTRIM', P .. 'h:' .. task, 'MINID', '~', string.format('%.0f', math.max(now - tonumber(ARGV[25]), 0)))
end
return answer('OK', lost and 'recovered' or 'ok', (lost or held) and '0' or '1')
