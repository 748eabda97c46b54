-- The final record; slot and lease are freed in the same step. The first write is a DEL, which a server out of
-- memory allows, and lets the rest pass: results can be recorded when nothing can be claimed any more.
-- ARGV: prefix, epoch, run_id, unit, scope, task, shard, occ, tok, fence, trig, owner, node, planned, state, why,
-- result, started, ended, text, cut, error, code, keep, age ms; then, to take what waits in the same step, TAKE_NAMES
-- needs prelude_slots.lua
local TAKE_AT = 26
local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
local unit, task, occ, tok, fence, planned, state = ARGV[4], ARGV[6], ARGV[8], ARGV[9], ARGV[10], ARGV[14], ARGV[15]
local key, ukey = P .. 'o:' .. occ, P .. 'u:' .. unit

-- Nobody has a fence for what is queued unless the store lost that it was taken.
local function is_lost(r)
  return r.state == '' or r.state == 'queued' or (r.state == 'unknown' and r.why == 'barrier')
end

local function restore(r)
  local cursor = redis.call('HGET', ukey, 'cursor')
  if cursor and cursor < planned then
    redis.call('HSET', ukey, 'cursor', planned)
  end
  if less(redis.call('GET', P .. 'fence'), fence) then
    redis.call('SET', P .. 'fence', fence)
  end
  if r.state == 'queued' then
    unqueue(unit, occ)
  end
end

local function write_final()
  redis.call('HSET', key, 'state', state, 'why', ARGV[16], 'tok', tok, 'fence', fence, 'planned', planned,
    'owner', ARGV[12], 'trig', ARGV[11])
  redis.call('PEXPIRE', key, RETENTION_MS)
  local keep = ARGV[24] .. ' ' .. ARGV[25]
  if redis.call('HGET', P .. 'hk', task) ~= keep then
    redis.call('HSET', P .. 'hk', task, keep)
  end
  remember(task, 'occ', occ, 'trig', ARGV[11], 'fence', fence, 'owner', ARGV[12], 'scope', ARGV[5],
    'shard', ARGV[7], 'planned', planned, 'state', state, 'cause', ARGV[16], 'result', ARGV[17], 'started', ARGV[18],
    'ended', ARGV[19], 'text', ARGV[20], 'cut', ARGV[21], 'error', ARGV[22], 'code', ARGV[23])
end

-- The word for it, and whether the lease had gone.
local function finish()
  local r = record(occ)
  local lost = is_lost(r)
  if not lost and (r.tok ~= tok or (r.state ~= 'running' and r.state ~= state)) then
    return 'fenced', '0'
  end
  local held = redis.call('EXISTS', P .. 'l:' .. occ) == 1
  redis.call('DEL', P .. 'l:' .. occ)
  if lost then
    restore(r)
  elseif r.state == state then
    return 'ok', '0'
  else
    free_slot(occ, r)
    if ARGV[18] == '0' then
      keep_ended(occ, r)
    else
      forget_owner(occ, r)
    end
  end
  write_final()
  return lost and 'recovered' or 'ok', (lost or held) and '0' or '1'
end

local word, gap = finish()
if #ARGV < TAKE_AT then
  return answer('OK', word, gap)
end
-- Whoever ended this run has freed its slot or will: what waits is not the business of one that was late.
return answer('OK', word, gap, word == 'fenced' and outcome('busy') or take(take_args(TAKE_AT)))
