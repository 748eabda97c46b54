-- Makes a token void, since asking what became of it is not enough: the request may run after the question.
-- ARGV: prefix, epoch, run_id, unit, scope, task, shard, occ, tok, planned, expect, not_after, grace, owner,
-- node, life
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
local unit, occ, tok, planned, not_after = ARGV[4], ARGV[8], ARGV[9], ARGV[10], ARGV[12]
local key, ukey = P .. 'o:' .. occ, P .. 'u:' .. unit
local cursor = redis.call('HGET', ukey, 'cursor') or ''
local r = record(occ)

if is_gone(ARGV[14]) then
  return answer('OK', 'wait', cursor)
end

if r.state == 'running' and r.tok == tok then
  redis.call('DEL', P .. 'l:' .. occ)
  free_slot(occ, r)
  forget_owner(occ, r)
  close_record(occ, r, 'missed', 'abandoned')
  keep_untold(r.owner, r.node, r.life, r.scope, r.task, r.shard, r.planned, r.planned, '1', 'missed', 'abandoned')
  return answer('OK', 'abandoned', cursor)
end
if r.state ~= '' then
  local abandoned = r.tok == tok and r.state == 'missed' and r.why == 'abandoned'
  return answer('OK', abandoned and 'abandoned' or 'decided', cursor)
end
if cursor ~= '' and planned <= cursor then
  return answer('OK', 'decided', cursor)
end
-- A cursor elsewhere: somebody else decides what lies in between, this instant included.
if now > tonumber(planned) + tonumber(ARGV[13]) and cursor == ARGV[11] then
  redis.call('HSET', ukey, 'cursor', planned)
  redis.call('HSET', key, 'state', 'missed', 'why', 'abandoned', 'tok', tok, 'planned', planned)
  redis.call('PEXPIRE', key, RETENTION_MS)
  remember(ARGV[6], 'occ', occ, 'trig', '', 'fence', '', 'owner', ARGV[14], 'scope', ARGV[5],
    'shard', ARGV[7], 'planned', planned, 'state', 'missed', 'cause', 'abandoned', 'ended', NOW .. '000000')
  keep_untold(ARGV[14], ARGV[15], ARGV[16], ARGV[5], ARGV[6], ARGV[7], planned, planned, '1', 'missed', 'abandoned')
  return answer('OK', 'abandoned', planned)
end
if not_after ~= '' and NOW <= not_after then
  return answer('OK', 'wait', cursor)
end
return answer('OK', 'free', cursor)
