-- Decides due instants, one round trip for all of a process. Every answer carries where the cursor is.
-- All reads of an item come before its first write, and the first write (INCR, or HSET for a refusal) is one
-- that a server out of memory refuses: a claim is granted whole or leaves nothing behind.
-- ARGV: prefix, epoch, run_id, then for each item the fields of `names`
local names = { 'unit', 'definition', 'scope', 'task', 'shard', 'planned', 'occ', 'tok', 'trig', 'owner', 'node',
  'expect', 'first', 'last', 'count', 'gap_state', 'gap_why', 'grace', 'catch_up', 'overlap', 'max_running', 'lease',
  'rev', 'shards', 'term', 'tree', 'life', 'boot', 'not_after', 'stale' }

-- A claimer's clock may be ahead of ours by this much, no more: an instant is not started before it is due.
local EARLY_MS = 50

local function outcome(word, cursor, more)
  local o = more or {}
  return { word, cursor or '', o.fence or '', o.state or '', o.why or '', o.gap or '0', o.replay or '0', o.rev or '0',
    o.term or '0', o.shards or '0', o.seq or '0', o.holder or '', o.holder_occ or '', o.ended or {} }
end

local function gap_fields(it)
  return it.scope, it.task, it.shard, it.first, it.last, it.count, it.gap_state, it.gap_why
end

local function write_gap(it)
  if it.count == '0' then
    return '0'
  end
  remember_range(it.owner, it.scope, it.task, it.shard, it.first, it.last, it.count, it.gap_state, it.gap_why)
  keep_untold(it.owner, it.node, it.life, gap_fields(it))
  return '1'
end

local function decided(it, state, why, more)
  redis.call('HSET', P .. 'u:' .. it.unit, 'cursor', it.planned)
  local o = more or {}
  o.gap, o.state, o.why = write_gap(it), state, why
  local key = P .. 'o:' .. it.occ
  redis.call('HSET', key, 'state', state, 'why', why, 'tok', it.tok, 'planned', it.planned, 'owner', it.owner,
    'trig', it.trig, 'gap', o.gap)
  redis.call('PEXPIRE', key, RETENTION_MS)
  remember(it.task, HISTORY_MAX, 'occ', it.occ, 'trig', it.trig, 'fence', '', 'owner', it.owner, 'scope', it.scope,
    'shard', it.shard, 'planned', it.planned, 'state', state, 'cause', why, 'ended', NOW .. '000000')
  keep_untold(it.owner, it.node, it.life, it.scope, it.task, it.shard, it.planned, it.planned, '1', state, why)
  return outcome('decided', it.planned, o)
end

local function end_dead(occ)
  local r = record(occ)
  redis.call('DEL', P .. 'l:' .. occ)
  free_slot(occ, r)
  if r.unit == '' or r.state ~= 'running' then
    return {}
  end
  forget_owner(occ, r)
  close_record(occ, r, 'interrupted', 'lease_lost')
  return ended(occ, r, 'interrupted', 'lease_lost', false)
end

local function lease_set(occ, tok, lease)
  redis.call('SET', P .. 'l:' .. occ, tok, 'PX', lease)
  redis.call('ZADD', P .. 'run', instant(now + tonumber(lease)), occ)
end

local function grant(it, dead)
  redis.call('INCR', P .. 'fence')
  local o = { fence = redis.call('GET', P .. 'fence') }
  if dead then
    o.ended = end_dead(dead)
  end
  o.gap = write_gap(it)
  lease_set(it.occ, it.tok, it.lease)
  redis.call('HSET', P .. 'u:' .. it.unit, 'cursor', it.planned)
  redis.call('HSET', P .. 'o:' .. it.occ, 'state', 'running', 'tok', it.tok, 'fence', o.fence, 'planned', it.planned,
    'scope', it.scope, 'task', it.task, 'shard', it.shard, 'unit', it.unit, 'node', it.node, 'owner', it.owner,
    'trig', it.trig, 'lease', it.lease, 'tree', it.tree, 'life', it.life, 'boot', it.boot, 'seq', '0', 'since', NOW,
    'gap', o.gap, 'over', dead or '')
  redis.call('SADD', P .. 'ur:' .. it.unit, it.occ)
  redis.call('SADD', P .. 'nr:' .. it.node, it.occ)
  redis.call('SADD', P .. 'w:' .. it.owner, it.occ)
  return outcome('granted', it.planned, o)
end

-- Who is in the way: how many, one of them, and the one whose owner the claimer watched die.
local function slots(it)
  local s, dead = { taken = 0 }, nil
  for _, occ in ipairs(redis.call('SMEMBERS', P .. 'ur:' .. it.unit)) do
    local r = record(occ)
    local held = redis.call('EXISTS', P .. 'l:' .. occ) == 1
    if r.unit == '' or (not held and occ == it.stale) then
      dead = occ
    else
      s.taken = s.taken + 1
      s.ending = s.ending or r.ending == '1'
      s.holder, s.holder_occ, s.seq = r.owner, occ, r.seq
    end
  end
  return s, dead
end

-- Decided before. The loser is told who holds the unit now: whoever is to see that a holder is dead must be able to
-- watch it, and of many claimers of an instant all but one get this answer.
local function done(it, cursor, state, owner)
  local held = redis.call('SMEMBERS', P .. 'ur:' .. it.unit)
  local occ = held[#held]
  local seq = occ and redis.call('HGET', P .. 'o:' .. occ, 'seq') or '0'
  return outcome('done', cursor, { state = state, holder = owner, holder_occ = occ, seq = seq })
end

-- The reply of an earlier, identical request may have been lost: say again what was decided then.
local function again(it, r, cursor)
  local o = { replay = '1', state = r.state, why = r.why, holder = r.owner }
  o.gap = redis.call('HGET', P .. 'o:' .. it.occ, 'gap') or '0'
  if r.tok ~= it.tok then
    return done(it, cursor, r.state, r.owner)
  end
  if r.state == 'running' and redis.call('SISMEMBER', P .. 'ur:' .. it.unit, it.occ) == 1 then
    lease_set(it.occ, it.tok, it.lease)
    o.fence = r.fence
    if r.over ~= '' then
      local v = record(r.over)
      if v.task ~= '' then
        o.ended = ended(r.over, v, v.state, v.why, false)
      end
    end
    return outcome('granted', cursor, o)
  end
  if r.state == 'skipped' or r.state == 'missed' or (r.state == 'unknown' and r.why == 'barrier') then
    return outcome('decided', cursor, o)
  end
  return outcome('done', cursor, o)
end

local function stale(it)
  local d = fields(P .. 'd:' .. it.definition, 'rev', 'shards')
  local term = redis.call('HGET', P .. 'nt:' .. it.node, 'term') or '0'
  local rev, shards = d.rev == '' and '0' or d.rev, d.shards == '' and '0' or d.shards
  if rev ~= it.rev or shards ~= it.shards or (it.term ~= '0' and less(it.term, term)) then
    return { rev = rev, shards = shards, term = term }
  end
end

-- A gap alone has no occurrence to be known by, when the reply of an earlier, identical request was lost: its range
-- is, among the owner's newest, since nobody gives up the same instants twice.
local function gap_was_mine(it)
  local wanted = cjson.encode({ gap_fields(it) })
  for _, entry in ipairs(redis.call('LRANGE', P .. 'g:' .. it.owner, -200, -1)) do
    if string.sub(entry, 16) == wanted then
      return true
    end
  end
  return false
end

local function gap_alone(it)
  redis.call('HSET', P .. 'u:' .. it.unit, 'cursor', it.last)
  write_gap(it)
  return outcome('decided', it.last, { gap = '1', state = it.gap_state, why = it.gap_why })
end

local function claim(it)
  local r = record(it.occ)
  local cursor = redis.call('HGET', P .. 'u:' .. it.unit, 'cursor')
  if (it.not_after ~= '' and NOW > it.not_after) or is_gone(it.owner) then
    return outcome('expired', cursor)
  end
  if it.planned ~= '' and r.state ~= '' then
    return again(it, r, cursor)
  end
  if not cursor then
    return outcome(redis.call('HEXISTS', P .. 'units', it.unit) == 1 and 'unit_lost' or 'unregistered')
  end
  local planned = tonumber(it.planned)
  if planned and it.planned <= cursor then
    return done(it, cursor)
  end
  local old = stale(it)
  if old then
    return outcome('stale', cursor, old)
  end
  if planned and planned > now + EARLY_MS then
    return outcome('early', cursor)
  end
  if cursor ~= it.expect then
    if not planned and gap_was_mine(it) then
      return outcome('decided', cursor, { gap = '1', replay = '1', state = it.gap_state, why = it.gap_why })
    end
    return outcome('moved', cursor)
  end
  if not planned then
    return gap_alone(it)
  end
  if it.planned <= barrier then
    return decided(it, 'unknown', 'barrier')
  end
  if it.catch_up == '0' and now > planned + tonumber(it.grace) then
    return decided(it, 'missed', 'late')
  end
  local s, dead = slots(it)
  if s.taken >= (it.overlap == 'concurrent' and tonumber(it.max_running) or 1) then
    if s.ending or it.overlap == 'queue' then
      return outcome('busy', cursor, s)
    end
    return decided(it, 'skipped', 'overlap', s)
  end
  return grant(it, dead)
end

local verdict = gate(ARGV[2], ARGV[3])
if verdict ~= 'OK' then
  return answer(verdict)
end
if NOW < hold then
  return answer('HOLD')
end
local answers = answer('OK')
for base = 3, #ARGV - #names, #names do
  local it = {}
  for i, name in ipairs(names) do
    it[name] = ARGV[base + i]
  end
  answers[#answers + 1] = claim(it)
end
return answers
