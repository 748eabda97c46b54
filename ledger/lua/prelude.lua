-- Put in front of every script. KEYS[1] is the identity of the store, ARGV[1] the prefix of all keys.
-- Instants travel as 15 digits of ms, so that they compare as strings, fences and counts as plain decimals:
-- Lua's own conversion of numbers keeps 14 digits only. The clock is read once: two readings may differ.
local P = ARGV[1]
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

-- How long a final record answers a repeated request; afterwards the cursor alone says "decided".
local RETENTION_MS = 900000
-- How much history a task keeps is said by its finishes: until the first, the largest.
local HISTORY_MAX = '100000 0'
local RECENT_MAX = 10000

local function instant(n)
  return string.format('%015.0f', n)
end

local NOW = instant(now)

-- Plain decimals without leading zeros.
local function less(a, b)
  if #a ~= #b then
    return #a < #b
  end
  return a < b
end

-- The named fields of a hash, '' for what is not there.
local function fields(key, ...)
  local names, found = { ... }, {}
  local values = redis.call('HMGET', key, ...)
  for i, name in ipairs(names) do
    found[name] = values[i] or ''
  end
  return found
end

local function record(occ)
  return fields(P .. 'o:' .. occ, 'state', 'why', 'tok', 'fence', 'planned', 'scope', 'task', 'shard', 'unit',
    'node', 'owner', 'trig', 'lease', 'tree', 'life', 'seq', 'since', 'boot', 'ending', 'said', 'over')
end

local function answer(verdict, ...)
  return { verdict, time[1], time[2], ... }
end

-- Is this still the store, and the life of the server, that the caller said hello to? run_id is compared in
-- every script: a proxy may have moved the connection to another server. `epoch` is the epoch, a blank and the
-- incarnation: an emptied store that somebody else made anew has the old one's epoch.
local barrier, hold, born
local function gate(epoch, run_id)
  local s = fields(KEYS[1], 'inc', 'epoch', 'run_id', 'barrier', 'hold', 'born')
  if s.inc == '' or redis.call('EXISTS', P .. 'fence') == 0 then
    return 'STORE_LOST'
  end
  if s.run_id ~= run_id or string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') ~= run_id then
    return 'REBASE'
  end
  if s.epoch .. ' ' .. s.inc ~= epoch then
    return 'EPOCH'
  end
  barrier, hold, born = s.barrier, s.hold, s.born
  return 'OK'
end

-- `hk` has how many and for how many ms, 0 for ever.
local function remember(task, ...)
  local key = P .. 'h:' .. task
  local count, age = string.match(redis.call('HGET', P .. 'hk', task) or HISTORY_MAX, '^(%d+) (%d+)$')
  local id = redis.call('XADD', key, 'MAXLEN', '~', count, '*', ...)
  if age ~= '0' then
    redis.call('XTRIM', key, 'MINID', '~', string.format('%.0f', math.max(now - tonumber(age), 0)))
  end
  redis.call('XADD', P .. 'recent', 'MAXLEN', '~', RECENT_MAX, '*', 'task', task, 'id', id)
end

local function remember_range(owner, scope, task, shard, first, last, count, state, why)
  remember(task, 'owner', owner, 'scope', scope, 'shard', shard, 'planned', first, 'last', last,
    'count', count, 'state', state, 'cause', why, 'ended', NOW .. '000000')
end

-- What an owner decided without a start, in case it dies before its log says so: the newest seconds, for as long
-- as logs are kept by default.
local UNTOLD_MS, UNTOLD_MAX, UNTOLD_KEEP_MS = 5000, 10000, 604800000

local function entry_time(entry)
  return string.sub(entry, 1, 15)
end

local function keep_untold(owner, node, life, ...)
  local key = P .. 'g:' .. owner
  redis.call('RPUSH', key, NOW .. cjson.encode({ ... }))
  redis.call('LTRIM', key, -UNTOLD_MAX, -1)
  -- Two old ones go for each that comes, so that no call pays for a long list at once.
  for _ = 1, 2 do
    if entry_time(redis.call('LINDEX', key, 0)) < instant(now - UNTOLD_MS) then
      redis.call('LPOP', key)
    end
  end
  redis.call('PEXPIRE', key, UNTOLD_KEEP_MS)
  redis.call('HSET', P .. 'gn:' .. node, owner, life)
end

-- An end without a start, or of another's run: its finish line is all that tells of it. The occurrence stays among
-- those of its owner, or of who ended it, for the newest seconds.
local function keep_ended(occ, r)
  local key = P .. 'f:' .. r.owner
  redis.call('RPUSH', key, NOW .. occ)
  for _ = 1, 2 do
    local oldest = redis.call('LINDEX', key, 0)
    if entry_time(oldest) < instant(now - UNTOLD_MS) then
      redis.call('LPOP', key)
      redis.call('SREM', P .. 'nr:' .. r.node, string.sub(oldest, 16))
      redis.call('SREM', P .. 'w:' .. r.owner, string.sub(oldest, 16))
    end
  end
  redis.call('PEXPIRE', key, UNTOLD_KEEP_MS)
end

-- A request may lie in a socket and come after the death of its owner was settled: it must do nothing, since
-- nobody would end or tell what it does.
local function is_gone(owner)
  return redis.call('EXISTS', P .. 'x:' .. owner) == 1
end

local function free_slot(occ, r)
  redis.call('SREM', P .. 'ur:' .. r.unit, occ)
  redis.call('ZREM', P .. 'run', occ)
end

local function forget_owner(occ, r)
  redis.call('SREM', P .. 'nr:' .. r.node, occ)
  redis.call('SREM', P .. 'w:' .. r.owner, occ)
end

-- A final record that its owner did not write; slot, lease and indexes are the caller's business.
local function close_record(occ, r, state, why)
  local key = P .. 'o:' .. occ
  redis.call('HSET', key, 'state', state, 'why', why)
  redis.call('PEXPIRE', key, RETENTION_MS)
  remember(r.task, 'occ', occ, 'trig', r.trig, 'fence', r.fence, 'owner', r.owner, 'scope', r.scope,
    'shard', r.shard, 'planned', r.planned, 'state', state, 'cause', why, 'started', r.since .. '000000',
    'ended', NOW .. '000000')
end

-- Instants that wait: `q:` of their unit by planned; `qs` knows which units have any.
local function unqueue(unit, occ)
  redis.call('ZREM', P .. 'q:' .. unit, occ)
  if redis.call('EXISTS', P .. 'q:' .. unit) == 0 then
    redis.call('HDEL', P .. 'qs', unit)
  end
end

-- One that waits is not run: it tells of itself like a decision of `owner`, as a row of untold.lua.
local function give_up(occ, r, state, why, owner, node, life, tok)
  local key = P .. 'o:' .. occ
  redis.call('HSET', key, 'state', state, 'why', why, 'owner', owner, 'tok', tok)
  redis.call('PEXPIRE', key, RETENTION_MS)
  remember(r.task, 'occ', occ, 'trig', r.trig, 'fence', '', 'owner', owner, 'scope', r.scope,
    'shard', r.shard, 'planned', r.planned, 'state', state, 'cause', why, 'ended', NOW .. '000000')
  keep_untold(owner, node, life, r.scope, r.task, r.shard, r.planned, r.planned, '1', state, why)
  unqueue(r.unit, occ)
  return { r.scope, r.task, r.shard, r.planned, r.planned, '1', state, why, owner }
end

local function ended(occ, r, state, why, ending)
  return { occ, r.trig, r.scope, r.task, r.shard, r.planned, r.fence, state, why, ending and '1' or '0' }
end
