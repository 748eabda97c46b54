-- For claims, takes and finishes alike: what a unit's slot and its queue do. `it` is what is asked for, by the names of
-- its arguments.

-- A claimer's clock may be ahead of ours by this much, no more: an instant is not started before it is due.
local EARLY_MS = 50

local function outcome(word, cursor, more)
  local o = more or {}
  return { word, cursor or '', o.fence or '', o.state or '', o.why or '', o.gap or '0', o.replay or '0', o.rev or '0',
    o.term or '0', o.shards or '0', o.seq or '0', o.holder or '', o.holder_occ or '', o.ended or {} }
end

local function lease_set(occ, tok, lease)
  redis.call('SET', P .. 'l:' .. occ, tok, 'PX', lease)
  redis.call('ZADD', P .. 'run', instant(now + tonumber(lease)), occ)
end

-- In place of an owner that was watched die. That it ended is from now on among what `by` may die without saying.
local function end_dead(occ, by)
  local r, key = record(occ), P .. 'o:' .. occ
  redis.call('DEL', P .. 'l:' .. occ)
  free_slot(occ, r)
  if r.unit == '' then
    return {}
  end
  if r.state ~= 'running' then
    redis.call('HSET', key, 'ending', '0')
    redis.call('PEXPIRE', key, UNTOLD_KEEP_MS)
    return {}
  end
  forget_owner(occ, r)
  close_record(occ, r, 'interrupted', 'lease_lost')
  redis.call('HSET', key, 'owner', by.owner, 'node', by.node, 'life', by.life)
  redis.call('PEXPIRE', key, UNTOLD_KEEP_MS)
  redis.call('SADD', P .. 'nr:' .. by.node, occ)
  redis.call('SADD', P .. 'w:' .. by.owner, occ)
  return ended(occ, r, 'interrupted', 'lease_lost', false)
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
local function again(it, occ, r, cursor)
  local o = { replay = '1', state = r.state, why = r.why, holder = r.owner }
  o.gap = redis.call('HGET', P .. 'o:' .. occ, 'gap') or '0'
  if r.tok ~= it.tok then
    return done(it, cursor, r.state, r.owner)
  end
  if r.state == 'running' and redis.call('SISMEMBER', P .. 'ur:' .. it.unit, occ) == 1 then
    lease_set(occ, it.tok, it.lease)
    o.fence = r.fence
    if r.over ~= '' then
      local v = record(r.over)
      if v.task ~= '' then
        o.ended = ended(r.over, v, v.state, v.why, false)
      end
    end
    return outcome('granted', cursor, o)
  end
  if r.state == 'queued' then
    return outcome('queued', cursor, o)
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

-- What only the main node may do, and this one is not it.
local function is_for_main(it)
  return it.main ~= '' and redis.call('GET', P .. 'ml') ~= it.main .. ' ' .. it.node
end

-- Above every one before, and not behind the clock: a task that comes from, or goes to, the local ledger of a node
-- finds numbers made by the same rule there. The first write is one that a server out of memory refuses.
local function next_fence()
  redis.call('INCR', P .. 'fence')
  local fence = redis.call('GET', P .. 'fence')
  local at = string.format('%.0f', tonumber(time[1]) * 1000000 + tonumber(time[2]))
  if less(fence, at) then
    redis.call('SET', P .. 'fence', at)
    return at
  end
  return fence
end

-- A run begins.
local function start(it, occ, planned, dead)
  local o = { fence = next_fence() }
  if dead then
    o.ended = end_dead(dead, it)
    if #o.ended > 0 then
      keep_ended(dead, it)
    end
  end
  lease_set(occ, it.tok, it.lease)
  redis.call('HSET', P .. 'o:' .. occ, 'state', 'running', 'tok', it.tok, 'fence', o.fence, 'planned', planned,
    'scope', it.scope, 'task', it.task, 'shard', it.shard, 'unit', it.unit, 'node', it.node, 'owner', it.owner,
    'trig', it.trig, 'lease', it.lease, 'tree', it.tree, 'life', it.life, 'boot', it.boot, 'seq', '0', 'since', NOW,
    'over', dead or '')
  redis.call('SADD', P .. 'ur:' .. it.unit, occ)
  redis.call('SADD', P .. 'nr:' .. it.node, occ)
  redis.call('SADD', P .. 'w:' .. it.owner, occ)
  return o
end

-- The oldest that waits. What a lost record left of itself goes.
local function oldest(unit)
  while true do
    local occ = redis.call('ZRANGE', P .. 'q:' .. unit, 0, 0)[1]
    local r = occ and record(occ)
    if not occ or r.state == 'queued' then
      return occ, r
    end
    unqueue(unit, occ)
  end
end

local function take_anew(it, cursor)
  if not cursor then
    return outcome(redis.call('HEXISTS', P .. 'units', it.unit) == 1 and 'unit_lost' or 'unregistered')
  end
  local old = stale(it)
  if old then
    return outcome('stale', cursor, old)
  end
  if is_for_main(it) then
    return outcome('not_owner', cursor)
  end
  local occ, r = oldest(it.unit)
  if not occ then
    return outcome('done', cursor)
  end
  if tonumber(r.planned) > now + EARLY_MS then
    return outcome('early', cursor)
  end
  if r.planned <= barrier then
    redis.call('SET', P .. 't:' .. it.tok, occ, 'PX', RETENTION_MS)
    give_up(occ, r, 'unknown', 'barrier', it.owner, it.node, it.life, it.tok)
    return outcome('decided', cursor, { state = 'unknown', why = 'barrier' }), r.planned, occ
  end
  local s, dead = slots(it)
  if s.taken > 0 then
    return outcome('busy', cursor, s)
  end
  local o = start(it, occ, r.planned, dead)
  redis.call('SET', P .. 't:' .. it.tok, occ, 'PX', RETENTION_MS)
  unqueue(it.unit, occ)
  return outcome('granted', cursor, o), r.planned, occ
end

-- A take that got nothing is answered so for as long as a copy of its request may still come: its caller has gone on,
-- and would not start what the copy is granted.
local function spend(it, word)
  local ms = it.not_after == '' and RETENTION_MS or math.max(tonumber(it.not_after) - now, 0) + 1
  redis.call('SET', P .. 't:' .. it.tok, '-' .. word, 'PX', string.format('%.0f', ms))
end

-- Starts the oldest that waits. A token is given to one take alone: a request that is sent again, or comes again,
-- starts nothing more.
local function take(it)
  local cursor = redis.call('HGET', P .. 'u:' .. it.unit, 'cursor')
  local before = redis.call('GET', P .. 't:' .. it.tok)
  local answers, planned, occ
  if NOW < hold then
    answers = outcome('halted', cursor)
  elseif is_gone(it.owner) then
    answers = outcome('early', cursor)
  elseif before and string.sub(before, 1, 1) == '-' then
    answers = outcome(string.sub(before, 2), cursor)
  elseif before then
    local r = record(before)
    answers, planned, occ = again(it, before, r, cursor), r.planned, before
  elseif it.not_after ~= '' and NOW > it.not_after then
    answers = outcome('early', cursor)
  else
    answers, planned, occ = take_anew(it, cursor)
    if not occ then
      spend(it, answers[1])
    end
  end
  answers[#answers + 1] = planned or ''
  answers[#answers + 1] = occ or ''
  return answers
end

-- The arguments of a take, from `base` on.
local TAKE_NAMES = { 'unit', 'definition', 'scope', 'task', 'shard', 'tok', 'trig', 'owner', 'node', 'lease', 'rev',
  'shards', 'term', 'tree', 'life', 'boot', 'not_after', 'stale', 'main' }

local function take_args(base)
  local it = {}
  for i, name in ipairs(TAKE_NAMES) do
    it[name] = ARGV[base + i - 1]
  end
  return it
end
