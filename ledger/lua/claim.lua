-- Decides due instants, one round trip for all of a process. Every answer carries where the cursor is.
-- All reads of an item come before its first write, and the first write (INCR, or HSET for a refusal) is one
-- that a server out of memory refuses: a claim is granted whole or leaves nothing behind.
-- ARGV: prefix, epoch, run_id, then for each item the fields of `names`
-- needs prelude_slots.lua
local names = { 'unit', 'definition', 'scope', 'task', 'shard', 'planned', 'occ', 'tok', 'trig', 'owner', 'node',
  'expect', 'first', 'last', 'count', 'gap_state', 'gap_why', 'grace', 'catch_up', 'overlap', 'max_running',
  'queue_limit', 'lease', 'rev', 'shards', 'term', 'tree', 'life', 'boot', 'not_after', 'stale', 'main' }

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
  remember(it.task, 'occ', it.occ, 'trig', it.trig, 'fence', '', 'owner', it.owner, 'scope', it.scope,
    'shard', it.shard, 'planned', it.planned, 'state', state, 'cause', why, 'ended', NOW .. '000000')
  keep_untold(it.owner, it.node, it.life, it.scope, it.task, it.shard, it.planned, it.planned, '1', state, why)
  return outcome('decided', it.planned, o)
end

local function grant(it, dead)
  local o = start(it, it.occ, it.planned, dead)
  o.gap = write_gap(it)
  redis.call('HSET', P .. 'u:' .. it.unit, 'cursor', it.planned)
  redis.call('HSET', P .. 'o:' .. it.occ, 'gap', o.gap)
  return outcome('granted', it.planned, o)
end

local function wait(it, s)
  redis.call('HSET', P .. 'u:' .. it.unit, 'cursor', it.planned)
  s.gap = write_gap(it)
  redis.call('HSET', P .. 'o:' .. it.occ, 'state', 'queued', 'tok', it.tok, 'planned', it.planned, 'scope', it.scope,
    'task', it.task, 'shard', it.shard, 'unit', it.unit, 'node', it.node, 'owner', it.owner, 'trig', it.trig,
    'since', NOW, 'gap', s.gap)
  redis.call('ZADD', P .. 'q:' .. it.unit, it.planned, it.occ)
  redis.call('HSET', P .. 'qs', it.unit, cjson.encode({ it.scope, it.task, it.shard }))
  return outcome('queued', it.planned, s)
end

-- Who comes while others wait goes behind them, also when the slot is free.
local function queue(it, s, dead)
  local waiting = redis.call('ZCARD', P .. 'q:' .. it.unit)
  if s.taken == 0 and waiting == 0 then
    return grant(it, dead)
  end
  if waiting < tonumber(it.queue_limit) then
    return wait(it, s)
  end
  return decided(it, 'skipped', 'queue_full', s)
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
    return again(it, it.occ, r, cursor)
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
  if is_for_main(it) then
    return outcome('not_owner', cursor)
  end
  if (planned or tonumber(it.last)) > now + EARLY_MS then   -- nobody gives up the future either
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
  if it.overlap == 'queue' then
    return queue(it, s, dead)
  end
  if s.taken >= (it.overlap == 'concurrent' and tonumber(it.max_running) or 1) then
    if s.ending then
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
